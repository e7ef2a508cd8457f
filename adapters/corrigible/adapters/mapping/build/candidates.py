"""Which operations are compared at all: found by probing, by their paths, and as neighbours of what was found.

A probe is a text that is searched for among the operations of the other API: what an operation says of itself, or an
utterance of a user whose hits belong together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Final

from corrigible.adapters.mapping.words import name_words

from .profile import Profile

Probe = Callable[[str, int], Sequence[str]]
"""Returns the keys of the best operations of one API for a text."""

PROBED: Final = 12
"""Hits of one probe."""
_FROM_NEIGHBOURS: Final = 12
_MOST: Final = 60
"""Candidates of one operation."""


class Neighbours:
    """The operations of one API that share schemas or, with what stands before it, the place in the path."""

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self._by_mark: dict[object, list[str]] = defaultdict(list)
        self._marks: dict[str, list[object]] = {}
        for one in profiles:
            self._marks[one.key] = marks = list(_marks(one))
            for mark in marks:
                self._by_mark[mark].append(one.key)

    def of(self, key: str, most: int) -> list[str]:
        """Return the nearest ones: those that share the most, and the rarest, first."""
        shares: dict[str, float] = defaultdict(float)
        for mark in self._marks[key]:
            others = self._by_mark[mark]
            if len(others) > 200:  # a schema that everything has: a status, an error
                continue
            for other in others:
                shares[other] += 1 / log(1 + len(others))
        shares.pop(key, None)
        return sorted(shares, key=lambda one: (-shares[one], one))[:most]


def _marks(one: Profile) -> Iterator[object]:
    for name in one.operation.schemas:
        yield "schema", name
    yield "path", container(one)


def container(one: Profile) -> tuple[str, ...]:
    """Return the path up to its last literal segment, without it."""
    last = max((at for at, part in enumerate(one.segments) if part != "{}"), default=0)
    return one.segments[:last]


class Candidates:
    """The operations of one API, as candidates for those of another one."""

    def __init__(self, targets: Mapping[str, Profile], probe: Probe) -> None:
        self._targets, self._probe = targets, probe
        self._neighbours = Neighbours(targets.values())
        self._by_path: dict[object, list[str]] = defaultdict(list)
        for key, one in targets.items():
            for form in dict.fromkeys((_spelt(one), one.letters)):
                self._by_path[form].append(key)
        self._probed: dict[str, list[str]] = {}

    def of(self, source: Profile, together: Iterable[str] = ()) -> list[str]:
        """Return the keys of the operations to compare with one; `together`: those that an utterance found with it."""
        found = dict.fromkeys((*self._by_path.get(_spelt(source), ()), *self._by_path.get(source.letters, ())))
        found |= dict.fromkeys(together)
        operation = source.operation
        said = operation.summary or operation.description.partition(". ")[0]
        words = " ".join(name_words(operation.path))
        for text in (f"{said} {words}", " ".join(name_words(operation.name)) + " " + words):
            found |= dict.fromkeys(self._hits(text))
        for key in list(found)[:3]:
            found |= dict.fromkeys(self._neighbours.of(key, _FROM_NEIGHBOURS))
        return list(found)[:_MOST]

    def _hits(self, text: str) -> list[str]:
        if text not in self._probed:
            self._probed[text] = [key for key in self._probe(text, PROBED) if key in self._targets]
        return self._probed[text]


def _spelt(one: Profile) -> tuple[object, ...]:
    return tuple(part if part == "{}" else name_words(part) for part in one.segments)
