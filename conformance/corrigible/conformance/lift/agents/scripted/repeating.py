"""Floors: agents that learn nothing. Only a loop breaker stops them before their attempts are used up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop
from corrigible.conformance.lift.agents.scripted.reading.error_body import error_details, is_escalated, path_parts
from corrigible.conformance.lift.agents.scripted.reading.path import (
    ABSENT,
    JsonPath,
    find_path,
    parse_pointer,
    scalars,
    value_at,
    with_value,
)
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.carrier import find
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.word import PatchVerb

from .feedback_loop import STOPPED_BY_LOOP_BREAKER, first_response, with_idempotency_suffix


class Stubborn:
    """Sends the same call again and again."""

    name = "stubborn"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        return _alternate(briefing, lambda response: briefing.request)


class Oscillator:
    """Goes to and fro between two wrong calls: the first, and one that is as wrong."""

    name = "oscillator"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        return _alternate(briefing, lambda response: _otherwise(briefing.request, response))


def _alternate(briefing: Briefing, other_of: Callable[[Response], Request]) -> Generator[Move, Response, None]:
    response = yield from first_response(briefing)
    calls = [other_of(response), briefing.request]
    while not response.succeeded:
        if is_escalated(find(response.body)):
            yield STOPPED_BY_LOOP_BREAKER
            return
        response = yield Send(calls[0])
        calls.reverse()
    yield Stop("done")


def _otherwise(request: Request, response: Response) -> Request:
    """Return a call that is wrong by another number where this one is wrong by a number.

    Any other differs in a header that no API knows.
    """
    advised = list(_suggested_values(response))
    places = [*advised, *_complained(request, response)] or [(place, None) for place, _ in scalars(request)]
    for place, fix in places:
        if place[:1] in (("body",), ("query",)):
            value = value_at(request, place)
            wrong = _wrong(fix if value is ABSENT else value, fix)
            if wrong is not None and (other := with_value(request, place, wrong)) is not None:
                return with_idempotency_suffix(other, "b")
    return replace(request, headers={**request.headers, "x-attempt": "b"})


def _suggested_values(response: Response) -> Iterator[tuple[JsonPath, Json]]:
    """Yield where feedback wants another value, and which."""
    try:
        suggestions = parse(find(response.body)).suggestions
    except ReaderError:
        return
    for suggestion in suggestions:
        for edit in suggestion.patch:
            if edit.op in (PatchVerb.ADD, PatchVerb.REPLACE):
                yield parse_pointer(edit.path), edit.value
        for hole in suggestion.placeholders:
            yield parse_pointer(hole.pointer), None


def _complained(request: Request, response: Response) -> Iterator[tuple[JsonPath, Json]]:
    for error_detail in error_details(response.body):
        if (place := find_path(request, path_parts(error_detail.field))) is not None:
            yield place, None


def _wrong(value: Json, fix: Json) -> Json:
    """Return the next number that is not the fix, None for what is no number: another text may be right by chance."""
    match value:
        case bool():
            return None
        case int() | float():
            return value + 1 if value + 1 != fix else value + 2
        case str() if value.isdecimal():
            return str(int(value) + 1) if str(int(value) + 1) != str(fix) else str(int(value) + 2)
        case _:
            return None
