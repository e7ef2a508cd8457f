"""What a caller allows to be sent when a request is refused.

Knows: the three ways, their bounds, what is asked. Does not know: how it is asked or sent.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypedDict, TypeVar, Unpack
from urllib.parse import unquote

from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Placeholder, Suggestion
from corrigible.schema.reader import Choice
from corrigible.schema.word import Applicability

from .guard import decodings

IN_BRACES: Final = re.compile(r"\{([^{}/]+)\}")


def path_values(template: str, path: str) -> dict[str, str] | None:
    """Return what stands in the braces of a template; None if the path does not fit.

    The work is linear in the path, however many braces one segment has: of several ways to fit, the one is taken in
    which the first value is the longest.
    """
    segments, parts = _segments(template), path.split("/")
    if len(segments) != len(parts):
        return None
    values = dict[str, str]()
    for (literals, names), part in zip(segments, parts, strict=True):
        found = _in_segment(literals, part)
        if found is None:
            return None
        values.update(zip(names, map(unquote, found), strict=True))
    return values


class PathTemplates:
    """Templates by their segments: which of them a path fits is found without a look at all others."""

    def __init__(self, templates: Iterable[str]) -> None:
        self._top = _Node()
        for template in dict.fromkeys(templates):
            node = self._top
            for segment in template.split("/"):
                held = node.open if IN_BRACES.search(segment) else node.literal
                node = held.setdefault(segment, _Node())
            node.templates.append(template)

    def fitting(self, path: str) -> list[str]:
        """Return the templates that a path fits."""
        nodes = [self._top]
        for part in path.split("/"):
            literal = [node.literal[part] for node in nodes if part in node.literal]
            open_ones = (one for node in nodes for one in node.open.items())
            nodes = literal + [node for segment, node in open_ones if path_values(segment, part) is not None]
            if not nodes:
                return []
        return [template for node in nodes for template in node.templates]


@dataclass(slots=True)
class _Node:
    """What follows a beginning of templates."""

    literal: dict[str, _Node] = field(default_factory=dict)
    open: dict[str, _Node] = field(default_factory=dict)
    """Under segments with braces."""
    templates: list[str] = field(default_factory=list)
    """That end here."""


@lru_cache(4096)
def _segments(template: str) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the literal texts and the names of each segment, in turn."""
    split = (IN_BRACES.split(segment) for segment in template.split("/"))
    return [(parts[::2], parts[1::2]) for parts in split]


def _in_segment(literals: Sequence[str], part: str) -> list[str] | None:
    """Return the values between literal texts, each of at least one character. From the end, each text is the last."""
    first, *rest = literals
    if not rest:
        return [] if part == first else None
    if len(part) < len(first) + len(rest[-1]) or not part.startswith(first) or not part.endswith(rest[-1]):
        return None
    values, end = list[str](), len(part) - len(rest[-1])
    for literal in reversed(rest[:-1]):
        start = part.rfind(literal, len(first) + 1, end - 1)
        if start < 0:
            return None
        values.append(part[start + len(literal) : end])
        end = start
    values.append(part[len(first) : end])
    return values[::-1] if all(values) else None


_OPERATION: Final = re.compile(r"[A-Z]+ /\S*")
_Word = TypeVar("_Word", bound=StrEnum)


class OnRefusal(StrEnum):
    """What follows a refusal that has feedback."""

    EXPLAIN = "explain"
    """Nothing is sent; the error's text shows the correction."""
    REPAIR = "repair"
    """What is MACHINE_APPLICABLE (or at least `cap`) and needs no confirmation is sent; the rest is explained. Another
    call always needs a confirmation: another method, another path of a write, a write that comes first, another
    operation in the content, a header that says more than form and version, the end of a dry run."""
    CONFIRM = "confirm"
    """As REPAIR; `confirm` decides about the rest."""


@dataclass(frozen=True, slots=True)
class Question:
    """What only the caller or its user knows: a value, or which of several corrections is meant."""

    message: str
    placeholder: Placeholder | None = None
    """Where the value goes, and its schema. The answer is the value."""
    choices: tuple[Choice, ...] = ()
    """The answer is the `index` of one of them."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A correction that may only be sent if somebody agrees. `print` shows what they agree to."""

    suggestion: Suggestion
    request: Request
    """The request document that would be sent, with all corrections in it."""
    steps: tuple[Request, ...] = ()
    """What would be sent before it."""
    text: str = ""
    """The correction, and the call that would be sent: method, path, and what changes. No credentials."""

    def __str__(self) -> str:
        return self.text


