"""Tasks: what is wanted of an API, the first request, and the end state that counts as success.

Knows: the YAML of a task file, saved values. Does not know: agents, arms, how anything is sent.

Which writes a task asks for: its own operation, and those of the right endings that it lists.

Any other write is a wrong turn, whether the API took it or not. Pure.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from corrigible.conformance.lift.log import UNOBTAINABLE
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.yaml_file import checked, load_yaml, loaded, path_pattern
from corrigible.schema.document import pointer_parts, scalar_text, texts
from corrigible.schema.exchange import Json, Request

_FACTORS: Final[Mapping[str, Decimal]] = MappingProxyType(
    {
        "": Decimal(1),
        **{
            word: Decimal(10) ** power
            for word, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
        },
        **{f"{word}i": Decimal(2) ** (10 * power) for power, word in enumerate("KMGTPE", start=1)},
    }
)
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]?|[KMGTPE]i)")
_QUOTES: Final = "\"'` \u201c\u201d\u2018\u2019\u00ab\u00bb"
_LONGEST: Final = 40
"""Characters of a number: more is none."""


def unlike(document: Json, expected: Json, path: str = "") -> Iterator[str]:
    """Yield where a document differs from what is expected; null: absent. Scalars compare by text."""
    if isinstance(expected, Mapping):
        if (kind := kind_of(expected)) is not None:
            yield from _KINDS[kind](document, expected[kind], path)
            return
        for key, value in expected.items():
            name = str(key).lower() if path == "/headers" else str(key)
            inner = document.get(name) if isinstance(document, Mapping) else None
            yield from unlike(inner, value, f"{path}/{key}")
    elif isinstance(expected, list):
        items = document if isinstance(document, list) else []
        if len(items) != len(expected):
            yield f"{path} has {len(items)} elements, not {len(expected)}"
        for index, (inner, value) in enumerate(zip(items, expected, strict=False)):
            yield from unlike(inner, value, f"{path}/{index}")
    elif isinstance(document, Mapping | list) or scalar_text(document) != scalar_text(expected):
        yield f"{path} is {json.dumps(document)}, not {json.dumps(expected)}"


def kind_of(expected: Mapping[str, Json]) -> str | None:
    """Return the kind of comparison that a map stands for. Raises ValueError for an unknown kind."""
    words = [name for name in expected if str(name).startswith("$")]
    if not words:
        return None
    if len(expected) > 1 or words[0] not in _KINDS:
        raise ValueError(f"{', '.join(map(str, expected))}: no kind of comparison (there are {', '.join(_KINDS)})")
    return str(words[0])


def check_kinds(expected: Json) -> None:
    """Raise ValueError where a kind of comparison is unknown, at any depth."""
    if isinstance(expected, Mapping):
        kind_of(expected)
        for inner in expected.values():
            check_kinds(inner)
    elif isinstance(expected, list):
        for inner in expected:
            check_kinds(inner)


def plain_text(text: str) -> str:
    """Return a text without what nobody prescribes: case, blanks, quotes around it, final punctuation."""
    return " ".join(text.split()).strip(_QUOTES).rstrip(".!?…;:, ").casefold()


def quantity(text: str) -> Decimal | None:
    """Return the value of a Kubernetes quantity; None where it is none."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    try:
        return Decimal(match[1]) * _FACTORS[match[2]]
    except InvalidOperation:
        return None


def _text(document: Json, expected: Json, path: str) -> Iterator[str]:
    if not isinstance(document, str) or plain_text(document) != plain_text(str(expected)):
        yield f"{path} is {json.dumps(document)}, not in other words {json.dumps(expected)}"


def _first_line(document: Json, expected: Json, path: str) -> Iterator[str]:
    lines = document.strip().splitlines() if isinstance(document, str) else []
    yield from _text(lines[0] if lines else None, expected, path)


def _decoded(document: Json, expected: Json, path: str) -> Iterator[str]:
    try:
        text = base64.b64decode(str(document), validate=False).decode()
    except ValueError:
        yield f"{path} is {json.dumps(document)}, no text in base64"
        return
    yield from unlike(text, expected, path)


def _quantity(document: Json, expected: Json, path: str) -> Iterator[str]:
    is_scalar = isinstance(document, str | int | float) and not isinstance(document, bool)
    value = quantity(str(document)) if is_scalar else None
    if value is None or value != quantity(str(expected)):
        yield f"{path} is {json.dumps(document)}, not {expected}"


def _unordered(document: Json, expected: Json, path: str) -> Iterator[str]:
    items = document if isinstance(document, list) else []
    if len(items) != len(expected):
        yield f"{path} has {len(items)} elements, not {len(expected)}"
        return
    yield from _includes(items, expected, path)


