"""How much work something is, whatever else the machine does: steps of a budget, and calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Generator
from cProfile import Profile
from typing import Any, TypeVar

from corrigible.rules.budget import Budget, within

T = TypeVar("T")
_PLENTY = 10**9


def counted(compute: Callable[[], T], size: int = 0) -> tuple[T, int]:
    """Return what is computed, and the steps that it counts; `size` is how many values the exchange holds."""
    budget = Budget(_PLENTY)
    budget.size = size

    def run() -> Generator[None, None, T]:
        yield from ()
        return compute()

    try:
        next(within(budget, run()))
    except StopIteration as stop:
        result: T = stop.value
        return result, budget.steps - budget.steps_left
    raise AssertionError("nothing is looked up")


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many functions are called, those of C among them."""
    profile = Profile()
    profile.runcall(work)
    return sum(one.callcount for one in profile.getstats())
