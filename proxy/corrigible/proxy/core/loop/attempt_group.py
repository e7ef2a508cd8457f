"""Attempts at one task: the requests that met the same refusal, and what they were advised.

Knows: request documents, suggestions, fingerprints. Does not know: how many loops there are, what a repeated refusal
is answered with. Nothing of a request is kept but its fingerprint: hashes of its values, under their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.violation import Violation
from corrigible.schema.cache import bytes_of
from corrigible.schema.exchange import Json, Request

from .fingerprint import Advice, advice_of, containing_array, follows, hashed, is_excused

_MOST_PLACES = 64
_LEAST: Final = 800
"""Bytes of an attempt with nothing in it, and of the keys that lead to it."""
_LEAF: Final = 120
"""Bytes of a place, beside its letters, and of the hash of what is there."""
_READS = frozenset({"GET", "HEAD"})

Feedback = Mapping[str, Json]


class Refusal(NamedTuple):
    """A refusal as far as it can come back."""

    caller: str
    operation: str
    request: Request
    errors: Sequence[Violation]
    started: float
    """Unix seconds."""
    code: str = ""
    """What the pack calls the error; nothing that the upstream wrote."""
    id: str = ""
    """Of the exchange, for feedback that is withheld in the end."""


class AttemptGroup:
    """Requests of one task that met the same refusal. Not all that share credentials share a task."""

    __slots__ = ("advised", "attempts", "code", "early", "last", "leaves", "paths", "places", "size", "tried", "until")

    def __init__(self) -> None:
        self.attempts = 0
        self.size = 0
        """Bytes that it takes, with its part of what finds it."""
        self.early = 0
        """Attempts that did not wait for as long as they were told: they show nothing but that."""
        self.until = 0.0
        """When the wait is over that was told last."""
        self.last = 0.0
        self.code = ""
        self.leaves: dict[str, int] = {}
        self.paths: tuple[int, ...] = ()
        """Hashes of those that were called, of an operation whose path varies."""
        self.places: tuple[str, ...] = ()
        """That were suggested to be changed, before the last time."""
        self.advised: tuple[Advice, ...] = ()
        """What was suggested the last time, in order."""
        self.tried: tuple[Advice, ...] = ()

    def is_early(self, refusal: Refusal) -> bool:
        """Whether a refusal came before the wait was over that was told last."""
        return refusal.started < self.until

    def take_over(self, before: AttemptGroup) -> None:
        """Go on with a task of which some mistakes were mended: the others were refused once, however often."""
        for name in self.__slots__:
            setattr(self, name, getattr(before, name))
        self.attempts, self.early = min(before.attempts, 1), 0

    def keep_advice(self, refusal: Refusal) -> None:
        """Forget what was advised about mistakes that a refusal no longer has."""
        places = [containing_array(one.pointer) for one in refusal.errors]
        if all(places):
            self.advised = tuple(
                advice
                for advice in self.advised
                if not advice.effects or any(is_excused(containing_array(place), places) for place, _ in advice.effects)
            )

    def record_outcome(self, refusal: Refusal) -> None:
        """Learn what became of the last advice."""
        request = refusal.request
        self.early += self.is_early(refusal)
        for rank, advice in enumerate(self.advised):
            if (follows(advice, request) if advice.effects else rank == 0) and advice not in self.tried:
                self.tried = (*self.tried, advice)[-_MOST_PLACES:]
        self.places = tuple(dict.fromkeys(self.open_places()))[-_MOST_PLACES:]

    def record_advice(self, feedback: Feedback | None, refusal: Refusal, leaves: dict[str, int]) -> None:
        """Keep what this attempt was, and what it is advised."""
        request = refusal.request
        self.advised = tuple(advice_of(one, request) for one in feedback["suggestions"]) if feedback else ()
        self.last, self.leaves = refusal.started, leaves
        self.until = refusal.started + _wait(feedback)
        path = hashed(request.path)
        if path not in self.paths:
            self.paths = (*self.paths, path)[-_MOST_PLACES:]
        places = _LEAF * len(leaves) + sum(map(len, leaves))
        self.size = _LEAST + places + bytes_of((self.advised, self.tried, self.places, self.paths))

    def open_places(self) -> Iterator[str]:
        """Yield what may differ in the next request: it was suggested to be changed, or asked for."""
        yield from self.places
        for advice in self.advised:
            yield from (containing_array(place) for place, _ in advice.effects)
            yield from map(containing_array, advice.asked_pointers)


def _wait(feedback: Feedback | None) -> float:
    """Return the seconds for which feedback says to wait."""
    if feedback is None or feedback.get("recovery") != "transient":
        return 0.0
    seconds = (feedback.get("retry") or {}).get("after_seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def is_same_task(refusal: Refusal, now: Mapping[str, int], group: AttemptGroup) -> bool:
    """Whether a request is of one task with those before: it differs only where they were wrong or told to change."""
    if hashed(refusal.request.path) not in group.paths and not _led_to(refusal, group):
        return False
    before = group.leaves
    if before == now:
        return True
    # What is complained of is the same: it is part of the key.
    places = {*group.open_places(), *(containing_array(one.pointer) for one in refusal.errors if one.pointer)}
    differing = [place for place, value in now.items() if before.get(place) != value]
    differing += [place for place in before if place not in now]
    return all(is_excused(place, places) for place in differing)


def is_progress(refusal: Refusal, feedback: Feedback | None, group: AttemptGroup) -> bool:
    """Whether a refusal that names no place is about another one: all that is suggested is new.

    An API that says "Validation failed" to everything cannot tell the second mistake from the first. The rules can.
    """
    if feedback is None or any(one.pointer for one in refusal.errors):
        return False
    before = set(group.open_places())
    advised = {
        containing_array(place)
        for suggestion in feedback["suggestions"]
        for advice in [advice_of(suggestion, refusal.request)]
        for place in (*(place for place, _ in advice.effects), *advice.asked_pointers)
    }
    return bool(advised and before) and not any(is_excused(place, before) for place in advised)


def _led_to(refusal: Refusal, group: AttemptGroup) -> bool:
    """Whether another path is no other task. To read elsewhere is one, unless it was suggested."""
    if any(("/path", hashed(refusal.request.path)) in advice.effects for advice in group.advised):
        return True
    return refusal.request.method not in _READS and any(one.pointer == "/path" for one in refusal.errors)