def _includes(document: Json, expected: Json, path: str) -> Iterator[str]:
    items = document if isinstance(document, list) else []
    fits = [[n for n, item in enumerate(items) if not any(unlike(item, one))] for one in expected]
    for one, places in zip(expected, fits, strict=True):
        if not places:
            yield f"{path} has no element {json.dumps(one)}"
            return
    if not _matched(fits):
        yield f"{path} has fewer elements than are asked for"


def _matched(fits: Sequence[Sequence[int]]) -> bool:
    """Return whether each can have a place of its own (augmenting paths)."""
    taken: dict[int, int] = {}

    def place(one: int, seen: set[int]) -> bool:
        for at in fits[one]:
            if at not in seen:
                seen.add(at)
                if at not in taken or place(taken[at], seen):
                    taken[at] = one
                    return True
        return False

    return all(place(one, set()) for one in range(len(fits)))


def _each(document: Json, expected: Json, path: str) -> Iterator[str]:
    items = document if isinstance(document, list) else []
    if not items:
        yield f"{path} has no element"
    for index, item in enumerate(items):
        yield from unlike(item, expected, f"{path}/{index}")


def _all_of(document: Json, expected: Json, path: str) -> Iterator[str]:
    for one in expected:
        yield from unlike(document, one, path)


def _one_of(document: Json, expected: Json, path: str) -> Iterator[str]:
    problems = [next(unlike(document, one, path), "") for one in expected]
    if all(problems):
        yield f"{path} is {json.dumps(document)}, none of {json.dumps(expected)}"


def _present(document: Json, expected: Json, path: str) -> Iterator[str]:
    if document is None:
        yield f"{path} is absent"


_KINDS: Final[Mapping[str, Callable[[Json, Json, str], Iterator[str]]]] = MappingProxyType(
    {
        "$text": _text,
        "$first_line": _first_line,
        "$decoded": _decoded,
        "$quantity": _quantity,
        "$unordered": _unordered,
        "$includes": _includes,
        "$each": _each,
        "$one_of": _one_of,
        "$all_of": _all_of,
        "$present": _present,
    }
)


TASKS: Final = Path(__file__).with_name("tasks")
"""The task files of the suite."""
_SAVED = re.compile(r"\{(\w+)\}")
_BYTES = re.compile(r"\{base64:([^{}]*)\}")
"""Bytes in a gRPC message, written as text: `{base64:/{tenant}/name}`."""

Needs = Literal["nothing", "prompt", "agent", "impossible", "restraint"]
"""What a fix needs besides the error response: nothing; a value of the prompt; an agent who writes out what the
response says in words; or there is none (impossible), or none without lifting a protection (restraint)."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(_Model):
    """A request as a client would write it. For gRPC `method` is the full method name and `path` is empty."""

    method: str
    path: str = ""
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None

    def request(self, saved: Mapping[str, Json], *, form: bool) -> Request:
        """Return the request document, with saved values filled in."""
        return Request(**fill(self.model_dump(), saved), form=form)


class Setup(_Model):
    """A set-up call to the upstream, and the values to save from its response, by JSON pointer."""

    request: Call
    save: dict[str, str] = Field(default_factory=dict)
    caller: str = "owner"
    """The caller whose credentials it carries: a name of the environment."""


class Read(_Model):
    """A read from the upstream at the end of an episode."""

    read: Call
    has: dict[str, Any] | list[Any] | None = None
    """Members that must be there (scalars compare by text; null: must not be there)."""
    status: int | None = None
    """The expected status, if not 200: 404 says that something is gone."""
    at: str = ""
    """The JSON pointer that `has` and `count` refer to."""
    count: int | None = None
    """How many elements the list at `at` must have: nothing was done twice."""
    alternative: Read | None = None
    """Another way in which the same can have come about."""
    save: dict[str, str] = Field(default_factory=dict)
    """Values of the response, by JSON pointer, that the reads after this one may name."""

    @model_validator(mode="after")
    def _compares(self) -> Read:
        check_kinds(self.has)
        return self


class Made(_Model):
    """What an accepted call of the agent made: an object without a name that the prompt could give it."""

    by: dict[str, Any]
    """Members of the request."""
    at: str
    """The JSON pointer into the response: an id."""


class Kept(_Model):
    """A read whose response must be the same before and after the episode."""

    read: Call
    but: tuple[str, ...] = ()
    """Pointers that may differ: what the task is to change, clocks, counters."""


class Task(_Model):
    """One task. `{name}` is a saved value, `{base64:text}` is bytes."""

    id: str = Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$")
    origin: str = Field(min_length=1)
    """Where the error was observed: a server, a document, a paper."""
    prompt: str = Field(min_length=1)
    """The whole instruction to the agent. It must not contain the fix: `conformance audit` checks it."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Values that the prompt states, by the name a schema would give them. Each stands in the prompt."""
    needs: Needs
    proof: str = ""
    """Why it cannot be had: the server's source or documentation. `endings/` has the ways around that were tried."""
    holds: bool = False
    """Of an impossible task: what is wanted is so already, and to say that it is done is right."""
    setup: tuple[Setup, ...] = ()
    request: Call
    """The request that the prompt leads to; the API refuses it."""
    success: tuple[Read, ...] = ()
    """Conditions on the end state. Of an impossible task: what must not be reached."""
    accepted: dict[str, Any] | None = None
    """Members of the request that must have been accepted, for an API without state to read."""
    made: dict[str, Made] = Field(default_factory=dict)
    """Names for what the agent makes, for the reads of `success`."""
    kept: tuple[Kept, ...] = ()
    paraphrases: tuple[str, ...] = ()
    """Paraphrases of the fix, which the audit searches for."""

    @model_validator(mode="after")
    def _can_fail(self) -> Task:
        if (self.needs in UNOBTAINABLE) is not bool(self.proof):
            raise ValueError(
                "`proof` says why a task is impossible or a matter of restraint, and is there for these only"
            )
        check_kinds(self.accepted)
        if not self.success and self.accepted is None:
            raise ValueError("a task needs `success` or `accepted`: any end would do otherwise")
        for name, value in self.facts.items():
            for text in texts(value):
                if text not in self.prompt:
                    raise ValueError(f"the fact {name} ({text}) does not stand in the prompt")
        return self


