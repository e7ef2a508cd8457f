"""How many steps of a budget some work counts: what grows with what was sent has to count them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

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
