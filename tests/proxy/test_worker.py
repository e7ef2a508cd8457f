"""Tasks in processes that hang, crash, grow and talk nonsense: each costs itself, and the next one is done."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.forkserver import ForkServer
from corrigible.proxy.worker import Lost, Shed, Workers

MEBIBYTE = 1 << 20


def asks(names: list[str], *, loud: bool = False) -> Generator[str, str, list[str]]:
    said = []
    for name in names:
        said.append((yield name))
    return [one.upper() for one in said] if loud else said


def hangs() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(60)


def grows() -> int:
    return len(b"x" * (2048 * MEBIBYTE))


def remembers() -> None:
    heard: list[str] = []
    SERVED["hear"] = heard.append
    SERVED["heard"] = lambda: heard


SERVED: dict[str, Any] = {
    "asks": asks,
    "hangs": hangs,
    "aborts": os.abort,
    "leaves": lambda: os._exit(0),
    "grows": grows,
    "takes": lambda size: len(b"x" * size),
    "talks": lambda size: b"x" * size,
    "raises": lambda: 1 / 0,
    "lambda": lambda: lambda: 0,
    "pid": os.getpid,
}


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    remembers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the test runner has threads
        server = ForkServer(SERVED, memory=512 * MEBIBYTE)
    yield server
    server.close()


async def shout(question: str) -> str:
    return f"{question}!"


async def run(workers: Workers, name: str, *arguments: Any, seconds: float = 20, wait: float = 20, **named: Any) -> Any:
    return await workers.run((name, arguments, named), shout, seconds=seconds, wait=wait, caller="c")


def test_questions_are_answered_and_the_value_comes_back(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        assert await run(workers, "asks", ["a", "b"]) == ["a!", "b!"]
        assert await run(workers, "asks", ["a"], loud=True) == ["A!"]
        assert await run(workers, "talks", 3 * MEBIBYTE) == b"x" * 3 * MEBIBYTE
        first = await run(workers, "pid")
        assert await run(workers, "pid") == first != os.getpid()
        workers.end()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (("hangs",), "took over 200 ms, and the worker was ended"),
        (("aborts",), "the worker broke off (IncompleteReadError)"),
        (("leaves",), "the worker broke off (IncompleteReadError)"),
        (("grows",), "MemoryError: "),
        (("talks", 9 * MEBIBYTE), "the worker broke off (ValueError)"),
        (("raises",), "ZeroDivisionError: division by zero"),
        (("lambda",), "AttributeError: Can't "),
    ],
)
def test_what_goes_wrong_is_said_and_the_next_task_is_done(server: ForkServer, task: tuple[Any, ...], why: str) -> None:
    async def main() -> None:
        workers = Workers(server)
        with pytest.raises(Lost) as lost:
            await run(workers, *task, seconds=0.2 if task == ("hangs",) else 20)
        assert str(lost.value).startswith(why)
        assert await run(workers, "asks", ["a"]) == ["a!"]
        workers.end()

    asyncio.run(main())


def test_a_worker_that_grew_is_replaced(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server, most=20 * MEBIBYTE)
        first = await run(workers, "pid")
        assert await run(workers, "takes", MEBIBYTE) == MEBIBYTE
        assert await run(workers, "pid") == first
        assert await run(workers, "takes", 30 * MEBIBYTE) == 30 * MEBIBYTE
        assert await run(workers, "pid") != first
        workers.end()

    asyncio.run(main())


def test_a_caller_who_goes_away_takes_the_task_along(server: ForkServer) -> None:
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


def test_who_waits_too_long_for_a_worker_is_shed_and_other_callers_have_another_one(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        task = asyncio.create_task(run(workers, "hangs"))
        await asyncio.sleep(0)
        with pytest.raises(Shed, match="waited too long"):
            await run(workers, "pid", wait=0.05)
        others = [workers.run(("pid", (), {}), shout, seconds=20, wait=0.05, caller=f"c{n}") for n in range(9)]
        said = await asyncio.gather(*others, return_exceptions=True)
        assert len({one for one in said if isinstance(one, int)}) == 1
        task.cancel()
        workers.end()

    asyncio.run(main())


def test_notes_are_heard_in_between(server: ForkServer) -> None:
    async def main() -> None:
        workers = Workers(server)
        workers.note("hear", ("nobody is there",), caller="c")

        async def noting(question: str) -> str:
            workers.note("hear", (question,), caller="c")
            return question

        await workers.run(("asks", (["one"],), {}), noting, seconds=20, wait=20, caller="c")
        workers.note("hear", ("two",), caller="c")
        workers.note("raises", (), caller="c")
        assert await run(workers, "heard") == ["one", "two"]
        workers.end()

    asyncio.run(main())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")
def test_nobody_is_left_behind() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        server = ForkServer(SERVED, memory=512 * MEBIBYTE)

    async def main() -> int:
        workers = Workers(server)
        pid: int = await run(workers, "pid")
        busy = asyncio.create_task(run(workers, "hangs"))
        await asyncio.sleep(0.05)
        workers.close()
        with pytest.raises(Lost):
            await busy
        return pid

    pid = asyncio.run(main())
    for gone in (pid, server.pid):
        assert not Path(f"/proc/{gone}").exists()
