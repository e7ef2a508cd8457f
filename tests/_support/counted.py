"""The steps that a computation takes: what a test says of its cost instead of a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

from corrigible.rules.budget import Budget, within

T = TypeVar("T")


def counted(compute: Callable[[], T], size: int = 0) -> tuple[T, int]:
    """Return what is computed, and how many steps of a budget it took; the exchange holds `size` values."""
    budget = Budget(10_000_000)
    budget.size = size

    def computing() -> Generator[None, None, T]:
        yield from ()
        return compute()

    try:
        next(within(budget, computing()))
    except StopIteration as done:
        result: T = done.value
        return result, budget.steps - budget.left
    raise AssertionError("nothing is looked up")


def steps_of(compute: Callable[[], object], size: int = 0) -> int:
    """Return the steps that a computation takes."""
    return counted(compute, size)[1]
