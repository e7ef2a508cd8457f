"""Changes one thing at random: the floor that any repair has to be better than."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from copy import deepcopy
from random import Random
from typing import Final, Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop
from corrigible.conformance.lift.agents.scripted.reading.path import (
    scalars,
    value_at,
    values_inside,
    with_value,
    without,
)
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.exchange import Json, Request

from .noisy_literal import seeded_random

_TEXTS: Final = ("", "0", "true", "changed")


class RandomRepair:
    """Drops, duplicates or changes one value of the first request, each time anew. Reads no answer."""

    name = "random"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        rng = seeded_random(briefing, seed, self.name)
        seen = yield Send(briefing.request)
        while not seen.succeeded:
            other, note = _otherwise(briefing.request, rng)
            seen = yield Send(other, note=note)
        yield Stop("done")


def _otherwise(request: Request, rng: Random) -> tuple[Request, str]:
    inner = [place for place, _ in values_inside(request)]
    values = list(scalars(request))
    elements = [place for place in inner if isinstance(value_at(request, place[:-1]), list)]
    match rng.choice(("drop", "duplicate", "change")):
        case "drop" if inner:
            return without(request, rng.choice(inner)) or request, "dropped a value"
        case "duplicate" if elements:
            place = rng.choice(elements)
            beside = [*value_at(request, place[:-1]), deepcopy(value_at(request, place))]
            return with_value(request, place[:-1], beside) or request, "duplicated an element"
        case _ if values:
            place, value = rng.choice(values)
            return with_value(request, place, _changed(value, rng)) or request, "changed a value"
        case _:
            return request, "found nothing to change"


def _changed(value: Json, rng: Random) -> Json:
    match value:
        case bool():
            return not value
        case int():
            return rng.choice((0, value + 1, value - 1, value * 2, -value))
        case float():
            return rng.choice((0, value * 2, value / 2, -value))
        case None:
            return rng.choice(_TEXTS)
        case _:
            return rng.choice([text for text in _TEXTS if text != value])
