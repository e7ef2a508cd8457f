"""Connections that end with the check that opened them, and one that sends exactly the given bytes.

Knows: sockets. Does not know: HTTP; `http1` does.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, TypeVar

from corrigible.conformance.model.background import go_on, hold

Socket = TypeVar("Socket", bound=socket.socket)


class Address(Protocol):
    """Where somebody listens."""

    host: str
    port: int


def connected(address: tuple[str, int], timeout: float) -> socket.socket:
    """Connect. Raises OSError where nobody takes the connection."""
    go_on()
    return kept(socket.create_connection(address, timeout))


def kept(connection: Socket) -> Socket:
    """Return a connection that ends with the check that opened it."""
    try:
        return hold(connection, _shut)
    except BaseException:  # raised again: nobody else has it yet
        connection.close()
        raise


def _shut(connection: socket.socket) -> None:
    """End a connection under the hands of whoever reads it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class RawConnection:
    """One connection. What goes wrong on it is an end of what was received, never raised."""

    def __init__(self, wire: Address, *, timeout: float = 5.0) -> None:
        self._timeout = timeout
        self.received = b""
        self.open = True
        """Whether the other side may still say something."""
        self._socket: socket.socket | None = None
        try:
            self._socket = connected((wire.host, wire.port), timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            self.open = False

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            self._socket.close()

    def say(self, data: bytes) -> None:
        go_on()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.sendall(data)

    def until(self, enough: Callable[[bytes], bool], *, timeout: float | None = None) -> bool:
        """Read until there is enough. False where the connection ended, or timeout did, before that."""
        end = time.monotonic() + (self._timeout if timeout is None else timeout)
        while not enough(self.received):
            left = end - time.monotonic()
            if not self.open or self._socket is None or left <= 0:
                return False
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return False
            except OSError:
                data = b""
            go_on()
            self.open = bool(data)
            self.received += data
        return True

    def has(self, text: bytes, *, timeout: float | None = None) -> bool:
        """Read until a text is there."""
        return self.until(lambda received: text in received, timeout=timeout)

    def rest(self) -> bytes:
        """Read to the end of the connection, or of timeout."""
        self.until(lambda received: False)
        return self.received


def head(method: str, target: str, *headers: tuple[str, str]) -> bytes:
    """Return the head of a request as it goes over the wire."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
