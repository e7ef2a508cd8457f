"""Accepts connections, and pauses when no file descriptor is left for another one.

Knows: sockets, asyncio's loop. Does not know: who connects, or why.

asyncio's own server then retries once for every connection in the backlog and logs each failure, without a turn of
the event loop for the tasks that could free a descriptor.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable

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
