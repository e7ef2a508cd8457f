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

from .yaml_file import VECTORS


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
    exchanges = (exchange for path in files for exchange in _exchanges(path))
    return tuple(exchange for exchange in exchanges if profile is None or exchange.profile == profile)


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
    problems = [_leads_elsewhere(way, feedback, request) for way in allowed]
    return None if None in problems else "; or ".join(dict.fromkeys(filter(None, problems)))


def difference(expected: Json, actual: Json, path: str = "") -> str | None:
    """Say where two JSON values differ first, None where they do not. An integer is met by an integer only."""
    match expected, actual:
        case (bool(), _) | (_, bool()) | (None, _) | (_, None):
            same = expected is actual
        case (int(), float()):
            return f"{path or '/'} is {actual!r}, which is no integer"
        case (int() | float(), int() | float()) | (str(), str()):
            same = expected == actual
        case (list(), list()):
            return _first_of_list(expected, actual, path)
        case (dict(), dict()):
            return _first_of_object(expected, actual, path)
        case _:
            same = False
    return None if same else f"{path or '/'} is {_short(actual)} and not {_short(expected)}"


def _first_of_list(expected: list[Json], actual: list[Json], path: str) -> str | None:
    if len(expected) != len(actual):
        return f"{path or '/'} has {len(actual)} elements and not {len(expected)}"
    pairs = zip(expected, actual, strict=True)
    return next((d for i, (value, other) in enumerate(pairs) if (d := difference(value, other, f"{path}/{i}"))), None)


def _first_of_object(expected: dict[str, Json], got: dict[str, Json], path: str) -> str | None:
    for name in expected:
        if name not in got:
            return f"{path}/{name} is missing"
    for name in got:
        if name not in expected:
            return f"{path}/{name} is too much"
    return next((d for name, value in expected.items() if (d := difference(value, got[name], f"{path}/{name}"))), None)


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
    actions = {allowed[name].upper() for name in ("action", "base_action") if name in allowed}
    suggested_actions = {suggestions[index].action, suggestions[index].base_action}
    return None if actions <= suggested_actions else f"the action is {suggestions[index].action}"


def _other_request(expected: Mapping[str, Json], actual: Request) -> str | None:
    """Say where a request is another than expected. Headers nobody named may be there."""
    expected_request = request_of(expected).document()
    has = actual.document()
    names = {name.lower() for name in expected_request["headers"]}
    expected_request["headers"] = {name.lower(): value for name, value in expected_request["headers"].items()}
    has["headers"] = {name.lower(): v for name, v in has["headers"].items() if name.lower() in names}
    return difference(expected_request, has)


def _group(path: Path) -> Group:
    document = json.loads(path.read_text("utf-8"))
    vectors = tuple(_consumer(vector, path.name) for vector in document["vectors"])
    return Group(document["group"], document["about"], vectors)


def _consumer(document: Mapping[str, Any], origin: str) -> Consumer:
    return Consumer(
        document["id"],
        tuple(document["requirements"]),
        document["clause"],
        document["description"],
        {name: document[name] for name in ("request", "feedback", "answer", "options") if name in document},
        document["expect"],
        tuple(document.get("also_allowed", ())),
        origin,
    )


def _exchanges(path: Path) -> Iterator[Exchange]:
    document = json.loads(path.read_text("utf-8"))
    for vector in document["vectors"]:
        yield Exchange(
            vector["id"],
            document["profile"],
            tuple(vector["requirements"]),
            vector.get("clause"),
            vector["description"],
            tuple(map(request_of, vector.get("before", ()))),
            request_of({**vector["request"], "form": vector.get("form", vector["request"].get("form", False))}),
            vector["answer"],
            tuple(vector["allowed"]),
            vector.get("native", True),
            path.name,
        )
