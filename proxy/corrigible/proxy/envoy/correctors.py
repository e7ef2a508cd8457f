"""The corrector processes of one proxy: started, watched, started again, replaced when packs change.

Knows: the fork server, Unix sockets. Does not know: Envoy, HTTP, what a corrector does.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from corrigible.proxy.runtime.fork_server import LENGTH, RUN, ForkServer, Served
from corrigible.proxy.runtime.own_process import adopt_orphans, name_process

from .corrector_process import UNIX, Job
from .corrector_process import run as run_corrector
from .process import ADMIN
from .pulse import Pulse

_READY_SECONDS: Final = 60.0
_PAUSE: Final = 0.01
_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 1.0
"""Seconds before a corrector that ended soon is started again."""
_SOON: Final = 1.0
_NICER: Final = 10
"""Traffic comes before corrections: where both want one processor, Envoy has nine tenths of it."""
_LAST_ANSWERS: Final = 2.0
"""Seconds in which a corrector that was replaced may answer what it was asked."""
_TRIES: Final = 3
"""How often the first start of a corrector is tried: whatever ended it may have been no fault of its own."""
_LOOK: Final = 0.25
"""Seconds between two looks at what may have ended, or be stuck."""


class Correctors:
    """All correctors of a proxy. Each has a socket of its own, and whoever takes its place has the same."""

    def __init__(self, job: Job, folder: Path, count: int, say: Callable[[str], None]) -> None:
        """Fork what they are forked from. Call it while the process has one thread."""

        def serve(address: str) -> None:
            name_process("corrector")
            run_corrector(job, address, admin=folder / ADMIN)

        served: Served = {"serve": serve, "reload": job.work["reload"]}
        adopt_orphans()
        # Large tasks are for workers of a corrector, which have a limit.
        self._server = ForkServer(served, memory=None, nicer=_NICER)
        self._say = say
        self.addresses = [f"{UNIX}{folder / f'corrector-{number}.sock'}" for number in range(count)]
        self._replicas = [_Replica(self._server, address) for address in self.addresses]
        self._watching: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start all, and return once they listen. Raises OSError if one does not."""
        await asyncio.gather(*map(self._begin, self._replicas))
        self._watching = [asyncio.create_task(self._watch(replica)) for replica in self._replicas]
        self._watching.append(asyncio.create_task(self._look()))

    @staticmethod
    async def _begin(replica: _Replica) -> None:
        for tried in range(1, _TRIES + 1):
            try:
                return await replica.start()
            except OSError:
                if tried == _TRIES:
                    raise

    async def _look(self) -> None:
        """Have what is stuck ended, and another one there for what forks when that ends."""
        while True:
            await asyncio.sleep(_LOOK)
            self._server.mend()
            for replica in self._replicas:
                if await replica.is_stuck():
                    self._say("a corrector stands still, and is ended")
                    replica.end()

    async def _watch(self, replica: _Replica) -> None:
        loop, wait = asyncio.get_running_loop(), _FIRST_WAIT
        while True:
            began = loop.time()
            await replica.ended()
            self._say("a corrector ended, and is started again: until then errors pass as they came")
            wait = min(_LONGEST_WAIT, 2 * wait) if loop.time() - began < _SOON else _FIRST_WAIT
            try:
                await replica.start()
            except OSError:
                if not self._server.is_running():
                    self._say("the processes that start correctors are gone: errors pass as they came")
                    return
            await asyncio.sleep(wait)

    async def reload(self, name: str, *, forget: bool) -> None:
        """Have correctors load anew what this process has loaded anew; without `forget` nothing has changed."""
        if not forget:
            return
        self._server.learn(name, ())
        for replica in self._replicas:
            with contextlib.suppress(OSError):
                await replica.replace()

    def unready(self) -> Iterator[str]:
        """Yield why not all correctors answer: nothing where they do."""
        missing = sum(not replica.is_ready for replica in self._replicas)
        if missing:
            yield f"{missing} of {len(self._replicas)} correctors are not ready: their errors pass as they came"

    def close(self) -> None:
        """End all."""
        for task in self._watching:
            task.cancel()
        self._server.close()


class _Replica:
    """One corrector, and who takes its place."""

    def __init__(self, server: ForkServer, address: str) -> None:
        self._server, self._address = server, address
        self._number = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._pulse = Pulse()
        self.is_ready = False
        """Whether one serves now."""

    async def is_stuck(self) -> bool:
        """Whether the one that serves now will never answer."""
        return await self._pulse.is_stuck(self._path)

    def end(self) -> None:
        """End the one that serves now, whatever it is doing."""
        self._server.kill(self._number)

    @property
    def _path(self) -> Path:
        return Path(self._address.removeprefix(UNIX))

    async def start(self) -> None:
        """Start it, and return once it listens."""
        path = self._path
        self._pulse.forget()
        before = path.stat().st_ino if path.exists() else None
        self._number, connection = self._server.spawn()
        self._streams = streams = await asyncio.open_unix_connection(sock=connection)
        data = pickle.dumps((RUN, "serve", (self._address,), {}), pickle.HIGHEST_PROTOCOL)
        streams[1].write(LENGTH.pack(len(data)) + data)
        loop = asyncio.get_running_loop()
        end = loop.time() + _READY_SECONDS
        while not (path.exists() and path.stat().st_ino != before and _accepts(path)):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(streams[0].read(1), _PAUSE)  # it says nothing unless it has ended
                raise OSError("a corrector did not start")
            if loop.time() > end:
                raise OSError("a corrector did not start in time")
        self.is_ready = True

    async def replace(self) -> None:
        """Have another one take its place, and end it when it has answered what it was asked."""
        number, streams = self._number, self._streams
        await self.start()
        await asyncio.sleep(_LAST_ANSWERS)
        self._server.kill(number)
        if streams is not None:
            streams[1].transport.abort()

    async def ended(self) -> None:
        """Return when the one that serves now has ended."""
        while (streams := self._streams) is not None:
            number = self._number
            await streams[0].read(1)  # it says nothing unless it has ended
            if streams is self._streams:
                self.is_ready = False
                streams[1].transport.abort()
                self._server.kill(number)
                return


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True
