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

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.model.paths import SUITE
from corrigible.conformance.model.usage_error import UsageError
from corrigible.conformance.model.vector import Consumer, Group, consumer, difference
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.process import words
from corrigible.conformance.transport.stdio_program import TIMEOUT, NoAnswer, StdioProgram
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
            answer = respondent.ask(question)
            subject.note("asked of the reader", json.dumps(question, ensure_ascii=False))
            subject.note("its answer", answer.said if isinstance(answer, NoAnswer) else json.dumps(answer))
            problem = f"the reader {answer.said}." if isinstance(answer, NoAnswer) else complaint(vector, answer)
            if problem is None:
                continue
            for requirement in vector.requirements:
                yield Finding(
                    requirement,
                    f"{vector.description} But {problem} ({vector.id}, clause {vector.clause})",
                    expected=vector.expect,
                    got=ABSENT if isinstance(answer, NoAnswer) else {k: v for k, v in answer.items() if k != "id"},
                    line=f"echo {shlex.quote(json.dumps(question))} | {shlex.join(command)}",
                )
            failures += isinstance(answer, NoAnswer)
            if failures > _MOST_RESTARTS:
                sentence = (
                    f"The reader failed to answer {failures} times: the vectors after {vector.id} were not asked."
                )
                yield from (Finding(one, sentence) for one in _required(group.vectors[number:]))
                return


def _command(subject: Subject) -> list[str]:
    given = subject.config.get("consumer")
    if not isinstance(given, str) or not given.strip():
        raise CouldNotTell("there is no reader to ask: `consumer` in the config file is the command that starts one")
    try:
        return words(given, {"suite": str(SUITE), "python": sys.executable})
    except UsageError as problem:
        raise CouldNotTell(str(problem)) from None


def whole_question(vector: Consumer) -> dict[str, Json]:
    """Return the question with nothing left out of its request, so that a reader needs no defaults."""
    request = vector.given["request"]
    return {**vector.question, "request": {**_EMPTY, "form": False, **request}}


def complaint(vector: Consumer, answer: Mapping[str, Json]) -> str | None:
    """Say what is wrong with an answer, None where it is one that the vector allows."""
    named = [name for name in OUTCOMES if name in answer]
    if len(named) != 1:
        return f"the answer has {' and '.join(named) or 'none'} of {', '.join(OUTCOMES)}: it is to have exactly one."
    allowed = (vector.expect, *vector.also_allowed)
    problems = [_other(one, answer) for one in allowed]
    return None if None in problems else f"{problems[0]}."


def _other(expected: Mapping[str, Json], answer: Mapping[str, Json]) -> str | None:
    (kind,) = expected
    (said,) = (name for name in OUTCOMES if name in answer)
    if kind != said:
        return f"the answer is {said} and not {kind}"
    want, got = expected[kind], answer[kind]
    if kind == "error":
        return None
    if not isinstance(got, dict):
        return f"{kind} is no object"
    match kind:
        case "next":
            return difference(_plain_next(want), _plain_next(got))
        case "terminal":
            return difference(want, {name: got[name] for name in want if name in got})
        case _:
            return _other_input(want, got)


def _other_input(want: Mapping[str, Json], got: Mapping[str, Json]) -> str | None:
    """Compare what is named; whether a confirmation is asked for always counts."""
    if bool(got.get("confirm")) != bool(want.get("confirm")):
        return "a confirmation is asked for" if got.get("confirm") else "no confirmation is asked for"
    if "choices" in want and (other := difference(want["choices"], got.get("choices"), "/choices")):
        return other
    if "placeholders" not in want:
        return None
    found = got.get("placeholders")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return "/placeholders is no list of objects"
    pairs = zip(want["placeholders"], found, strict=False)
    named = [*({k: one[k] for k in w if k in one} for w, one in pairs), *found[len(want["placeholders"]) :]]
    return difference(want["placeholders"], named, "/placeholders")


def _plain_next(following: Mapping[str, Json]) -> dict[str, Json]:
    steps = following.get("steps") or []
    return {
        "wait": following.get("wait") or 0,
        "steps": [_plain(step) for step in steps] if isinstance(steps, list) else steps,
        "request": _plain(following.get("request")),
        "new_idempotency_key": bool(following.get("new_idempotency_key")),
    }


def _plain(request: Json) -> Json:
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