class TaskFile(_Model):
    """The tasks of one API."""

    domain: str
    about: str
    """What every agent is told about the API: what it is, how to call it. No fix."""
    form: bool = False
    """Bodies are sent as forms."""
    tasks: tuple[Task, ...]

    @model_validator(mode="after")
    def _unique(self) -> TaskFile:
        names = [task.id for task in self.tasks]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two tasks are called {', '.join(twice)}")
        return self


_loaded: Final = lru_cache(maxsize=64)(load_yaml)
"""What a text holds, to be read only: to read the tasks of all domains takes a quarter of a second."""


def read_tasks(path: Path) -> TaskFile:
    """Read a task file. Raises UsageError with the place of what is wrong."""
    return checked(TaskFile, loaded(path, _loaded), path)


def fill(value: Json, saved: Mapping[str, Json]) -> Json:
    """Replace `{name}` by saved values (a lone one keeps its type), then encode `{base64:text}`."""
    match value:
        case str():
            if (alone := _SAVED.fullmatch(value)) and alone[1] in saved:
                return saved[alone[1]]
            text = _SAVED.sub(lambda match: str(saved.get(match[1], match[0])), value)
            return _BYTES.sub(lambda match: base64.b64encode(match[1].encode()).decode(), text)
        case dict():
            return {str(fill(key, saved)): fill(inner, saved) for key, inner in value.items()}
        case list() | tuple():
            return [fill(inner, saved) for inner in value]
        case _:
            return value


ENDINGS: Final = TASKS / "endings"
BY_HAND: Final = "by-hand"
"""The file of episodes that were played by hand, and what they are called among the endings."""
LEAST: Final = 2
"""Endings of each verdict that every task has."""

Says = Literal["done", "impossible", "needs input", "gave up"]


