"""The limits of a correction: beyond them the native answer passes. And how large a document is, what of it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from corrigible.schema.exchange import Json


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    body: int = 1 << 20
    """An error or request body larger than this is not looked at."""
    steps: int = 20_000
    """Of computing per exchange, about a microsecond each; and more by `steps_for_values`."""
    steps_for_values: int = 1
    """For each value that request and answer hold."""
    values: int = 50_000
    """A request or an answer that holds more is not looked at."""
    depth: int = 100
    """Nor is one that is nested deeper: readers apply no edit to it either."""
    errors: int = 64
    """Of one answer; what it says beyond is not read."""
    text: int = 8192
    """Of one text in an answer this much is read."""
    suggestions: int = 16
    feedback: int = 4096
    seconds: float = 0.25
    """Of a processor, for what is computed. What takes more is ended, since something is wrong with it."""
    seconds_with_lookups: float = 1.0
    """For a correction, from its beginning to its end, look-ups included: a busy machine needs longer for the same."""
    lookups: int = 12
    """Per exchange."""

    @classmethod
    def within(cls, seconds: float) -> Limits:
        """Return limits with which no correction takes longer, look-ups included.

        What is computed may take a quarter of that, and as long as by default where that is more.
        """
        return cls(seconds=min(seconds, max(cls().seconds, seconds / 4)), seconds_with_lookups=seconds)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a side may keep the other one waiting, in seconds; 0 is for ever.

    A side that owes nothing may be silent: a watch, an event stream, a call of gRPC, an upgraded connection.
    """

    head: float = 60.0
    """For the head of a request, and for TLS before it."""
    idle: float = 300.0
    """Without a byte of a request's body that has begun; of an answer's body that is not read; between requests."""
    answer: float = 900.0
    """From the end of a request to the head of its answer. Long polls and models take up to ten minutes."""


class Measured(NamedTuple):
    values: int
    depth: int

    def is_over(self, limits: Limits) -> bool:
        return self.values > limits.values or self.depth > limits.depth


def measured(document: Json, limits: Limits) -> Measured:
    """Count values and levels; counting ends where either is more than the limits allow."""
    values, depth = 1, 0
    level: list[Json] = [document] if type(document) in _CONTAINERS else []
    while level:
        inner: list[Json] = []
        for container in level:
            values += len(container)
            if values > limits.values:
                return Measured(values, depth)
            for element in container.values() if type(container) is dict else container:
                if type(element) in _CONTAINERS:
                    inner.append(element)
        depth += 1
        if depth > limits.depth:
            break
        level = inner
    return Measured(values, depth)


_CONTAINERS = frozenset({dict, list})


def readable(document: Json, limits: Limits) -> Json:
    """Return the part of an answer that is read: of a long list the first elements, of a long text its beginning.

    Long runs of blanks are shortened: patterns for messages look for blanks before and behind words.
    """
    if isinstance(document, str):
        return document if len(document) <= _MOST_BLANKS else _BLANKS.sub(_SHORTENED, document[: limits.text])
    if isinstance(document, dict):
        names = list(document)[: _MOST_MEMBERS * limits.errors]
        return {name[: limits.text]: readable(document[name], limits) for name in names}
    if isinstance(document, list):
        return [readable(one, limits) for one in document[: limits.errors]]
    return document


_MOST_BLANKS = 64
_BLANKS = re.compile(rf"\s{{{_MOST_BLANKS},}}")
_SHORTENED = " " * _MOST_BLANKS
_MOST_MEMBERS = 4
"""Members of one object, by the number of errors."""
