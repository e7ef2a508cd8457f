"""Corrections take turns, by caller, beside traffic; and what is too much passes as it came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from corrigible.proxy.core.corrector import Outcome
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.runtime.dispatcher import LARGE, OF_ALL, OF_ONE, Dispatcher, Overloaded, Task
from corrigible.rules.lookup import Lookup, LookupAnswer

PATIENT = Limits(seconds=30, seconds_with_lookups=30)


def task(caller: str, here: Callable[..., Any], *arguments: Any, size: int = 1) -> Task[Any]:
    return Task("correct", here, lambda made: made, arguments, {}, size, caller)


class Clock:
    """Time passes only where a task computes."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def burns(self, seconds: float, said: list[str], name: str) -> Generator[Lookup, LookupAnswer, str]:
        self.now += seconds
        said.append(name)
        return name
        yield


def asks(name: str) -> Generator[Lookup, LookupAnswer, str]:
    answer = yield Lookup(name)
    return f"{name} {answer.status}"


def fails() -> Generator[Lookup, LookupAnswer, str]:
    yield Lookup("/x")
    raise KeyError("ours")


async def at_once(lookup: Lookup) -> LookupAnswer:
    return LookupAnswer(200)


async def ended(running: list[asyncio.Task[Any]]) -> list[str]:
    said = await asyncio.gather(*running, return_exceptions=True)
    return [str(one) for one in said]


def begun(dispatcher: Dispatcher, tasks: list[Task[Any]], fetch: Any = at_once, limits: Limits = PATIENT) -> Any:
    return [asyncio.create_task(dispatcher.run(one, fetch, limits)) for one in tasks]


@pytest.mark.parametrize(
    ("callers", "why"),
    [
        (["a"] * OF_ONE, "shed: too many refusals of this caller"),
        ([str(number) for number in range(OF_ALL)], "shed: too many refusals at once"),
    ],
)
def test_there_is_a_bound_for_each_caller_and_one_for_all(callers: list[str], why: str) -> None:
    async def main() -> None:
        dispatcher, answered = Dispatcher(), asyncio.Event()

        async def later(lookup: Lookup) -> LookupAnswer:
            await answered.wait()
            return LookupAnswer(200)

        running = begun(dispatcher, [task(caller, asks, "/x") for caller in callers], later)
        await asyncio.sleep(0)
        for _ in range(2):
            with pytest.raises(Overloaded) as shed:
                await dispatcher.run(task("a", asks, "/x"), later, PATIENT)
            assert str(shed.value) == why
        if len(callers) < OF_ALL:
            running += begun(dispatcher, [task("b", asks, "/x")], later)
        answered.set()
        assert set(await ended(running)) == {"/x 200"}
        assert await dispatcher.run(task("a", asks, "/x"), at_once, PATIENT) == "/x 200"
        assert list(dispatcher.summary()) == [f"2 refusals were passed on as they came: {why}"]

    asyncio.run(main())


def test_who_fails_or_goes_away_gives_the_place_back() -> None:
    async def main() -> None:
        dispatcher = Dispatcher()

        async def never(lookup: Lookup) -> LookupAnswer:
            await asyncio.Event().wait()
            return LookupAnswer(0)

        for _ in range(3):
            running = begun(dispatcher, [task("a", asks, "/x") for _ in range(OF_ONE)], never)
            await asyncio.sleep(0.01)
            for one in running:
                one.cancel()
            await ended(running)
            assert set(await ended(begun(dispatcher, [task("a", fails) for _ in range(OF_ONE)]))) == {"'ours'"}
        assert await dispatcher.run(task("a", asks, "/x"), at_once, PATIENT) == "/x 200"

    asyncio.run(main())


def test_callers_take_turns_and_the_loop_has_time_for_others() -> None:
    said: list[str] = []

    async def main() -> int:
        clock, rounds = Clock(), 0
        dispatcher = Dispatcher(clock=clock)
        running = begun(dispatcher, [task("a", clock.burns, 0.004, said, f"a{number}") for number in range(20)])
        await asyncio.sleep(0)
        running += begun(dispatcher, [task("b", clock.burns, 0.004, said, f"b{number}") for number in range(3)])
        while not all(one.done() for one in running):
            await asyncio.sleep(0)
            rounds += 1
        assert len(await ended(running)) == 23
        return rounds

    assert asyncio.run(main()) >= 8  # none holds the loop for more than 20 ms and one task
    assert [name for name in said if name[0] == "a"] == [f"a{number}" for number in range(20)]
    assert [name for name in said if name[0] == "b"] == ["b0", "b1", "b2"]
    assert said.index("b2") < said.index("a15")


def test_who_waits_too_long_for_a_turn_is_shed() -> None:
    async def main() -> list[str]:
        clock, limits = Clock(), Limits(seconds_with_lookups=0.6)  # what all of them take: half of it is to wait
        tasks = [task("a", clock.burns, 0.02, [], str(number)) for number in range(30)]
        return await ended(begun(Dispatcher(clock=clock), tasks, at_once, limits))

    said = asyncio.run(main())
    in_time = [str(number) for number in range(said.index("shed: waited too long for its turn"))]
    assert 15 <= len(in_time) <= 17
    assert said == [*in_time, *["shed: waited too long for its turn"] * (30 - len(in_time))]


def test_a_mistake_is_not_hidden() -> None:
    with pytest.raises(KeyError, match="ours"):
        asyncio.run(Dispatcher().run(task("a", fails), at_once, PATIENT))


def test_large_ones_are_left_alone_where_there_is_no_worker() -> None:
    async def main() -> None:
        assert await Dispatcher().run(task("a", asks, "/x", size=LARGE), at_once, PATIENT) == "/x 200"
        with pytest.raises(Overloaded, match=f"over {LARGE} bytes to read"):
            await Dispatcher().run(task("a", asks, "/x", size=LARGE + 1), at_once, PATIENT)
        everything = Dispatcher(largest_here=None)
        assert await everything.run(task("a", asks, "/x", size=1 << 30), at_once, PATIENT) == "/x 200"

    asyncio.run(main())


def test_the_time_of_a_correction_begins_with_its_first_step() -> None:
    def slow() -> Generator[Lookup, LookupAnswer, Outcome[str]]:
        time.sleep(0.02)
        return Outcome("corrected", "annotated", Mode.REFLECTIVE)
        yield

    outcome = asyncio.run(Dispatcher().run(task("a", slow), at_once, Limits(seconds_with_lookups=0.01)))
    assert outcome.rewrite is None
    assert "over the time limit of 0.01 s " in str(outcome.error)
