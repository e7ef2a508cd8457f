"""Performing look-ups: counted, cached per exchange, boxed in time. The one place that waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar, cast

from corrigible.proxy.core.limits import Limits
from corrigible.proxy.http.corrector import Outcome
from corrigible.rules.engine.lookup import Lookup, LookupAnswer

T = TypeVar("T")
Fetch = Callable[[Lookup], Awaitable[LookupAnswer]]

NO_ANSWER = LookupAnswer(0)


class Asking:
    """The look-ups of one exchange: what it has asked so far, and how long it took."""

    def __init__(self, fetch: Fetch, limits: Limits) -> None:
        self._fetch = fetch
        self._limits = limits
        self._answers: dict[Lookup, LookupAnswer] = {}
        self._started = time.monotonic()

    async def answer(self, lookup: Lookup) -> LookupAnswer:
        """Perform a look-up, and those that will be wanted next. One that fails or comes too late has status 0."""
        known = self.known(lookup)
        if known is not None:
            return known
        ahead = self._worth_asking(lookup)
        said = await asyncio.gather(*(self._answered(one) for one in (lookup, *ahead)))
        for one, answer in zip((lookup, *ahead), said, strict=True):
            self.keep(one, answer)
        return self._answers[lookup]

    def keep(self, lookup: Lookup, answer: LookupAnswer) -> LookupAnswer:
        """Remember an answer, and return it; one over the limit is none."""
        self._answers[lookup] = kept = NO_ANSWER if len(answer.body) > self._limits.body else answer
        return kept

    def known(self, lookup: Lookup) -> LookupAnswer | None:
        """Return an answer that needs no asking: a cached one, or none at all past the limits."""
        if lookup in self._answers:
            return self._answers[lookup]
        if len(self._answers) >= self._limits.lookups or self._left() <= 0:
            return NO_ANSWER
        return None

    def _worth_asking(self, lookup: Lookup) -> list[Lookup]:
        """Return the look-ups that may be made together with one that has to be made."""
        room = self._limits.lookups - len(self._answers) - 1
        new = [one for one in dict.fromkeys(lookup.ahead) if one not in self._answers and one != lookup]
        return new[: max(0, room)]

    def _left(self) -> float:
        return self._started + self._limits.seconds_with_lookups - time.monotonic()

    async def _answered(self, lookup: Lookup) -> LookupAnswer:
        try:
            return await asyncio.wait_for(self._fetch(lookup), self._left())
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return NO_ANSWER  # the look-up gave itself up
        except Exception:  # whatever a look-up dies of, it is no answer and never the client's trouble
            return NO_ANSWER

    def in_time(self, result: T) -> T:
        """Withhold a correction that took longer than it may: the client has waited enough."""
        spent = time.monotonic() - self._started
        allowed = self._limits.seconds + (self._limits.seconds_with_lookups if self._answers else 0)
        if spent > allowed and isinstance(result, Outcome):
            return cast(T, result.withheld(f"took {spent * 1000:.0f} ms, the limit is {allowed * 1000:.0f}"))
        return result


async def run_with_lookups(
    generator: Generator[Lookup, LookupAnswer, T], fetch: Fetch, limits: Limits | None = None
) -> T:
    """Run a translation to its end, here and now."""
    asking = Asking(fetch, limits or Limits())
    try:
        wanted = next(generator)
        while True:
            wanted = generator.send(await asking.answer(wanted))
    except StopIteration as done:
        result: T = done.value
        return asking.in_time(result)


def run_with_lookups_sync(
    generator: Generator[Lookup, LookupAnswer, T],
    fetch: Callable[[Lookup], LookupAnswer],
    limits: Limits | None = None,
) -> T:
    """Run a translation to its end without an event loop. `fetch` keeps its own time-out."""
    asking = Asking(_never, limits or Limits())
    try:
        wanted = next(generator)
        while True:
            answer = asking.known(wanted)
            if answer is None:
                try:
                    answer = asking.keep(wanted, fetch(wanted))
                except Exception:  # as above
                    answer = asking.keep(wanted, NO_ANSWER)
            wanted = generator.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


async def _never(lookup: Lookup) -> LookupAnswer:
    return NO_ANSWER
