"""Performs look-ups: counted, cached per exchange, limited in time. The one place that waits for them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar, cast

from corrigible.proxy.core.corrector import Outcome
from corrigible.proxy.core.limits import Limits
from corrigible.rules.lookup import Lookup, LookupAnswer

T = TypeVar("T")
Fetch = Callable[[Lookup], Awaitable[LookupAnswer]]

NO_ANSWER = LookupAnswer(0)
_LOOKUPS_SHARE = 0.8
"""Part of the time that look-ups may take: what needs none of them can still be said in the rest."""


class LookupBudget:
    """The time of one correction and its look-ups, whatever they are made for: what was asked so far, what is left."""

    def __init__(self, fetch: Fetch, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        """The time begins now."""
        self._clock = clock
        self._fetch = fetch
        self._limits = limits
        self._answers: dict[Lookup, LookupAnswer] = {}
        self._started = self._clock()

    async def answer(self, lookup: Lookup) -> LookupAnswer:
        """Perform a look-up, and those that will be wanted next. One that fails or comes too late has status 0."""
        at_hand = self.known_answer(lookup)
        if at_hand is not None:
            return at_hand
        lookups = (lookup, *self._ahead(lookup))
        answers = await asyncio.gather(*map(self._fetched, lookups))
        for each, answer in zip(lookups, answers, strict=True):
            self.remember(each, answer)
        return self._answers[lookup]

    def remember(self, lookup: Lookup, answer: LookupAnswer) -> LookupAnswer:
        """Remember an answer, and return it; one over the limit is none."""
        self._answers[lookup] = answer_kept = NO_ANSWER if len(answer.body) > self._limits.body else answer
        return answer_kept

    def known_answer(self, lookup: Lookup) -> LookupAnswer | None:
        """Return an answer that needs no asking: a cached one, or none at all past the limits."""
        if lookup in self._answers:
            return self._answers[lookup]
        if len(self._answers) >= self._limits.lookups or self._left() <= 0:
            return NO_ANSWER
        return None

    def _ahead(self, lookup: Lookup) -> list[Lookup]:
        """Return the look-ups that may be made together with one that has to be made."""
        room = self._limits.lookups - len(self._answers) - 1
        new = [each for each in dict.fromkeys(lookup.prefetch) if each not in self._answers and each != lookup]
        return new[: max(0, room)]

    def _left(self) -> float:
        return self._started + _LOOKUPS_SHARE * self._limits.seconds_with_lookups - self._clock()

    async def _fetched(self, lookup: Lookup) -> LookupAnswer:
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
        seconds = self._clock() - self._started
        limit = self._limits.seconds_with_lookups
        if seconds > limit and isinstance(result, Outcome):
            exceeded = f"over the time limit of {limit:.3g} s (--time-limit)"
            return cast(T, result.over_limit(f"{exceeded}: took {seconds * 1000:.0f} ms"))
        return result


def run_with_lookups_sync(
    generator: Generator[Lookup, LookupAnswer, T],
    fetch: Callable[[Lookup], LookupAnswer],
    limits: Limits | None = None,
) -> T:
    """Run a correction to its end without an event loop. `fetch` keeps its own time-out.

    Without `limits` it may take any time: answers that are recorded keep nobody waiting.
    """
    budget = LookupBudget(_never, limits or Limits(seconds_with_lookups=math.inf))
    try:
        lookup = next(generator)
        while True:
            answer = budget.known_answer(lookup)
            if answer is None:
                try:
                    answer = budget.remember(lookup, fetch(lookup))
                except Exception:  # as above
                    answer = budget.remember(lookup, NO_ANSWER)
            lookup = generator.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def _never(lookup: Lookup) -> LookupAnswer:
    return NO_ANSWER
