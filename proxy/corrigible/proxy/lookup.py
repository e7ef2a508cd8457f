"""Performing look-ups: counted, cached per exchange, boxed in time. The one place that waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

from corrigible.rules.lookup import Lookup, LookupAnswer

from .limit import Limits

T = TypeVar("T")

NO_ANSWER = LookupAnswer(0)


class _Ledger:
    """What one exchange has asked so far."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.answers: dict[str, LookupAnswer] = {}
        self.deadline = time.monotonic() + limits.seconds_with_lookups

    def known(self, lookup: Lookup) -> LookupAnswer | None:
        """Return an answer that needs no asking: a cached one, or none at all past the limits."""
        if lookup.path in self.answers:
            return self.answers[lookup.path]
        if len(self.answers) >= self.limits.lookups or self.left() <= 0:
            return NO_ANSWER
        return None

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def keep(self, lookup: Lookup, answer: LookupAnswer) -> LookupAnswer:
        if len(answer.body) > self.limits.body:
            answer = NO_ANSWER
        self.answers[lookup.path] = answer
        return answer


async def drive(
    generator: Generator[Lookup, LookupAnswer, T],
    fetch: Callable[[str], Awaitable[LookupAnswer]],
    limits: Limits | None = None,
) -> T:
    """Run a translation to its end. A look-up that fails or comes too late is answered with status 0."""
    ledger = _Ledger(limits or Limits())
    try:
        wanted = next(generator)
        while True:
            answer = ledger.known(wanted)
            if answer is None:
                try:
                    answer = await asyncio.wait_for(fetch(wanted.path), ledger.left())
                except Exception:  # whatever a look-up dies of, it is no answer and never the client's trouble
                    answer = NO_ANSWER
                answer = ledger.keep(wanted, answer)
            wanted = generator.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


def drive_sync(
    generator: Generator[Lookup, LookupAnswer, T],
    fetch: Callable[[str], LookupAnswer],
    limits: Limits | None = None,
) -> T:
    """Run a translation to its end without an event loop. `fetch` keeps its own time-out."""
    ledger = _Ledger(limits or Limits())
    try:
        wanted = next(generator)
        while True:
            answer = ledger.known(wanted)
            if answer is None:
                try:
                    answer = fetch(wanted.path)
                except Exception:  # as above
                    answer = NO_ANSWER
                answer = ledger.keep(wanted, answer)
            wanted = generator.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result
