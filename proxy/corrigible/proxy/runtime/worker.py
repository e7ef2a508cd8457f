"""Workers as an event loop sees them: tasks that others must not wait for are done elsewhere, and given up in time.

Knows: asyncio, the fork server. Does not know: what the tasks are.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from .fork_server import ANSWER, ASK, DONE, FAILED, LENGTH, NOTE, RUN, ForkServer

MEMORY: Final = 512 << 20
"""Bytes that a worker may take beyond what it starts with."""
_LARGEST: Final = 8 << 20
"""Bytes of one message of a worker: what is more is no correction."""
_COUNT: Final = 2
_LEARNING: Final = 60.0
"""Seconds in which the server has to learn what it is told."""
_MOMENT: Final = 2.0

Answering = Callable[[Any], Awaitable[Any]]


class WorkerLost(Exception):
    """A task came to nothing. The message says why."""


class WorkerLate(WorkerLost):
    """It took longer than it may, and was ended."""


class Overloaded(Exception):
    """There is no time for a task. The message says why."""


class _Worker:
    """One process that does one task after the other; another one where it had to be ended."""

    def __init__(self, server: ForkServer, most: int) -> None:
        self._server = server
        self._most = most
        self._number = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._free = asyncio.Lock()

    async def run(
        self, message: tuple[Any, ...], answering: Answering, seconds: float, wait: float, begin: Callable[[], None]
    ) -> Any:
        try:
            await asyncio.wait_for(self._free.acquire(), wait)
        except TimeoutError:
            raise Overloaded("shed: waited too long for a worker") from None
        begin()
        try:
            return await self._run(message, answering, seconds)
        except TimeoutError:
            self.end()
            raise WorkerLate(f"took over {seconds * 1000:.0f} ms, and the worker was ended") from None
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as problem:
            self.end()
            raise WorkerLost(f"the worker broke off ({type(problem).__name__})") from None
        except asyncio.CancelledError:
            self.end()  # it is in the middle of something that nobody waits for
            raise
        finally:
            self._free.release()

    async def _run(self, message: tuple[Any, ...], answering: Answering, seconds: float) -> Any:
        while True:
            started = time.monotonic()
            async with asyncio.timeout(max(0.0, seconds)):
                reader, writer = await self._connected()
                data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
                writer.write(LENGTH.pack(len(data)))
                writer.write(data)
                await writer.drain()
                (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                if size > _LARGEST:
                    raise ValueError(f"a message of {size} bytes")
                result = pickle.loads(await reader.readexactly(size))
            seconds -= time.monotonic() - started
            match result:
                case (str(kind), question) if kind == ASK:
                    message = (ANSWER, await answering(question))
                case (str(kind), value, int(peak)) if kind == DONE:
                    if peak > self._most:
                        self.end()  # what it took it would keep
                    return value
                case (str(kind), why) if kind == FAILED:
                    raise WorkerLost(why)
                case _:
                    raise ValueError("not a reply")

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and self._streams[0].at_eof():
            self.end()  # it died of itself, between two tasks
        if self._streams is None:
            self._number, connection = self._server.spawn()
            self._streams = await asyncio.open_unix_connection(sock=connection, limit=1 << 20)
        return self._streams

    def notify(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Tell it something, if it is there. No reply is waited for."""
        if self._streams is not None:
            data = pickle.dumps((NOTE, name, arguments), pickle.HIGHEST_PROTOCOL)
            self._streams[1].write(LENGTH.pack(len(data)) + data)

    async def renew(self, state: str, restore: str | None) -> None:
        """Replace it by a new one that knows what the server has learned; with `restore`, and what this one did."""
        if self._streams is None:
            return
        number, connection = self._server.spawn()
        streams = await asyncio.open_unix_connection(sock=connection, limit=1 << 20)
        try:
            await _asked(streams, (RUN, state, (), {}), _LEARNING)  # it is there once the server has learned
            async with self._free:
                if self._streams is not None and restore is not None:
                    remembered = await _asked(self._streams, (RUN, state, (), {}), _MOMENT)
                    await _asked(streams, (RUN, restore, (remembered,), {}), _MOMENT)
        except BaseException:
            with contextlib.suppress(OSError, RuntimeError):
                streams[1].transport.abort()
            self._server.kill(number)
            self.end()  # the next one knows it
            raise
        self.end()
        self._number, self._streams = number, streams

    def end(self) -> None:
        if self._streams is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._streams[1].transport.abort()
            self._streams = None
            self._server.kill(self._number)


async def _asked(
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], message: tuple[Any, ...], seconds: float
) -> Any:
    """Return what a function of a worker returns. Raises OSError, EOFError, TimeoutError and WorkerLost."""
    reader, writer = streams
    async with asyncio.timeout(seconds):
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        writer.write(LENGTH.pack(len(data)) + data)
        await writer.drain()
        (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        match pickle.loads(await reader.readexactly(size)):
            case (str(kind), value, int()) if kind == DONE:
                return value
            case other:
                raise WorkerLost(f"the worker said {str(other)[:80]}")


class Workers:
    """All workers. A caller always has the same one: it keeps no other busy, and is remembered there."""

    def __init__(self, server: ForkServer, *, most: int = MEMORY // 2) -> None:
        """A worker that took more than `most` bytes for a task is replaced after it."""
        self._server = server
        self._workers = [_Worker(server, most) for _ in range(_COUNT)]

    async def run(
        self,
        task: tuple[str, tuple[Any, ...], Mapping[str, Any]],
        answering: Answering,
        *,
        seconds: float,
        wait: float,
        caller: str = "",
        begin: Callable[[], None] = lambda: None,
    ) -> Any:
        """Run a task, a function with its arguments: `seconds` limits its time, `wait` the time until it begins.

        `begin` is called when it begins. Raises WorkerLost without a result, Overloaded if it waited too long.
        """
        self.mend()
        return await self._of(caller).run((RUN, *task), answering, seconds, wait, begin)

    def notify(self, name: str, arguments: tuple[Any, ...], *, caller: str) -> None:
        """Tell the worker of a caller something that it may want to know."""
        self._of(caller).notify(name, arguments)

    def learn(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Have all workers know something from now on: those that do not are replaced."""
        self._server.learn(name, arguments)
        self.end()

    async def reload(self, name: str, state: str, restore: str | None) -> None:
        """Have all workers learn something: `state` of each goes to `restore` of the next, or is forgotten."""
        self._server.learn(name, ())
        for worker in self._workers:
            with contextlib.suppress(OSError, EOFError, TimeoutError, WorkerLost):
                await worker.renew(state, restore)

    def _of(self, caller: str) -> _Worker:
        return self._workers[zlib.crc32(caller.encode()) % len(self._workers)]

    def mend(self) -> None:
        """See to it that workers can be started, whatever has ended meanwhile."""
        self._server.mend()

    def can_start(self) -> bool:
        """Whether workers can be started."""
        self.mend()
        return self._server.is_running()

    def end(self) -> None:
        """End all workers there are; others follow when they are needed."""
        for worker in self._workers:
            worker.end()

    def close(self) -> None:
        """End all, and the server."""
        self.end()
        self._server.close()
