"""Whether a corrector is stuck: it accepts what it is asked, and will never answer.

Knows: a corrector's socket, /proc. Does not know: who ends it, what it is asked otherwise.

A corrector that has to wait for a processor is not stuck: then it is ready to run, and uses little of one. What is
stuck stands still, or computes on and on without a look at its sockets.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from pathlib import Path
from typing import Final, NamedTuple

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
