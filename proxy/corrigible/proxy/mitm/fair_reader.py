"""Reading from many connections in turns, so that busy ones do not delay the others.

Knows: asyncio. Does not know: what is read.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from mitmproxy.connection import Connection

READ_SIZE = 1 << 16
TURN_SECONDS = 0.002
"""A connection whose last read took longer to process reads less next time."""
_QUEUE_SECONDS = 0.0005
"""A connection whose last read took longer to process waits for its turn among the busy ones."""
_ROUNDS = 4
"""Rounds of the event loop between two turns, so that an exchange on another connection can finish."""
_FIRST_READ, _SMALLEST_READ = 1 << 14, 1 << 8


class ReadQueue:
    """Lets one busy connection read at a time, so that the others wait for one read at most."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def turn(self) -> None:
        """Wait for the turn. What is read next is processed before the next turn."""
        async with self._lock:
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)


class Owner(Protocol):
    """The client connection that reads."""

    gates: dict[Connection, asyncio.Event]
    last_duration: float
    queue: ReadQueue


class FairReader:
    """Reads as much at a time as is processed quickly, and gives other connections a turn in between.

    Many small frames cost most: 64 KB of HTTP/2 frames with one byte each are 6,000 frames.
    """

    def __init__(self, reader: asyncio.StreamReader, owner: Owner, connection: Connection) -> None:
        self._reader = reader
        self._owner = owner
        self._connection = connection
        self._size = _FIRST_READ
        self._has_more = False

    async def read(self, limit: int) -> bytes:
        """Wait for the turn, then read."""
        if self._connection in self._owner.gates:
            await self._owner.gates[self._connection].wait()
        if self._owner.last_duration > TURN_SECONDS:
            self._size = max(self._size // 2, _SMALLEST_READ)
        elif self._size < READ_SIZE:
            self._size *= 2
        if self._owner.last_duration > _QUEUE_SECONDS:
            await self._owner.queue.turn()
        elif self._has_more:
            await asyncio.sleep(0)
        data = await self._reader.read(min(limit, self._size))
        self._has_more = len(data) == self._size
        return data