Operations = Collection[str] | Callable[[Request], bool]
Confirm = Callable[[Proposal], bool | Awaitable[bool]]
Ask = Callable[[Question], Json | Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be sent without, and what only after asking. The default explains and sends nothing."""

    on_refusal: OnRefusal | str = OnRefusal.EXPLAIN
    confirm: Confirm | None = None
    """Whether the user agrees to a `Proposal`. Called for each correction that may not be sent by itself."""
    ask: Ask | None = None
    """The answer to a `Question`, or None for no answer. Without it, questions are part of the explanation."""
    cap: Applicability | str = Applicability.MACHINE_APPLICABLE
    """The least sure applicability that is sent unasked, as in `apply`. MAYBE_INCORRECT is a deliberate choice."""
    max_corrections: int = 2
    """How often a call is sent again, at most."""
    max_wait: float = 30
    """Seconds; a longer wait is explained."""
    operations: Operations | None = None
    """What may be sent instead of the operation that was called, or before it: `"GET /v1/charges/{charge}"`, with the
    whole path; or a function of the request document. By default, any. It allows nothing unasked that is a write."""
    credentials: Collection[str] = ()
    """Names of headers, of parameters of the query and of members of bodies that no correction changes, and whose
    values no text, prompt or log shows. The usual ones (`Authorization`, `X-Api-Key`, `password`, ...) need no mention.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_refusal", _word(OnRefusal, "on_refusal", self.on_refusal))
        object.__setattr__(self, "cap", _word(Applicability, "cap", self.cap))
        if self.cap is Applicability.HAS_PLACEHOLDERS:
            raise ValueError("cap='HAS_PLACEHOLDERS': values that are missing are asked for")
        object.__setattr__(
            self, "credentials", frozenset(name.lower() for name in _names("credentials", self.credentials))
        )
        for operation in () if callable(self.operations) else _names("operations", self.operations or ()):
            if _OPERATION.fullmatch(operation) is None:
                raise ValueError(
                    f"operations: {operation!r} is no method and path, such as 'GET /v1/charges/{{charge}}'"
                )
        if self.on_refusal is OnRefusal.CONFIRM and self.confirm is None:
            raise ValueError("on_refusal='confirm' needs a `confirm` function")

    def allows(self, request: Request) -> bool:
        """Whether a request is one of the operations that may be sent, with the escapes of its path undone."""
        if self.operations is None:
            return True
        read = decodings(request.path)
        if callable(self.operations):
            return bool(read) and all(self.operations(replace(request, path=path)) for path in read)
        listed = [operation.partition(" ") for operation in self.operations]
        templates = [template for method, _, template in listed if method == request.method]
        return bool(read) and all(any(path_values(one, path) is not None for one in templates) for path in read)


def _names(member: str, given: Collection[str]) -> Collection[str]:
    if isinstance(given, str):
        raise TypeError(f"{member}={given!r}: give a list")
    return given


def _word(words: type[_Word], member: str, value: str) -> _Word:
    """Return the word that a value is, or is the text of. Raises ValueError with the words."""
    try:
        return words(value)
    except ValueError:
        allowed = ", ".join(repr(str(word)) for word in words)
        raise ValueError(f"{member}={value!r}: give one of {allowed}") from None


class PolicyMembers(TypedDict, total=False):
    """The members of a Policy, as adapters take them."""

    on_refusal: OnRefusal | str
    confirm: Confirm | None
    ask: Ask | None
    cap: Applicability | str
    max_corrections: int
    max_wait: float
    operations: Operations | None
    credentials: Collection[str]


def policy_of(policy: Policy | None, **members: Unpack[PolicyMembers]) -> Policy:
    """Return the policy that an adapter was given: whole, or by its members (`on_refusal="repair"`)."""
    if policy is None:
        return Policy(**members)
    if members:
        raise TypeError(f"give a Policy, or {', '.join(members)}, but not both")
    return policy
