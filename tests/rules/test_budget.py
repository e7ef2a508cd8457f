"""Steps are counted inside the loops, and what is over them ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from typing import Any

import pytest

from corrigible.rules.budget import (
    Budget,
    Exhausted,
    content_size,
    count_values,
    remaining,
    spend,
    uncounted,
    use_reserve,
    within,
)
from corrigible.schema.exchange import Json


def counted(steps: int) -> Generator[str, int, int]:
    spend(steps)
    asked = yield "how many more?"
    spend(asked)
    return remaining()


def test_a_budget_holds_from_one_question_to_the_next() -> None:
    budget = Budget(100)
    work = within(budget, counted(30))
    assert next(work) == "how many more?"
    spend(10_000)  # what others compute meanwhile is not its own
    with pytest.raises(StopIteration) as done:
        work.send(20)
    assert (done.value.value, budget.steps_left) == (50, 50)
    assert remaining() > 10_000


@pytest.mark.parametrize(("first", "second"), [(101, 0), (60, 60)])
def test_more_than_there_is_ends_it(first: int, second: int) -> None:
    work = within(Budget(100), counted(first))
    with pytest.raises(Exhausted, match="more than 100 steps"):
        next(work)
        work.send(second)
    spend(10_000)  # and nobody else


def test_budgets_within_budgets_are_told_apart() -> None:
    inner = Budget(10)

    def outer() -> Generator[str, int, int]:
        spend(5)
        with pytest.raises(Exhausted):
            yield from within(inner, counted(11))
        spend(5)
        return remaining()
        yield ""

    with pytest.raises(StopIteration) as done:
        next(within(Budget(100), outer()))
    assert done.value.value == 90


def test_a_clock_is_looked_at_within() -> None:
    seconds = iter([0.0, 0.1, 0.3, 0.3])
    budget = Budget(10_000, 0.2, lambda: next(seconds))

    def work() -> Generator[None, None, None]:
        spend(600)
        spend(600)
        yield

    with pytest.raises(Exhausted, match="more time"):
        next(within(budget, work()))
    assert budget.time_is_over


def test_what_is_said_already_may_be_put_together_once() -> None:
    def work() -> Generator[None, None, list[object]]:
        with pytest.raises(Exhausted):
            spend(11)
        said: list[object] = [use_reserve(5), use_reserve(5), remaining()]
        with pytest.raises(Exhausted):
            spend(6)
        return said
        yield

    with pytest.raises(StopIteration) as done:
        next(within(Budget(10), work()))
    assert done.value.value == [True, False, 5]


@pytest.mark.parametrize(
    ("value", "values", "letters"),
    [(None, 1, 0), ("abc", 1, 3), ([1, 2, "x"], 4, 1), ({"ab": [1], "c": {}}, 4, 3)],
)
def test_what_a_document_holds(value: Json, values: int, letters: int) -> None:
    assert content_size(value) == (values, letters)
    assert count_values(value, 100) == values
    assert count_values([value] * 50, 10) == 10


def test_what_stands_there_twice_counts_twice() -> None:
    value: Any = "x" * 10
    for _ in range(3):
        value = [value, value]
    assert content_size(value).letters == 80


def test_each_value_of_an_exchange_allows_steps() -> None:
    budget = Budget(10)
    budget.allow(5, 3)
    budget.spend(25)
    with pytest.raises(Exhausted, match="more than 25 steps"):
        budget.spend(1)


@pytest.mark.parametrize(("seconds", "is_late"), [(2.0, False), (2.5, True)])
def test_what_takes_longer_than_there_is_time_ends(seconds: float, is_late: bool) -> None:
    times = iter([10.0, 10.0 + seconds])
    budget = Budget(1000, 2.0, lambda: next(times))
    budget.resume()
    with pytest.raises(Exhausted, match="more time") if is_late else nullcontext():
        budget.spend(500)


def test_what_a_process_reads_once_takes_no_time_of_the_first() -> None:
    now = 0.0

    def reading() -> Generator[str, int, int]:
        nonlocal now
        with uncounted():
            now = 60.0
        yield "still in time?"
        now = 63.0
        spend(600)
        return 0

    work = within(Budget(1000, 2.0, lambda: now), reading())
    assert next(work) == "still in time?"
    with pytest.raises(Exhausted, match="more time"):
        work.send(0)