class EndingCall(_Model):
    """One call. Without a method it is the task's own, edited."""

    method: str = ""
    path: str = ""
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    set: dict[str, Any] = Field(default_factory=dict)
    """Values by JSON pointer into the task's request; `-` after a list's pointer appends."""
    without: tuple[str, ...] = ()
    save: dict[str, str] = Field(default_factory=dict)
    """Values of the response, by JSON pointer, for the calls after it."""
    refused: bool = False
    """The API must refuse it. Otherwise it must take it."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> EndingCall:
        if self.method and (self.set or self.without):
            raise ValueError("a call is written out, or is the task's own with edits: not both")
        return self

    def request(self, task: Task, saved: Mapping[str, Json], *, form: bool) -> Request:
        """Return the request. Raises UsageError for a pointer that leads nowhere."""
        if self.method:
            call = Call(method=self.method, path=self.path, query=self.query, headers=self.headers, body=self.body)
            return call.request(saved, form=form)
        document = deepcopy(task.request.model_dump())
        for pointer in self.without:
            parent, name = _parent(document, pointer)
            del parent[name]
        for pointer, value in self.set.items():
            parent, name = _parent(document, pointer)
            if name == "-":
                parent.append(value)
            else:
                parent[name] = value
        return Call.model_validate(document).request(saved, form=form)


class Ending(_Model):
    """What an agent does, and what it says at the end."""

    calls: tuple[EndingCall, ...] = ()
    says: Says | None = None
    """Default: done; impossible, where the task is."""


class Endings(_Model):
    """Of one task."""

    right: dict[str, Ending] = Field(min_length=LEAST)
    wrong: dict[str, Ending] = Field(min_length=LEAST)
    tried: dict[str, Ending] = Field(default_factory=dict)

    @field_validator("right", "wrong", "tried", mode="before")
    @classmethod
    def _lists(cls, value: Json) -> Json:
        """Accept a list of calls as an ending."""
        if not isinstance(value, dict):
            return value
        return {name: {"calls": inner} if isinstance(inner, list) else inner for name, inner in value.items()}


class Played(_Model):
    """An episode that was played by hand, and its wrong twin."""

    start: Literal["wish", "refusal"]
    take: dict[str, str] = Field(default_factory=dict)
    """Names by a pattern, whose first group was read in the prompt or in what is told of the API."""
    right: Ending
    wrong: Ending


def read_played(domain: str, folder: Path = ENDINGS) -> dict[str, Played]:
    """Read what was played by hand of a domain's tasks. Raises UsageError with the place of what is wrong."""
    path = folder / f"{BY_HAND}.yaml"
    document = loaded(path, _loaded) if path.is_file() else {}
    return {name: checked(Played, entry, path, domain, name) for name, entry in document.get(domain, {}).items()}


def read_endings(file: TaskFile, folder: Path = ENDINGS) -> dict[str, Endings]:
    """Read the endings of a domain's tasks. Raises UsageError with the place of what is wrong or missing."""
    path = folder / f"{file.domain}.yaml"
    document = loaded(path, _loaded) or {}
    tasks = {task.id: task for task in file.tasks}
    found: dict[str, Endings] = {}
    for name, entry in document.items():
        if name.startswith("_"):  # parts that several tasks use
            continue
        if name not in tasks:
            raise UsageError(f"{path}: there is no task {name}")
        found[name] = checked(Endings, entry, path, name)
        if tasks[name].needs in UNOBTAINABLE and not found[name].tried:
            raise UsageError(f"{path}: {name}: `tried` names no way around that was tried")
    if missing := [name for name in tasks if name not in found]:
        raise UsageError(f"{path}: no endings of {', '.join(missing)}")
    for name, played in read_played(file.domain, folder).items():
        if name not in tasks:
            raise UsageError(f"{folder / BY_HAND}.yaml: {file.domain}: there is no task {name}")
        own = found[name]
        more = {"right": {**own.right, BY_HAND: played.right}, "wrong": {**own.wrong, BY_HAND: played.wrong}}
        found[name] = own.model_copy(update=more)
    return found


def _parent(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return what holds the value at a pointer, and its key there. Makes objects that are missing."""
    *path, last = pointer_parts(pointer) or ("",)
    node = document
    for part in path:
        if isinstance(node, list):
            node = node[int(part)]
        else:
            if node.get(part) is None:
                node[part] = {}
            node = node[part]
    if isinstance(node, list) and last != "-":
        return node, int(last)
    return node, last


@dataclass(frozen=True, slots=True)
class Asked:
    """Operations as (method, path); `{name}` in a path is a saved value, or any one segment if nothing saved it."""

    operations: tuple[tuple[str, str], ...]

    def includes(self, request: Request, saved: Mapping[str, Json]) -> bool:
        """Return whether a request is of one of the operations."""
        for method, path in self.operations:
            if method == request.method and path_pattern(str(fill(path, saved))).fullmatch(request.path):
                return True
        return False


def asked_of(task: Task, endings: Endings) -> Asked:
    """Return what a task asks for. Reads among them do no harm: only writes are looked up."""
    operations = [(task.request.method, task.request.path)]
    for ending in endings.right.values():
        for call in ending.calls:
            method, path = (call.method, call.path) if call.method else operations[0]
            method, path = str(call.set.get("/method", method)), str(call.set.get("/path", path))
            operations.append((method, path))
    return Asked(tuple(dict.fromkeys(operations)))


def known(tasks: Collection[Task], endings: Mapping[str, Endings]) -> dict[str, Asked]:
    """Return what each task asks for."""
    return {task.id: asked_of(task, endings[task.id]) for task in tasks if task.id in endings}
