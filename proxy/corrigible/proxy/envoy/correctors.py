"""The corrector processes of one proxy: started, watched, started again, replaced when packs change.

Knows: the fork server, Unix sockets. Does not know: Envoy, HTTP, what a corrector does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from corrigible.proxy.build import work_of
from corrigible.proxy.runtime.fork_server import LENGTH, RUN, ForkServer, Served, adopt_orphans, name_process

from .corrector_process import UNIX, Job
from .corrector_process import run as run_corrector
from .process import ADMIN

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


def addresses_in(folder: Path, count: int) -> list[str]:
    """Return where correctors listen."""
    return [f"{UNIX}{folder / f'corrector-{number}.sock'}" for number in range(count)]


class Correctors:
    """All correctors of a proxy. Each has a socket of its own, and whoever takes its place has the same."""

    def __init__(self, job: Job, folder: Path, addresses: Sequence[str], say: Callable[[str], None]) -> None:
        """Fork what they are forked from. Call it while the process has one thread."""

        def serve(address: str) -> None:
            name_process("corrector")
            run_corrector(job, address, admin=folder / ADMIN)

        # What forks a corrector forks its workers, too: these have large tasks, and a limit.
        served: Served = {**work_of(job.work, job.loops), "serve": serve}
        adopt_orphans()
        self._server = ForkServer(served, memory=None, nicer=_NICER)
        self._say = say
        self._replicas = [_Replica(self._server, address) for address in addresses]
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
            with contextlib.suppress(OSError):  # one that had not read its orders resets the connection
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


# Whether a corrector is stuck: it accepts what it is asked, and will never answer. A corrector that has to wait for a
# processor is not stuck: then it is ready to run, and uses little of one. What is stuck stands still, or computes on
# and on without a look at its sockets.

_QUESTION: Final = b"GET /healthz HTTP/1.1\r\nhost: corrigible\r\n\r\n"
_LOOKS: Final = 4
"""How often in a row one that stands still has to be found so: a moment in which all stand still is one look."""
_BUSY: Final = 1.5
"""Seconds that one may compute without a look at its sockets. A turn of corrections takes milliseconds."""
_PEER: Final = struct.Struct("iii")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class _State(NamedTuple):
    is_still: bool
    """It waits for something other than a processor or a disk, or was stopped."""
    spent: float
    """Seconds of a processor."""


class Pulse:
    """Looks at one corrector, again and again."""

    def __init__(self) -> None:
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._asked: asyncio.Task[bytes] | None = None
        self._pid = 0
        self._first: _State | None = None
        """When it was asked."""
        self._still = 0

    async def is_stuck(self, path: Path) -> bool:
        """Look at the corrector behind a socket. Call it a few times a second: it answers between two calls."""
        if self._asked is not None and not self._asked.done():
            return self._is_late()
        if self._asked is not None:
            if self._asked.cancelled() or self._asked.exception() is not None or not self._asked.result():
                self.forget()
            self._asked = None
        with contextlib.suppress(OSError):
            if self._streams is None:
                self._streams = await asyncio.open_unix_connection(str(path))
                self._pid = peer_of(self._streams[1].get_extra_info("socket"))
            self._streams[1].write(_QUESTION)
            self._asked = asyncio.create_task(_answered(self._streams[0]))
            self._first, self._still = _state_of(self._pid), 0
        return False

    def _is_late(self) -> bool:
        now = _state_of(self._pid)
        if now is None or self._first is None:  # it has ended
            return False
        spent = now.spent - self._first.spent
        self._still = self._still + 1 if now.is_still and not spent else 0
        return self._still >= _LOOKS or spent >= _BUSY

    def forget(self) -> None:
        """Begin anew: another corrector is there, or none."""
        if self._asked is not None:
            self._asked.cancel()
        if self._streams is not None:
            self._streams[1].transport.abort()
        self._streams = self._asked = None


async def _answered(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(len(b"ok\n"))
    return b""


def peer_of(connection: socket.socket) -> int:
    """Return the process that listens at the other end of a connection."""
    pid: int
    pid, _, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return pid


def _state_of(pid: int) -> _State | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return _State(fields[0] in "STt", (int(fields[11]) + int(fields[12])) / _TICKS)
