"""The limits of a correction: beyond them the native answer passes."""

from __future__ import annotations

from dataclasses import dataclass


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
