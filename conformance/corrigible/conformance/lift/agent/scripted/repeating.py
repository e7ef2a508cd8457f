"""Floors: agents that learn nothing. Only a loop breaker stops them before their attempts are used up."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Literal

from corrigible.schema.carrier import find
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.word import PatchVerb

from ..move import Briefing, Move, Seen, Send, Stop
from .answer import complaints, is_broken_off, names_of
from .conversation import BROKEN_OFF
from .place import ABSENT, Place, found, leaves, parsed, value_at, with_value


class Stubborn:
    """Sends the same call again and again."""

    name = "stubborn"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Seen, None]:
        return _alternate(briefing.request, lambda seen: briefing.request)


class Oscillator:
    """Goes to and fro between two wrong calls: the first, and one that is otherwise wrong at the same place."""

    name = "oscillator"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Seen, None]:
        return _alternate(briefing.request, lambda seen: _otherwise(briefing.request, seen))


def _alternate(first: Request, other_of: object) -> Generator[Move, Seen, None]:
    raise NotImplementedError
