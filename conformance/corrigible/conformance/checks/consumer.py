"""Checks of the role consumer: the reader under test gets the vectors and returns the next request.

Knows: vectors and how their answers compare. Does not know: processes, which reader it is.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from corrigible.conformance.model.outcome import CouldNotTell, UsageError
from corrigible.conformance.model.vector import Consumer, Group, consumer, difference
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.process import TIMEOUT, NoAnswer, StdioProgram, words
from corrigible.conformance.validators.finding import ABSENT, Finding
from corrigible.schema.exchange import Json

OUTCOMES: Final = ("next", "terminal", "needs_input", "error")
_MOST_RESTARTS: Final = 3
"""In one group: a reader that never answers must not take a time-out per vector."""
_EMPTY: Final[Mapping[str, Json]] = {"query": {}, "headers": {}, "body": None}


def _ask(group: Group, subject: Subject) -> Iterator[Finding]:
    command = _command(subject)
    timeout = subject.config.get("patience", TIMEOUT)
    failures = 0
    folder = subject.config.get("folder")
    with StdioProgram(command, timeout=float(timeout), folder=Path(folder) if folder else None) as respondent:
        for number, vector in enumerate(group.vectors, start=1):
            question = whole_question(vector)
            response = respondent.ask(question)
            subject.note("asked of the reader", json.dumps(question, ensure_ascii=False))
            subject.note("its answer", response.message if isinstance(response, NoAnswer) else json.dumps(response))
            problem = (
                f"the reader {response.message}." if isinstance(response, NoAnswer) else complaint(vector, response)
            )
            if problem is None:
                continue
            for requirement in vector.requirements:
                yield Finding(
                    requirement,
                    f"{vector.description} But {problem} ({vector.id}, clause {vector.clause})",
                    expected=vector.expect,
                    got=ABSENT if isinstance(response, NoAnswer) else {k: v for k, v in response.items() if k != "id"},
                    line=f"echo {shlex.quote(json.dumps(question))} | {shlex.join(command)}",
                )
            failures += isinstance(response, NoAnswer)
            if failures > _MOST_RESTARTS:
                sentence = (
                    f"The reader failed to answer {failures} times: the vectors after {vector.id} were not asked."
                )
                yield from (
                    Finding(kind, sentence, "an answer to each", ABSENT) for kind in _required(group.vectors[number:])
                )
                return


def _command(subject: Subject) -> list[str]:
    command = subject.config.get("consumer")
    if not isinstance(command, str) or not command.strip():
        raise CouldNotTell("there is no reader to ask: `consumer` in the config file is the command that starts one")
    try:
        return words(command, {"suite": str(SUITE), "python": sys.executable})
    except UsageError as problem:
        raise CouldNotTell(str(problem)) from None


def whole_question(vector: Consumer) -> dict[str, Json]:
    """Return the question with nothing left out of its request, so that a reader needs no defaults."""
    request = vector.given["request"]
    return {**vector.question, "request": {**_EMPTY, "form": False, **request}}


def complaint(vector: Consumer, response: Mapping[str, Json]) -> str | None:
    """Say what is wrong with an answer, None where it is one that the vector allows."""
    outcomes = [name for name in OUTCOMES if name in response]
    if len(outcomes) != 1:
        return f"the answer has {' and '.join(outcomes) or 'none'} of {', '.join(OUTCOMES)}: it is to have exactly one."
    allowed = (vector.expect, *vector.also_allowed)
    problems = [_other(way, response) for way in allowed]
    return None if None in problems else f"{problems[0]}."


def _other(expected: Mapping[str, Json], response: Mapping[str, Json]) -> str | None:
    (kind,) = expected
    (outcome,) = (name for name in OUTCOMES if name in response)
    if kind != outcome:
        return f"the answer is {outcome} and not {kind}"
    want, actual = expected[kind], response[kind]
    if kind == "error":
        return None
    if not isinstance(actual, dict):
        return f"{kind} is no object"
    match kind:
        case "next":
            return difference(_plain_next(want), _plain_next(actual))
        case "terminal":
            return difference(want, {name: actual[name] for name in want if name in actual})
        case _:
            return _other_input(want, actual)


def _other_input(want: Mapping[str, Json], actual: Mapping[str, Json]) -> str | None:
    """Compare what is named; whether a confirmation is asked for always counts."""
    if bool(actual.get("confirm")) != bool(want.get("confirm")):
        return "a confirmation is asked for" if actual.get("confirm") else "no confirmation is asked for"
    if "choices" in want and (other := difference(want["choices"], actual.get("choices"), "/choices")):
        return other
    if "placeholders" not in want:
        return None
    placeholders = actual.get("placeholders")
    if not isinstance(placeholders, list) or not all(isinstance(placeholder, dict) for placeholder in placeholders):
        return "/placeholders is no list of objects"
    pairs = zip(want["placeholders"], placeholders, strict=False)
    named_places = [
        *({k: placeholder[k] for k in w if k in placeholder} for w, placeholder in pairs),
        *placeholders[len(want["placeholders"]) :],
    ]
    return difference(want["placeholders"], named_places, "/placeholders")


def _plain_next(following: Mapping[str, Json]) -> dict[str, Json]:
    steps = following.get("steps") or []
    return {
        "wait": following.get("wait") or 0,
        "steps": [_normalized(step) for step in steps] if isinstance(steps, list) else steps,
        "request": _normalized(following.get("request")),
        "new_idempotency_key": bool(following.get("new_idempotency_key")),
    }


def _normalized(request: Json) -> Json:
    """Return a request document with nothing left out and header names in lower case."""
    if not isinstance(request, dict):
        return request
    headers = request.get("headers")
    folded = {name.lower(): v for name, v in headers.items()} if isinstance(headers, dict) else headers
    whole = {**_EMPTY, **request, "headers": folded if headers is not None else {}}
    whole.pop("form", None)
    return whole


def _required(vectors: Iterable[Consumer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for vector in vectors for id in vector.requirements))


def asking(group: Group) -> Check:
    """Return the check that puts these vectors to a reader."""

    def run(subject: Subject) -> Iterator[Finding]:
        return _ask(group, subject)

    run.__doc__ = (
        f"Puts the {len(group.vectors)} vectors of vectors/consumer/{group.name}.json to the reader, one by one."
    )
    return Check(f"consumer/{group.name}", group.about, _required(group.vectors), run, roles=frozenset({"consumer"}))


CHECKS: Final = tuple(asking(group) for group in consumer())
