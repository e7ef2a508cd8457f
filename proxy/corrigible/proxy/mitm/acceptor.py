"""Accepts connections, and stays calm where there is no descriptor for one more.

Knows: sockets, asyncio's loop. Does not know: who connects, or why.

asyncio tries as often as the backlog is long, says so each time, and leaves no turn in between to those who could
give a descriptor back.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable

BACKLOG = 1024
_AT_ONCE = 64
_PAUSE = 0.1
"""Seconds before it is tried again."""
_FULL = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Door:
    """What is listened on. `accepted` gets each connection, `full` hears where there was none left to give."""

    def __init__(self, accepted: Callable[[socket.socket], None], full: Callable[[], None]) -> None:
        self._accepted = accepted
        self._full = full
        self._sockets: list[socket.socket] = []

    async def open(self, host: str, port: int) -> list[tuple[str, int]]:
        """Start to accept; return the addresses. Raises OSError where one is taken."""
        bound = await asyncio.start_server(lambda reader, writer: None, host, port, start_serving=False)
        self._sockets = [one.dup() for one in bound.sockets]
        bound.close()
        for listening in self._sockets:
            listening.setblocking(False)
            listening.listen(BACKLOG)
            self._listen(listening)
        return [one.getsockname()[:2] for one in self._sockets]

    def close(self) -> None:
        """Accept no more."""
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._sockets = []

    def _listen(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._ready, listening)

    def _ready(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                if problem.errno not in _FULL:
                    raise
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                loop.call_later(_PAUSE, self._listen, listening)
                self._full()
                return
            self._accepted(connection)
