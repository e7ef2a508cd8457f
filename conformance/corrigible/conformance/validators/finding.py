"""What the validators examine, and what they find: a request, its error, the feedback in it, and what does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from typing import Any, Final

from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.openapi import Description
from corrigible.schema.document import MISSING, pointer_parts, to_pointer, value_at
from corrigible.schema.exchange import Json, Request


class Absent(Enum):
    """Marks a missing value, since None is a value."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as a requirement says."""

    requirement: str
    message: str
    """A sentence that a stranger understands."""
    expected: Json | Absent = ABSENT
    got: Json | Absent = ABSENT
    sent: HttpRequest | None = None
    """The request that showed it: printed as a curl line."""
    line: str | None = None
    """The command line that shows it again, where it is no curl."""
    place: str = ""
    """A pointer into the answer, or a byte of it. What is left open is where expected and actual differ first."""

    @property
    def whole_place(self) -> str:
        """Return the place, or that of the first difference."""
        return self.place or _first_difference(self.expected, self.got)


def _first_difference(expected: Json | Absent, actual: Json | Absent) -> str:
    """Return the pointer below which two values differ first; of two texts, the byte."""
    match expected, actual:
        case Mapping(), Mapping():
            for name in [*expected, *(name for name in actual if name not in expected)]:
                left, right = expected.get(name, ABSENT), actual.get(name, ABSENT)
                if left != right:
                    inside = _first_difference(left, right)
                    step = to_pointer((name,))
                    return f"{step}, {inside}" if inside.startswith("byte ") else step + inside
        case list(), list():
            for index, (left, right) in enumerate(zip_longest(expected, actual, fillvalue=ABSENT)):
                if left != right:
                    inside = _first_difference(left, right)
                    return f"/{index}, {inside}" if inside.startswith("byte ") else f"/{index}{inside}"
        case str(), str():
            left_bytes, right_bytes = (text.encode("utf-8", "surrogatepass") for text in (expected, actual))
            pairs = enumerate(zip_longest(left_bytes, right_bytes))
            return f"byte {next((at for at, (left, right) in pairs if left != right), 0)}"
        case _:
            pass
    return ""


BASE: Final = (
    "MODIFY_PARAMS",
    "WAIT_AND_RETRY",
    "USE_ALTERNATIVE_ENDPOINT",
    "RESOLVE_PRECONDITION",
    "ALREADY_DONE",
    "ESCALATE",
    "NO_RECOVERY_AVAILABLE",
)
TERMINAL: Final = frozenset({"ALREADY_DONE", "ESCALATE", "NO_RECOVERY_AVAILABLE"})


FEEDBACK: Final = "/recovery_feedback"
"""Where a finding about feedback is, as a pointer into the answer."""


@dataclass(frozen=True, slots=True)
class Registered:
    """An action that an implementation adds to the vocabulary."""

    base_action: str
    parameters: Mapping[str, Json]
    """A JSON Schema; empty where anything goes."""


@dataclass(frozen=True, slots=True)
class AnnotatedError:
    """One refusal, and what was said about it."""

    request: Request
    feedback: Json
    status: int = 400
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the answer, names in lower case."""
    vocabulary: Mapping[str, Registered] = field(default_factory=dict)
    description: Description | None = None
    secrets: tuple[str, ...] = ()
    """Texts of the request that nobody may repeat."""
    sent: HttpRequest | None = None

    def judged(self, rules: Iterable[tuple[str, Rule]]) -> Iterator[Finding]:
        """Yield what is wrong by rules, each with the requirement that it holds."""
        for requirement, rule in rules:
            for sentence, expected, got, *steps in rule(self):
                of_suggestion = ["suggestions"] if steps and isinstance(steps[0], int) else []
                place = "/".join(str(step).removeprefix("/") for step in (FEEDBACK, *of_suggestion, *steps))
                yield Finding(requirement, sentence, expected, got, self.sent, place=f"/{place}")

    @property
    def suggestions(self) -> list[tuple[int, Mapping[str, Json]]]:
        """The suggestions that are objects, each with its index."""
        listed_value = self.feedback.get("suggestions") if isinstance(self.feedback, Mapping) else None
        listed = listed_value if isinstance(listed_value, list) else []
        return [(index, item) for index, item in enumerate(listed) if isinstance(item, Mapping)]

    @property
    def retry(self) -> Mapping[str, Json]:
        retry = self.feedback.get("retry") if isinstance(self.feedback, Mapping) else None
        return retry if isinstance(retry, Mapping) else {}

    @property
    def terminal(self) -> bool:
        """There is no next request: `recovery` says so, or a suggestion does."""
        recovery = self.feedback.get("recovery") if isinstance(self.feedback, Mapping) else None
        return recovery == "terminal" or any(base_action(suggestion) in TERMINAL for _, suggestion in self.suggestions)


Wrong = tuple[str, Json, Json, *tuple[str | int, ...]]
"""A sentence, what was expected and got, and where: a member of feedback, or the index of a suggestion, and on."""
Rule = Callable[[AnnotatedError], Iterator[Wrong]]


def base_action(suggestion: Mapping[str, Json]) -> str:
    """Return the base action that a suggestion is or rests on."""
    action = str(suggestion.get("action", "")).upper()
    return action if action in BASE else str(suggestion.get("base_action", "")).upper()


def patch_of(suggestion: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return the operations of a suggestion that are objects."""
    return listed(suggestion, "patch")


def listed(suggestion: Mapping[str, Json], name: str) -> list[Mapping[str, Json]]:
    """Return the objects in a list of a suggestion, none where it is no list."""
    value = suggestion.get(name)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def texts(value: Json, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text inside a JSON value with its pointer, names of members too."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield f"{place}/{name}", str(name)
            yield from texts(inner, f"{place}/{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from texts(inner, f"{place}/{index}")


def parts(pointer: Any) -> tuple[str, ...] | None:
    """Split a pointer of RFC 6901; None for what is none."""
    return pointer_parts(pointer) if isinstance(pointer, str) else None


def at(document: Json, pointer: Any) -> Json:
    """Return what stands at a place of a document, MISSING where nothing does."""
    split = parts(pointer)
    return value_at(document, split) if split is not None else MISSING
