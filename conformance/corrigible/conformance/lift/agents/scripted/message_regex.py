"""Acts on quoted names, lists and bounds in prose: a lower bound of what prose is good for without a language model."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from difflib import get_close_matches
from typing import Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop
from corrigible.conformance.lift.agents.scripted.reading.error_body import ErrorDetail, error_details, path_parts
from corrigible.conformance.lift.agents.scripted.reading.path import (
    ABSENT,
    JsonPath,
    find_path,
    normalized_name,
    scalars,
    value_at,
    values_inside,
    with_value,
    without,
)
from corrigible.conformance.lift.agents.scripted.reading.prose import Prose, read
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .feedback_loop import first_response


class MessageRegex:
    """Reads native messages and validation errors, never feedback."""

    name = "message-regex"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        request = briefing.request
        sent = [request.document()]
        response = yield from first_response(briefing)
        while not response.succeeded:
            changed = request
            notes: list[str] = []
            for complaint in error_details(response.body):
                after = _corrected(changed, complaint)
                if after is not None and after.document() != changed.document():
                    changed, notes = after, [*notes, complaint.text[:60]]
            if changed.document() in sent:
                yield Stop("gave up", "no message says what to change")
                return
            request = changed
            sent.append(request.document())
            response = yield Send(request, note="; ".join(notes))
        yield Stop("done")


def _corrected(request: Request, complaint: ErrorDetail) -> Request | None:
    """Return the request as a message wants it, None where it says too little."""
    prose = read(complaint.text)
    place = path_of_error(request, complaint, prose)
    if place is None:
        return None
    there = value_at(request, place)
    if there is ABSENT:
        value = next(iter(suggested_values(prose, None)), ABSENT)
        return with_value(request, place, value) if prose.is_missing and value is not ABSENT else None
    if (
        prose.meant
        and prose.is_unknown
        and normalized_name(place[-1]) in map(normalized_name, prose.quoted or (place[-1],))
    ):
        reduced = without(request, place)
        return with_value(reduced, (*place[:-1], prose.meant), there) if reduced is not None else None
    for value in suggested_values(prose, there):
        if scalar_text(value) != scalar_text(there):
            return with_value(request, place, value)
    return without(request, place) if prose.is_unknown and not isinstance(there, Mapping | list) else None


def suggested_values(prose: Prose, value: Json) -> Iterator[Json]:
    """Yield the values that a message gives for what is there now, the surest first."""
    if prose.meant:
        yield prose.meant
    if prose.instead:
        yield prose.instead
    allowed = [allowed_value for allowed_value in prose.allowed if allowed_value != scalar_text(value)]
    near = get_close_matches(scalar_text(value), allowed, n=1) if isinstance(value, str) else []
    yield from (*near, *(allowed_value for allowed_value in allowed if allowed_value not in near))
    number = _as_number(value)
    if number is None and value is not None:
        return
    for bound, is_beyond in ((prose.most, _is_above), (prose.least, _is_below)):
        if bound is not None and (number is None or is_beyond(number, bound)):
            yield str(bound) if isinstance(value, str) else bound


def path_of_error(request: Request, complaint: ErrorDetail, prose: Prose) -> JsonPath | None:
    """Return the place a complaint is about: what it names, what it quotes, or the only name it mentions."""
    place = find_path(request, path_parts(complaint.field)) if complaint.field else None
    if place is not None and not isinstance(value_at(request, place), Mapping | list):
        return place
    for word in prose.quoted:
        holders = [at for at, value in scalars(request) if scalar_text(value) == word]
        if len(holders) == 1:
            return holders[0]
        if (found_path := find_path(request, path_parts(word))) is not None and value_at(
            request, found_path
        ) is not ABSENT:
            return found_path
    words = {normalized_name(word) for word in complaint.text.split()}
    inner = [
        at
        for at, value in values_inside(request)
        if normalized_name(at[-1]) in words and not isinstance(value, Mapping | list)
    ]
    if place is not None:
        inner = [at for at in inner if at[: len(place)] == place]
    return inner[0] if len(inner) == 1 else place


def _as_number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _is_above(number: float, bound: float) -> bool:
    return number > bound


def _is_below(number: float, bound: float) -> bool:
    return number < bound
