"""How much may be computed for one exchange: counted inside the loops, so that nothing runs on.

Whatever grows with a request, an answer or a description says what it is about to do: `spend(len(names))`. A step is
about a microsecond. Where no budget is under way (tests, `pack lint`) nothing is counted.

A budget holds from one look-up to the next (`within`): what the same thread computes meanwhile has its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from corrigible.schema.exchange import Json

from .errors import CorrigibleError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Result = TypeVar("Result")

_UNCOUNTED = 1 << 62
_VALUES_A_STEP = 8
_BETWEEN_LOOKS = 500
"""Steps between two looks at the clock."""


class Exhausted(CorrigibleError):
    """More was to be computed than an exchange is worth: the native answer passes."""


class Oversized(CorrigibleError):
    """An expression was to make more than one may: the rule it belongs to is left out."""


MOST_UNITS = 2 << 20
"""What one expression may make and walk through: a letter is a unit, a value or a step of a loop `UNITS_OF_VALUE`."""
UNITS_OF_VALUE = 16
_UNITS_A_STEP = 128


class Budget:
    """The steps that are left, and the time where somebody hands in a clock."""

    __slots__ = (
        *("_began", "_clock", "next_look", "pauses", "reserve_is_used", "seconds", "size", "steps", "steps_left"),
        "time_is_over",
    )

    def __init__(self, steps: int, seconds: float = 0.0, clock: Callable[[], float] | None = None) -> None:
        """`clock` gives seconds; without one only steps are counted."""
        self.steps = self.steps_left = steps
        self.seconds = seconds
        self.size = 0
        """How many values the exchange holds, look-ups and what was computed of them included."""
        self.pauses = 0
        """How often somebody else was asked."""
        self._clock = clock
        self._began = 0.0
        self.next_look = 0
        """How many steps are left when there is to be a look at the clock, or none are left."""
        self.time_is_over = self.reserve_is_used = False
        self._plan_look()

    def allow(self, values: int, steps: int) -> None:
        """Set how many values an exchange holds, and add some steps for each."""
        self.size = values
        self.steps += values * steps
        self.steps_left += values * steps
        self._plan_look()

    def spend(self, steps: int) -> None:
        """Count steps before they are taken. Raises Exhausted if fewer are left."""
        self.steps_left -= steps
        if self.steps_left <= self.next_look:
            self.look()

    def look(self) -> None:
        """Raise Exhausted if no steps are left, or no time."""
        if self.steps_left < 0:
            raise Exhausted(f"more than {self.steps:,} steps of computing")
        self._plan_look()
        if self._clock is not None and self._clock() - self._began > self.seconds:
            self.time_is_over = True
            raise Exhausted("more time than there is for computing")

    def use_reserve(self, steps: int) -> bool:
        """Add steps for finishing with what there is: once, and only while there is time."""
        if self.reserve_is_used or self.time_is_over:
            return False
        self.reserve_is_used, self.steps_left = True, max(self.steps_left, steps)
        self._plan_look()
        return True

    def _plan_look(self) -> None:
        self.next_look = -1 if self._clock is None else max(-1, self.steps_left - _BETWEEN_LOOKS)

    def resume(self) -> None:
        if self._clock is not None:
            self._began = self._clock()

    @property
    def is_short(self) -> bool:
        """Whether work was left out for want of time or steps."""
        return self.time_is_over or self.reserve_is_used

    def pause(self) -> None:
        """Leave the time out that others take until `resume`."""
        self.pauses += 1
        self.leave_out()

    def leave_out(self) -> None:
        """Stop the clock until `resume`."""
        if self._clock is not None:
            self.seconds -= self._clock() - self._began


class _Running(threading.local):
    budget: Budget | None = None
    units = MOST_UNITS


_RUNNING = _Running()


def spend(steps: int = 1) -> None:
    """Count steps of what this thread computes. Raises Exhausted if its budget has fewer left."""
    budget = _RUNNING.budget
    if budget is not None:  # `Budget.spend`, written out: it is asked most of all
        budget.steps_left -= steps
        if budget.steps_left <= budget.next_look:
            budget.look()


def begin_expression() -> None:
    """Give the next expression all that one may make."""
    _RUNNING.units = MOST_UNITS


def take(units: int) -> None:
    """Count what an expression is about to make. Raises Oversized where it is more than one may, Exhausted as `spend`.

    It is counted before it is made, whether or not a budget is under way: what is too large is never in memory.
    """
    left = _RUNNING.units - units
    if left < 0:
        raise Oversized(f"makes more than {MOST_UNITS:,} letters, a value counted as {UNITS_OF_VALUE}")
    _RUNNING.units = left
    if units >= _UNITS_A_STEP:
        spend(units // _UNITS_A_STEP)


def take_content(value: Json) -> None:
    """Count a value that is put into another one, as if it were written out there."""
    if type(value) is str:
        take(UNITS_OF_VALUE + len(value))
    elif type(value) in _SCALARS:
        take(UNITS_OF_VALUE)
    else:
        values, letters = content_size(value)
        take(UNITS_OF_VALUE * values + letters)


def walk(steps: int = 0) -> None:
    """Count some steps and a walk over the whole exchange. Raises Exhausted as `spend` does."""
    budget = _RUNNING.budget
    if budget is not None:
        budget.spend(steps + budget.size // _VALUES_A_STEP)


def add_values(values: int) -> None:
    """Add to the number of values that the exchange holds."""
    budget = _RUNNING.budget
    if budget is not None:
        budget.size += values


def use_reserve(steps: int) -> bool:
    """Add steps for finishing with what there is: once, and only while there is time."""
    budget = _RUNNING.budget
    return budget is not None and budget.use_reserve(steps)


def remaining() -> int:
    """Return how many steps are left; without a budget, more than anything needs."""
    budget = _RUNNING.budget
    return _UNCOUNTED if budget is None else budget.steps_left


@contextmanager
def uncounted() -> Iterator[None]:
    """Leave the time out of what a process reads once: the first refusal is not to pay for all others."""
    budget = _RUNNING.budget
    if budget is None:
        yield
        return
    budget.leave_out()
    try:
        yield
    finally:
        budget.resume()


def within(budget: Budget, work: Generator[Asked, Answer, Result]) -> Generator[Asked, Answer, Result]:
    """Run a generator on a budget. The time it waits for an answer does not count."""
    asking: Callable[[], Asked] = work.__next__
    while True:
        outer = _RUNNING.budget
        _RUNNING.budget = budget
        budget.resume()
        try:
            asked = asking()
        except StopIteration as done:
            result: Result = done.value
            return result
        finally:
            _RUNNING.budget = outer
        budget.pause()
        answer = yield asked
        asking = lambda value=answer: work.send(value)  # type: ignore[misc]  # noqa: E731


class ContentSize(NamedTuple):
    values: int
    letters: int
    """Of all texts, names of members included."""


def content_size(value: Json) -> ContentSize:
    """Return how much a document holds. What is shared counts each time."""
    if type(value) is str:
        return ContentSize(1, len(value))
    if type(value) in _SCALARS:
        return _ONE_VALUE
    values, letters = 1, 0
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, (str, bytes)):
            letters += len(here)
        elif isinstance(here, Mapping):
            values += len(here)
            letters += sum(len(name) for name in here if isinstance(name, str))
            waiting += here.values()
        elif isinstance(here, list):
            values += len(here)
            waiting += here
    return ContentSize(values, letters)


_SCALARS = frozenset({bool, int, float, type(None)})
_ONE_VALUE = ContentSize(1, 0)


def count_values(value: Json, most: int) -> int:
    """Return how many values a document holds, and no more than `most` where there are more."""
    count = 0
    waiting = [value]
    while waiting:
        here = waiting.pop()
        count += 1
        inner: Iterable[Json] = here.values() if isinstance(here, dict) else here if isinstance(here, list) else ()
        if not inner:
            continue
        count += len(here)
        if count >= most:
            return most
        for one in inner:
            if isinstance(one, (dict, list)):
                count -= 1
                waiting.append(one)
    return count
