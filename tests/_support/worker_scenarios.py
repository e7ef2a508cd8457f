"""What `test_worker` runs in a process of its own: no other test's threads are forked there.

`python -m tests._support.worker_scenarios` prints a JSON object: for each scenario what it failed of, or null.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.corrector import Outcome
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.runtime.dispatcher import Dispatcher, Task
from corrigible.proxy.runtime.fork_server import ForkServer
from corrigible.proxy.runtime.worker import Overloaded, WorkerLost, Workers
from corrigible.rules.lookup import Lookup, LookupAnswer

MEBIBYTE = 1 << 20


def asks(names: list[str], *, loud: bool = False) -> Generator[str, str, list[str]]:
    answers = []
    for name in names:
        answers.append((yield name))
    return [answer.upper() for answer in answers] if loud else answers


def corrects(*, id: str) -> Generator[Lookup, LookupAnswer, Outcome[str]]:
    yield Lookup("/a")
    yield Lookup("/b")
    return Outcome("corrected", id, Mode.REFLECTIVE)


def hangs() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(60)


def grows() -> int:
    return len(b"x" * (2048 * MEBIBYTE))


def remembers() -> None:
    messages: list[str] = []
    SERVED["hear"] = messages.append
    SERVED["heard"] = lambda: messages
    SERVED["uncount_refusal"] = messages.append


def orders() -> tuple[int, int]:
    """Be a worker that has one of its own: what that one is, and by how much this one comes before it."""
    server = ForkServer.above(memory=512 * MEBIBYTE, nicer=3)
    assert server is not None and server.is_running()

    async def main() -> tuple[int, int]:
        workers = Workers(server)
        with pytest.raises(WorkerLost, match="MemoryError"):
            await run(workers, "grows")
        return await run(workers, "pid"), await run(workers, "nice") - os.nice(0)

    return asyncio.run(main())


SERVED: dict[str, Any] = {
    "asks": asks,
    "corrects": corrects,
    "hangs": hangs,
    "aborts": os.abort,
    "leaves": lambda: os._exit(0),
    "grows": grows,
    "takes": lambda size: len(b"x" * size),
    "talks": lambda size: b"x" * size,
    "raises": lambda: 1 / 0,
    "lambda": lambda: lambda: 0,
    "pid": os.getpid,
    "nice": lambda: os.nice(0),
    "orders": orders,
}


async def shout(question: str) -> str:
    return f"{question}!"


async def run(
    workers: Workers, name: str, *arguments: Any, seconds: float = 20, wait: float = 20, **options: Any
) -> Any:
    return await workers.run((name, arguments, options), shout, seconds=seconds, wait=wait, caller="c")


def questions_are_answered_and_the_value_comes_back(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        assert await run(workers, "asks", ["a", "b"]) == ["a!", "b!"]
        assert await run(workers, "asks", ["a"], loud=True) == ["A!"]
        assert await run(workers, "talks", 3 * MEBIBYTE) == b"x" * 3 * MEBIBYTE
        first = await run(workers, "pid")
        assert await run(workers, "pid") == first != os.getpid()
        workers.end()

    asyncio.run(main())


FAILING: list[tuple[tuple[Any, ...], str]] = [
    (("hangs",), "took over 200 ms, and the worker was ended"),
    (("aborts",), "the worker broke off (IncompleteReadError)"),
    (("leaves",), "the worker broke off (IncompleteReadError)"),
    (("grows",), "MemoryError: "),
    (("talks", 9 * MEBIBYTE), "the worker broke off (ValueError)"),
    (("raises",), "ZeroDivisionError: division by zero"),
    (("lambda",), "AttributeError: Can't "),
]


def what_goes_wrong_is_said_and_the_next_task_is_done(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        for task, reason in FAILING:
            with pytest.raises(WorkerLost) as raised:
                await run(workers, *task, seconds=0.2 if task == ("hangs",) else 20)
            assert str(raised.value).startswith(reason), (task, str(raised.value))
            assert await run(workers, "asks", ["a"]) == ["a!"], task
        workers.end()

    asyncio.run(main())


def a_worker_that_grew_is_replaced(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server, most=20 * MEBIBYTE)
        first = await run(workers, "pid")
        assert await run(workers, "takes", MEBIBYTE) == MEBIBYTE
        assert await run(workers, "pid") == first
        assert await run(workers, "takes", 30 * MEBIBYTE) == 30 * MEBIBYTE
        assert await run(workers, "pid") != first
        workers.end()

    asyncio.run(main())


def a_caller_who_goes_away_takes_the_task_along(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        first = await run(workers, "pid")
        task = asyncio.create_task(run(workers, "hangs"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await run(workers, "pid") != first
        workers.end()

    asyncio.run(main())


def who_waits_too_long_for_a_worker_is_shed_and_other_callers_have_another_one(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        task = asyncio.create_task(run(workers, "hangs"))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="waited too long"):
            await run(workers, "pid", wait=0.05)
        others = [workers.run(("pid", (), {}), shout, seconds=20, wait=2, caller=f"c{n}") for n in range(9)]
        results = await asyncio.gather(*others, return_exceptions=True)
        assert len({result for result in results if isinstance(result, int)}) == 1
        task.cancel()
        workers.end()

    asyncio.run(main())


def notes_are_heard_in_between(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        workers.notify("hear", ("nobody is there",), caller="c")

        async def noting(question: str) -> str:
            workers.notify("hear", (question,), caller="c")
            return question

        await workers.run(("asks", (["one"],), {}), noting, seconds=20, wait=20, caller="c")
        workers.notify("hear", ("two",), caller="c")
        workers.notify("raises", (), caller="c")
        assert await run(workers, "heard") == ["one", "two"]
        workers.end()

    asyncio.run(main())


def a_correction_that_took_too_long_in_all_is_withheld_and_the_worker_hears_of_it(server: ForkServer) -> None:
    async def main() -> None:
        workers, now = Workers(server), 0.0

        async def slowly(lookup: Lookup) -> LookupAnswer:
            nonlocal now
            now += 30.0  # by the dispatcher's clock: no machine is so slow
            return LookupAnswer(200)

        def here() -> Any:
            raise AssertionError("it is too large to be corrected here")

        task = Task("corrects", here, lambda outcome: outcome, (), {"id": "e1"}, 100, "c")
        dispatcher = Dispatcher(workers, largest_here=10, clock=lambda: now)
        outcome = await dispatcher.run(task, slowly, Limits(seconds=20, seconds_with_lookups=20))
        assert outcome.rewrite is None
        assert "over the time limit of 20 s (--time-limit): took 30000 ms" in str(outcome.error)
        assert await run(workers, "heard") == ["e1"]
        outcome = await dispatcher.run(task, slowly, Limits(seconds=20, seconds_with_lookups=100))
        assert outcome.rewrite == "corrected"
        workers.end()

    asyncio.run(main())


def what_takes_long_on_the_loop_goes_to_workers_until_it_is_forgotten(server: ForkServer) -> None:
    async def main() -> None:
        workers, now, busy, here = Workers(server), 0.0, 0.0, []

        async def at_once(lookup: Lookup) -> LookupAnswer:
            return LookupAnswer(200)

        def slow(*, id: str) -> Generator[Lookup, LookupAnswer, Outcome[str]]:
            nonlocal busy
            here.append(id)
            busy += 0.02
            return Outcome("corrected here", id, Mode.REFLECTIVE)
            yield

        def refusal(number: int, kind: str, caller: str = "c") -> Task[Outcome[str]]:
            return Task("corrects", slow, lambda outcome: outcome, (), {"id": f"{number}"}, 1, caller, kind)

        dispatcher = Dispatcher(workers, clock=lambda: now, busy=lambda: busy)
        patient = Limits(seconds=20, seconds_with_lookups=40)
        # They come at once: who waits for a turn on the loop when the first one was slow goes elsewhere, too.
        same = [dispatcher.run(refusal(number, "a", f"c{number}"), at_once, patient) for number in range(8)]
        made = [str(outcome.rewrite) for outcome in await asyncio.gather(*same)]
        assert sorted(made) == ["corrected"] * 7 + ["corrected here"]
        assert len(here) == 1
        await dispatcher.run(refusal(8, "b"), at_once, patient)
        assert here[1:] == ["8"]
        now += 60.0
        for number in (9, 10):
            await dispatcher.run(refusal(number, "a"), at_once, patient)
        assert here[2:] == ["9"]
        nothing = Dispatcher(None, clock=lambda: now, busy=lambda: busy)
        for number in (11, 12):
            await nothing.run(refusal(number, "a"), at_once, patient)
        assert here[3:] == ["11", "12"]
        workers.end()

    asyncio.run(main())


def what_is_learnt_later_is_known_to_all(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        assert await run(workers, "heard") == []
        workers.learn("hear", ("x" * MEBIBYTE,))
        assert await run(workers, "heard") == ["x" * MEBIBYTE]
        await run(workers, "heard")
        workers.end()
        assert await run(workers, "heard") == ["x" * MEBIBYTE]
        workers.end()

    asyncio.run(main())


def another_server_takes_the_place_of_one_that_ended_and_knows_what_it_knew(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        workers.learn("hear", ("x",))
        for _ in range(3):  # the second and the third time it is one that another one forked
            worker: int = await run(workers, "pid")
            forked_by = parent_of(worker)
            os.kill(forked_by, signal.SIGKILL)
            with contextlib.suppress(OSError):  # it ends with what forked it
                while ") Z " not in Path(f"/proc/{worker}/stat").read_text():
                    await asyncio.sleep(0.01)
            with contextlib.suppress(WorkerLost):
                await run(workers, "pid")
            assert await run(workers, "pid") != worker
            assert await run(workers, "heard") == ["x"]
        assert server.is_running()
        workers.end()

    asyncio.run(main())


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def what_a_worker_orders_is_of_the_same_server_and_ends_with_it(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        own, nicer = await run(workers, "orders")
        assert nicer == 3 and parent_of(own) == parent_of(await run(workers, "pid")) == server.pid
        workers.end()
        while Path(f"/proc/{own}").exists():
            await asyncio.sleep(0.01)
        assert await run(workers, "pid") != own  # the server still serves others
        workers.end()

    assert ForkServer.above(memory=None) is None
    asyncio.run(main())


def nobody_is_left_behind(server: ForkServer) -> None:
    async def main() -> int:
        workers = Workers(server)
        pid: int = await run(workers, "pid")
        busy = asyncio.create_task(run(workers, "hangs"))
        await asyncio.sleep(0.05)
        workers.close()
        with pytest.raises(WorkerLost):
            await busy
        return pid

    for pid in (asyncio.run(main()), server.pid):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


ON_LINUX = (
    another_server_takes_the_place_of_one_that_ended_and_knows_what_it_knew,
    what_a_worker_orders_is_of_the_same_server_and_ends_with_it,
)
SCENARIOS = (
    questions_are_answered_and_the_value_comes_back,
    what_goes_wrong_is_said_and_the_next_task_is_done,
    a_worker_that_grew_is_replaced,
    a_caller_who_goes_away_takes_the_task_along,
    who_waits_too_long_for_a_worker_is_shed_and_other_callers_have_another_one,
    notes_are_heard_in_between,
    a_correction_that_took_too_long_in_all_is_withheld_and_the_worker_hears_of_it,
    what_takes_long_on_the_loop_goes_to_workers_until_it_is_forgotten,
    what_is_learnt_later_is_known_to_all,
    *(ON_LINUX if sys.platform == "linux" else []),
    nobody_is_left_behind,
)


def main() -> None:
    remembers()
    results: dict[str, str | None] = {}
    for scenario in SCENARIOS:
        server = ForkServer(SERVED, memory=512 * MEBIBYTE)
        try:
            results[scenario.__name__] = scenario(server)
        except (Exception, pytest.fail.Exception):  # whatever failed is what the test shows
            results[scenario.__name__] = traceback.format_exc()
        finally:
            server.close()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
