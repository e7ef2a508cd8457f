"""The clients' connections: accepts them, closes idle ones when resources run short, and drains them at the end.

Knows: sockets, which connection is idle. Does not know: the protocol on them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import heapq
import ipaddress
import logging
import socket
import time
from collections.abc import Callable, Iterable

from mitmproxy import options, platform
from mitmproxy.proxy import mode_specs

from corrigible.proxy.runtime.fork_server import CONNECTIONS, scarcity_threshold

from .connection import ClientConnection, HookRunner, ReadQueue
from .messages import timeouts_of

logger = logging.getLogger(__name__)

_NEVER = 1e9
_WARNING_INTERVAL = 10.0
"""Seconds between two warnings of the same kind."""


class Listener:
    """Accepts connections, and keeps track of the open ones."""

    def __init__(self, mode: str, settings: options.Options, run_hook: HookRunner) -> None:
        self._mode = mode_specs.ProxyMode.parse(mode)
        self._settings = settings
        self._run_hook = run_hook
        self._open: set[ClientConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor = Acceptor(self._on_accept, self._on_exhausted)
        self._queue = ReadQueue()
        self._draining = False
        self._closing: set[ClientConnection] = set()
        """Those that are being closed to make room."""
        self._scarce = scarcity_threshold()
        self._warned_at = -_WARNING_INTERVAL
        self._closed = 0

    async def listen(self, host: str, port: int) -> list[tuple[str, int]]:
        """Start to accept; return the addresses. Raises OSError if one is in use."""
        return await self._acceptor.open(host, port)

    async def drain(self, seconds: float, cutting: Callable[[], None] = lambda: None) -> bool:
        """Stop accepting, let active exchanges finish, close. Return False if some were cut off, after `cutting`."""
        self._acceptor.close()
        self._draining = True
        for connection in tuple(self._open):
            connection.shut_down()
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        # In a loop: a connection accepted just before may appear only now.
        while self._tasks and loop.time() < end:
            await asyncio.wait(self._tasks, timeout=end - loop.time(), return_when=asyncio.FIRST_COMPLETED)
        finished = not self._tasks
        if not finished:
            cutting()
        for connection in tuple(self._open):
            connection.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)
        return finished

    def _on_accept(self, connected: socket.socket) -> None:
        task = asyncio.create_task(self._serve(connected))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        excess = max(len(self._tasks) - CONNECTIONS, connected.fileno() - self._scarce)
        if excess > len(self._closing):
            self._make_room(excess - len(self._closing))

    async def _serve(self, connected: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=connected)
        except OSError:  # the client has gone already
            connected.close()
            return
        if self._draining:
            writer.close()
            return
        connection = ClientConnection(
            reader,
            writer,
            self._settings,
            self._mode,
            self._run_hook,
            on_idle=self._after_exchange,
            queue=self._queue,
        )
        if isinstance(self._mode, mode_specs.TransparentMode):
            try:
                assert platform.original_addr is not None
                destination = platform.original_addr(writer.get_extra_info("socket"))
            except Exception as problem:
                logger.error("no original destination: %s", problem)
                writer.close()
                return
            connection.client.sockname = connection.context.server.address = destination
        self._open.add(connection)
        # For TLS and the head of the first request.
        first_request_timer = asyncio.get_running_loop().call_later(
            timeouts_of(self._settings).head or _NEVER, connection.close_if_no_request
        )
        try:
            await connection.handle_client()
            writer.close()  # mitmproxy leaves it open if its handler was cancelled before it ran
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        finally:
            first_request_timer.cancel()
            self._open.discard(connection)
            self._closing.discard(connection)

    def _on_exhausted(self) -> None:
        self._make_room(8)
        if self._open and not self._closing:
            self._warn("no connection is idle")

    def _make_room(self, number: int) -> None:
        """Close the connections that have been idle for longest."""
        idle = (each for each in self._open if each.is_idle and each not in self._closing)
        for connection in heapq.nsmallest(number, idle, key=lambda each: each.timeout_watchdog.last_activity):
            self._closing.add(connection)
            connection.close()
            self._closed += 1
        if self._closed:
            self._warn(f"{self._closed} idle connections closed")

    def _warn(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._warned_at >= _WARNING_INTERVAL:
            logger.error(
                "connections or file descriptors run short (%d connections are open): %s", len(self._open), reason
            )
            self._warned_at, self._closed = now, 0

    def _after_exchange(self, connection: ClientConnection) -> None:
        if self._draining:  # not now: the response's last bytes are written when this hook returns
            asyncio.get_running_loop().call_soon(connection.close_if_idle)


# Accepts connections, and pauses when no file descriptor is left for another one. asyncio's own server then retries
# once for every connection in the backlog and logs each failure, without a turn of the event loop for the tasks that
# could free a descriptor.

BACKLOG = 1024
_BATCH = 64
_PAUSE = 0.1
"""Seconds before the next attempt."""
_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Acceptor:
    """Listening sockets. `accepted` is called with each connection, `exhausted` when no descriptor is left."""

    def __init__(self, accepted: Callable[[socket.socket], None], exhausted: Callable[[], None]) -> None:
        self._accepted = accepted
        self._exhausted = exhausted
        self._sockets: list[socket.socket] = []

    async def open(self, host: str, port: int) -> list[tuple[str, int]]:
        """Start to accept; return the addresses. Raises OSError if one is in use."""
        bound = await asyncio.start_server(lambda reader, writer: None, host, port, start_serving=False)
        self._sockets = [listening.dup() for listening in bound.sockets]
        bound.close()
        for listening in self._sockets:
            listening.setblocking(False)
            listening.listen(BACKLOG)
            self._listen(listening)
        return [listening.getsockname()[:2] for listening in self._sockets]

    def close(self) -> None:
        """Stop accepting."""
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._sockets = []

    def _listen(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._ready, listening)

    def _ready(self, listening: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                connection, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                if problem.errno not in _EXHAUSTED:
                    raise
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                loop.call_later(_PAUSE, self._listen, listening)
                self._exhausted()
                return
            self._accepted(connection)


# Whether a connection leads back to this proxy.

Address = tuple[str, int]


def is_own(peer: Address, listening: Iterable[Address]) -> bool:
    """Whether this peer is one of the addresses that the proxy listens on."""
    return any(port == peer[1] and _covers(host, peer[0]) for host, port in listening)


def _covers(own: str, address: str) -> bool:
    own_ip, other_ip = _parse_address(own), _parse_address(address)
    return own_ip == other_ip or (own_ip.is_unspecified and _is_local(other_ip))


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _is_local(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether the address belongs to this machine: only those can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
