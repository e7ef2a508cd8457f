"""Performing look-ups: counted, cached per exchange, boxed in time. The one place that waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar, cast

from corrigible.rules.lookup import Lookup, LookupAnswer

from .corrector import Outcome
from .limit import Limits

T = TypeVar("T")

NO_ANSWER = LookupAnswer(0)


class _Ledger:
    """What one exchange has asked so far, and how long it took."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.answers: dict[Lookup, LookupAnswer] = {}
        self.started = time.monotonic()

    def known(self, lookup: Lookup) -> LookupAnswer | None:
        """Return an answer that needs no asking: a cached one, or none at all past the limits."""
        if lookup in self.answers:
            return self.answers[lookup]
        if len(self.answers) >= self.limits.lookups or self.left() <= 0:
            return NO_ANSWER
        return None

    def worth_asking(self, lookup: Lookup) -> list[Lookup]:
        """Return the look-ups that may be made together with one that has to be made."""
        room = self.limits.lookups - len(self.answers) - 1
        new = [one for one in dict.fromkeys(lookup.ahead) if one not in self.answers and one != lookup]
        return new[: max(0, room)]

    def left(self) -> float:
        return self.started + self.limits.seconds_with_lookups - time.monotonic()

    def keep(self, lookup: Lookup, answer: LookupAnswer) -> LookupAnswer:
        if len(answer.body) > self.limits.body:
            answer = NO_ANSWER
        self.answers[lookup] = answer
        return answer

    def in_time(self, result: T) -> T:
        """Withhold a correction that took longer than it may: the client has waited enough."""
        spent = time.monotonic() - self.started
        allowed = self.limits.seconds + (self.limits.seconds_with_lookups if self.answers else 0)
        if spent > allowed and isinstance(result, Outcome):
            return cast(T, result.withheld(f"took {spent * 1000:.0f} ms, the limit is {allowed * 1000:.0f}"))
        return result


def _unknown(generator: Generator[Lookup, LookupAnswer, T], ledger: _Ledger) -> Generator[Lookup, LookupAnswer, T]:
    """Yield only the look-ups that have to be performed; the ledger answers the others."""
    try:
        wanted = next(generator)
        while True:
            answer = ledger.known(wanted)
            if answer is None:
                answer = ledger.keep(wanted, (yield wanted))
            wanted = generator.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


async def drive(
    generator: Generator[Lookup, LookupAnswer, T],
    fetch: Callable[[Lookup], Awaitable[LookupAnswer]],
    limits: Limits | None = None,
) -> T:
    """Run a translation to its end. A look-up that fails or comes too late is answered with status 0."""
    ledger = _Ledger(limits or Limits())
    asking = _unknown(generator, ledger)
    try:
        wanted = next(asking)
        while True:
            ahead = ledger.worth_asking(wanted)
            answer, *early = await asyncio.gather(*(_answered(fetch, one, ledger) for one in (wanted, *ahead)))
            for lookup, said in zip(ahead, early, strict=True):
                ledger.keep(lookup, said)
            wanted = asking.send(answer)
    except StopIteration as done:
        result: T = done.value
        return ledger.in_time(result)


async def _answered(
    fetch: Callable[[Lookup], Awaitable[LookupAnswer]], lookup: Lookup, ledger: _Ledger
) -> LookupAnswer:
    try:
        return await asyncio.wait_for(fetch(lookup), ledger.left())
    except Exception:  # whatever a look-up dies of, it is no answer and never the client's trouble
        return NO_ANSWER


def drive_sync(
    generator: Generator[Lookup, LookupAnswer, T],
    fetch: Callable[[Lookup], LookupAnswer],
    limits: Limits | None = None,
) -> T:
    """Run a translation to its end without an event loop or a clock. `fetch` keeps its own time-out."""
    asking = _unknown(generator, _Ledger(limits or Limits()))
    try:
        wanted = next(asking)
        while True:
            try:
                answer = fetch(wanted)
            except Exception:  # as above
                answer = NO_ANSWER
            wanted = asking.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result
