"""Connections of callers: accept them, know which are open, make room, and end them in order.

Knows: sockets, which conversation is idle. Does not know: what is spoken on them.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import socket
import time

from mitmproxy import options, platform
from mitmproxy.proxy import mode_specs

from .acceptor import Door
from .connection import Answerer, ClientConnection, Queue
from .file_descriptors import scarce

logger = logging.getLogger(__name__)

FIRST_HEAD_SECONDS = 60.0
"""So long a new connection may take to ask for something: TLS and the head of its first request."""

CONNECTIONS = 1 << 14
"""So many are kept open, as far as they are idle. Each takes some 60 KB, and two descriptors with its upstream."""

_SAID_EVERY = 10.0
"""Seconds between two complaints of the same kind."""


class Listener:
    """Accepts connections, and knows which are open."""

    def __init__(self, mode: str, settings: options.Options, answer: Answerer) -> None:
        self._mode = mode_specs.ProxyMode.parse(mode)
        self._settings = settings
        self._answer = answer
        self._open: set[ClientConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._door = Door(self._accepted, self._full)
        self._queue = Queue()
        self._draining = False
        self._leaving: set[ClientConnection] = set()
        """Those that had to make room, and are still open."""
        self._scarce = scarce()
        self._said = -_SAID_EVERY
        self._dismissed = 0

    async def listen(self, host: str, port: int) -> list[tuple[str, int]]:
        """Start to accept; return the addresses. Raises OSError where one is taken."""
        return await self._door.open(host, port)

    async def drain(self, seconds: float) -> bool:
        """Accept no more, let exchanges under way finish, close. False where some had to be cut off."""
        self._door.close()
        self._draining = True
        for conversation in tuple(self._open):
            conversation.end()
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        # Not one wait: a connection accepted just before may show up only now.
        while self._tasks and loop.time() < end:
            await asyncio.wait(self._tasks, timeout=end - loop.time(), return_when=asyncio.FIRST_COMPLETED)
        finished = not self._tasks
        for conversation in tuple(self._open):
            conversation.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)
        return finished

    def _accepted(self, connected: socket.socket) -> None:
        task = asyncio.create_task(self._serve(connected))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        excess = max(len(self._tasks) - CONNECTIONS, connected.fileno() - self._scarce)
        if excess > len(self._leaving):
            self._make_room(excess - len(self._leaving))

    async def _serve(self, connected: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=connected)
        except OSError:  # it is gone already
            connected.close()
            return
        if self._draining:
            writer.close()
            return
        conversation = ClientConnection(
            reader,
            writer,
            self._settings,
            self._mode,
            self._answer,
            fell_idle=self._after_exchange,
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
            conversation.client.sockname = conversation.context.server.address = destination
        self._open.add(conversation)
        silence = asyncio.get_running_loop().call_later(FIRST_HEAD_SECONDS, conversation.dismiss_if_silent)
        try:
            await conversation.handle_client()
            writer.close()  # mitmproxy leaves it open where its handler was cancelled before it first ran
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        finally:
            silence.cancel()
            self._open.discard(conversation)
            self._leaving.discard(conversation)

    def _full(self) -> None:
        self._make_room(8)
        if self._open and not self._leaving:
            self._say("no connection is idle")

    def _make_room(self, number: int) -> None:
        """Close the connections that are idle for longest: descriptors run short, or there are very many."""
        idle = (one for one in self._open if one.is_idle and one not in self._leaving)
        for conversation in heapq.nsmallest(number, idle, key=lambda one: one.timeout_watchdog.last_activity):
            self._leaving.add(conversation)
            conversation.dismiss()
            self._dismissed += 1
        if self._dismissed:
            self._say(f"{self._dismissed} idle connections closed")

    def _say(self, what: str) -> None:
        now = time.monotonic()
        if now - self._said >= _SAID_EVERY:
            logger.error("room for connections is short (%d are open): %s", len(self._open), what)
            self._said, self._dismissed = now, 0

    def _after_exchange(self, conversation: ClientConnection) -> None:
        if self._draining:  # soon, not now: the answer's last bytes are written when this hook returns
            asyncio.get_running_loop().call_soon(conversation.end_if_idle)
