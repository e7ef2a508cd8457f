"""Reading from a socket until something has come."""

from __future__ import annotations

import socket


def received(wire: socket.socket, size: int = 65536) -> bytes:
    """Return what comes next. A loop that reads on after the end would take a core for good: so the end is an error."""
    data = wire.recv(size)
    if not data:
        raise ConnectionAbortedError("the connection ended")
    return data
