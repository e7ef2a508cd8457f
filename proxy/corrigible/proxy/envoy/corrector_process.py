"""A corrector as a process: what it serves, from its first to its last moment.

Knows: event loops, sockets, signals. Does not know: options, Envoy. It is run by `corrigible corrector`, and forked by
`corrigible proxy --engine envoy`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from corrigible.proxy.build import build_dispatcher
from corrigible.proxy.core.loop.detector import SharedLoops
from corrigible.proxy.http.api_routes import ApiRoute
from corrigible.proxy.http.lookup_client import LookupClient
from corrigible.proxy.runtime.dispatcher import LARGE, Dispatcher
from corrigible.proxy.runtime.fork_server import Served, keep_what_exists
from corrigible.proxy.tls_files import USUAL, Trust

from .http_server import Answering, Connection
from .http_service import HttpService
from .process import SuccessWatch
from .processing import HttpWants, Wants

UNIX: Final = "unix:"
_BACKLOG: Final = 1024
_LOOK: Final = 1.0
"""Seconds between two looks at what starts workers."""
_FACTOR: Final = 4
"""How much larger than a body a whole message may be: a request's body comes in base64, beside an answer's."""

Started = Callable[[asyncio.AbstractEventLoop, Dispatcher], None]


class Job(Protocol):
    """What a corrector serves."""

    loops: SharedLoops
    work: Served
    """What the workers of this process can do."""
    largest_here: int
    """Bytes up to which a refusal is read without a worker."""

    @property
    def body_limit(self) -> int:
        """Bytes of a body that is read."""

    @property
    def wants(self) -> Wants:
        """Which parts of an exchange are of use, for a gateway that tells them one by one."""

    def serving(self, dispatcher: Dispatcher, admin: Path | None) -> AbstractAsyncContextManager[Answering]:
        """Answer a gateway's questions until the context ends. `admin` is the socket of Envoy's admin interface."""


Listening = Callable[[Job, Answering, str], AbstractAsyncContextManager[object]]
"""Serves a job at an address until the context ends. Raises OSError."""


@dataclass(slots=True)
class HttpJob:
    """Refusals of an HTTP API."""

    api: ApiRoute
    loops: SharedLoops
    work: Served
    trust: Trust = field(default=USUAL)
    largest_here: int = LARGE

    @property
    def body_limit(self) -> int:
        return self.api.corrector.limits.body

    @property
    def wants(self) -> Wants:
        return HttpWants(self.api.corrector)

    @asynccontextmanager
    async def serving(self, dispatcher: Dispatcher, admin: Path | None) -> AsyncIterator[Answering]:
        lookups = LookupClient(self.trust)
        if self.api.corrector.limits.lookups and self.api.upstream is not None and self.api.upstream.scheme == "https":
            lookups.prepare()
        watch = SuccessWatch(admin) if admin is not None else None
        try:
            yield HttpService(
                self.api, lookups, dispatcher, watch_successes=watch.begin if watch is not None else None
            ).answer
        finally:
            lookups.close()
            if watch is not None:
                watch.close()


def run(
    job: Job,
    address: str,
    started: Started = lambda loop, dispatcher: None,
    *,
    admin: Path | None = None,
    listening: Listening | None = None,
) -> None:
    """Serve at `HOST:PORT` or `unix:PATH` until SIGTERM or SIGINT. Raises OSError if the address cannot be had.

    Call it while the process has one thread. `started` is called once it listens. `listening`: by another protocol.
    """
    keep_what_exists()
    with closing(build_dispatcher(job.work, job.loops, largest_here=job.largest_here)) as dispatcher:
        asyncio.run(_until_signalled(job, dispatcher, address, started, admin, listening or _by_http))


def _by_http(job: Job, answering: Answering, address: str) -> AbstractAsyncContextManager[object]:
    return _serving(answering, address, _FACTOR * job.body_limit)


@asynccontextmanager
async def _serving(answering: Answering, address: str, largest: int) -> AsyncIterator[None]:
    server = await listen(answering, address, largest)
    try:
        yield
    finally:
        server.close()


async def _until_signalled(
    job: Job, dispatcher: Dispatcher, address: str, started: Started, admin: Path | None, listening: Listening
) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:  # a forked one leaves them to its parent
            loop.add_signal_handler(number, stop.set)
    async with job.serving(dispatcher, admin) as answering, listening(job, answering, address):
        started(loop, dispatcher)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK)
            dispatcher.mend()


async def listen(answering: Answering, address: str, largest: int) -> asyncio.Server:
    """Listen. A Unix socket takes the place of the one before in a moment: whoever connects finds one of them."""
    loop = asyncio.get_running_loop()

    def connected() -> Connection:
        return Connection(answering, largest)

    if not address.startswith(UNIX):
        host, _, port = address.rpartition(":")
        return await loop.create_server(connected, host.strip("[]"), int(port), backlog=_BACKLOG)
    path = address.removeprefix(UNIX)
    new = f"{path}.{os.getpid()}"
    server = await loop.create_unix_server(connected, new, backlog=_BACKLOG)
    os.rename(new, path)
    return server
