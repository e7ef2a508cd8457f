"""How many steps of a budget some work counts: what grows with what was sent has to count them."""

from __future__ import annotations

from collections.abc import Callable, Generator

from corrigible.rules.budget import Budget, within

_PLENTY = 10**9


def steps_of(work: Callable[[], object], size: int = 0) -> int:
    """Return the steps that a call counts; `size` is how many values the exchange holds."""
    budget = Budget(_PLENTY)
    budget.size = size

    def run() -> Generator[None, None, None]:
        work()
        yield from ()

    for _ in within(budget, run()):
        pass
    return budget.steps - budget.left
