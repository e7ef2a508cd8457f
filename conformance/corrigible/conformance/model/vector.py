"""The vectors: requests, responses and allowed outcomes, as data that any language can read.

Knows: the files under vectors/ and how two JSON values compare. Does not know: subjects, processes, reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from corrigible.schema import NeedsInput, Next, ReaderError, Request, Terminal, apply, parse
from corrigible.schema.exchange import Json

from .paths import VECTORS


@dataclass(frozen=True, slots=True)
class Consumer:
    """What a reader makes of one feedback, or of one answer, and the request that was refused."""

    id: str
    requirements: tuple[str, ...]
    clause: str
    description: str
    given: Mapping[str, Json]
    """The question: request, feedback or answer, options."""
    expect: Mapping[str, Json]
    also_allowed: tuple[Mapping[str, Json], ...]
    origin: str
    """The file."""

    @property
    def question(self) -> dict[str, Json]:
        """Return what a reader under test is asked."""
        return {"id": self.id, **self.given}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A native refusal, and the feedback that it may get."""

    id: str
    profile: str
    requirements: tuple[str, ...]
    clause: str | None
    description: str
    before: tuple[Request, ...]
    request: Request
    answer: Mapping[str, Json]
    """HTTP: status, headers, body or text. gRPC: code, message, details, trailers."""
    allowed: tuple[Mapping[str, Json], ...]
    native: bool
    origin: str


@dataclass(frozen=True, slots=True)
class Group:
    """The vectors of one file."""

    name: str
    about: str
    vectors: tuple[Consumer, ...]


@cache
def consumer() -> tuple[Group, ...]:
    """Return the vectors for readers, by group."""
    return tuple(_group(path) for path in sorted((VECTORS / "consumer").glob("*.json")))


@cache
def exchange(profile: str | None = None) -> tuple[Exchange, ...]:
    """Return the vectors of one profile, by default of all."""
    files = sorted((VECTORS / "exchange").glob("*.json"))
    found = (one for path in files for one in _exchanges(path))
    return tuple(one for one in found if profile is None or one.profile == profile)


def request_of(document: Mapping[str, Json]) -> Request:
    """Return the request that a request document is about."""
    return Request(
        document["method"],
        document["path"],
        document.get("query", {}),
        document.get("headers", {}),
        document.get("body"),
        document.get("form", False),
    )


def leads_to(
    allowed: Sequence[Mapping[str, Json]], feedback: Mapping[str, Json] | None, request: Request
) -> str | None:
    """Say why feedback leads a reader to nothing that is allowed; None where it leads there."""
    problems = [_leads_elsewhere(one, feedback, request) for one in allowed]
    return None if None in problems else "; or ".join(dict.fromkeys(filter(None, problems)))


def difference(expected: Json, got: Json, where: str = "") -> str | None:
    """Say where two JSON values differ first, None where they do not. An integer is met by an integer only."""
    match expected, got:
        case (bool(), _) | (_, bool()) | (None, _) | (_, None):
            same = expected is got
        case (int(), float()):
            return f"{where or '/'} is {got!r}, which is no integer"
        case (int() | float(), int() | float()) | (str(), str()):
            same = expected == got
        case (list(), list()):
            return _first_of_list(expected, got, where)
        case (dict(), dict()):
            return _first_of_object(expected, got, where)
        case _:
            same = False
    return None if same else f"{where or '/'} is {_short(got)} and not {_short(expected)}"


def _first_of_list(expected: list[Json], got: list[Json], where: str) -> str | None:
    if len(expected) != len(got):
        return f"{where or '/'} has {len(got)} elements and not {len(expected)}"
    pairs = zip(expected, got, strict=True)
    return next((d for i, (one, other) in enumerate(pairs) if (d := difference(one, other, f"{where}/{i}"))), None)


def _first_of_object(expected: dict[str, Json], got: dict[str, Json], where: str) -> str | None:
    for name in expected:
        if name not in got:
            return f"{where}/{name} is missing"
    for name in got:
        if name not in expected:
            return f"{where}/{name} is too much"
    return next((d for name, one in expected.items() if (d := difference(one, got[name], f"{where}/{name}"))), None)


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _leads_elsewhere(allowed: Mapping[str, Json], feedback: Mapping[str, Json] | None, request: Request) -> str | None:
    if feedback is None:
        return None if allowed.get("silent") else "there is no feedback"
    if allowed.get("silent"):
        return "there is feedback"
    try:
        outcome = apply(feedback, request)
        if isinstance(outcome, NeedsInput) and "needs_input" not in allowed:
            outcome = apply(feedback, request, confirm=True)  # who was asked said yes
        suggestions = parse(feedback).suggestions
    except ReaderError as unread:
        return f"the feedback cannot be read: {unread}"
    match outcome:
        case Next():
            if "next" not in allowed:
                return "a next request follows"
            index = outcome.applied[0]
            problem = _other_request(allowed["next"], outcome.request)
            steps = [_other_request(a, b) for a, b in zip(allowed.get("steps", ()), outcome.steps, strict=False)]
            if problem is None and len(outcome.steps) != len(allowed.get("steps", ())):
                problem = f"{len(outcome.steps)} steps come first"
            if problem is None and "wait" in allowed and outcome.wait_seconds != allowed["wait"]:
                problem = f"the wait is {outcome.wait_seconds} and not {allowed['wait']}"
            problem = problem or next(filter(None, steps), None)
        case Terminal():
            index, problem = 0, None if "terminal" in allowed else "it is terminal"
        case NeedsInput():
            return None if "needs_input" in allowed else f"it needs input: {outcome.reason}"
    if problem is not None:
        return problem
    wanted = {allowed[name].upper() for name in ("action", "base_action") if name in allowed}
    said = {suggestions[index].action, suggestions[index].base_action}
    return None if wanted <= said else f"the action is {suggestions[index].action}"


def _other_request(expected: Mapping[str, Json], got: Request) -> str | None:
    """Say where a request is another than expected. Headers nobody named may be there."""
    wanted = request_of(expected).document()
    has = got.document()
    named = {name.lower() for name in wanted["headers"]}
    wanted["headers"] = {name.lower(): value for name, value in wanted["headers"].items()}
    has["headers"] = {name.lower(): v for name, v in has["headers"].items() if name.lower() in named}
    return difference(wanted, has)


def _group(path: Path) -> Group:
    document = json.loads(path.read_text("utf-8"))
    vectors = tuple(_consumer(one, path.name) for one in document["vectors"])
    return Group(document["group"], document["about"], vectors)


def _consumer(written: Mapping[str, Any], origin: str) -> Consumer:
    return Consumer(
        written["id"],
        tuple(written["requirements"]),
        written["clause"],
        written["description"],
        {name: written[name] for name in ("request", "feedback", "answer", "options") if name in written},
        written["expect"],
        tuple(written.get("also_allowed", ())),
        origin,
    )


def _exchanges(path: Path) -> Iterator[Exchange]:
    document = json.loads(path.read_text("utf-8"))
    for one in document["vectors"]:
        yield Exchange(
            one["id"],
            document["profile"],
            tuple(one["requirements"]),
            one.get("clause"),
            one["description"],
            tuple(map(request_of, one.get("before", ()))),
            request_of({**one["request"], "form": one.get("form", one["request"].get("form", False))}),
            one["answer"],
            tuple(one["allowed"]),
            one.get("native", True),
            path.name,
        )
