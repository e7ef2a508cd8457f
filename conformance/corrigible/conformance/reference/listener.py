"""A TCP server on 127.0.0.1 with a thread for each connection; all connections end with it.

Knows: sockets. Does not know: protocols.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from corrigible.conformance.model.background import hold

_TIMEOUT: Final = 30.0


class Listener:
    """A context manager. A subclass serves each connection in `_serve`."""

    def __init__(self, name: str, *, port: int = 0, timeout: float = _TIMEOUT) -> None:
        """A connection on which nothing comes for `timeout` seconds is given up."""
        self._timeout = timeout
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._refusing = False
        self._thread = threading.Thread(target=self._accept, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return hold(self, Listener.close)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._thread.join(5)

    def close(self) -> None:
        """Take no more connections, and end those that there are."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end_connections()

    def refuse(self, refusing: bool) -> None:
        """End every connection, and each new one at once; or stop doing so."""
        with self._lock:
            self._refusing = refusing
        if refusing:
            self._end_connections()

    def _end_connections(self) -> None:
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                connection.close()
            else:
                threading.Thread(target=self._connected, args=(connection,), daemon=True).start()

    def _connected(self, connection: socket.socket) -> None:
        connection.settimeout(self._timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError), self._secured(connection) as secured:
            with self._lock:
                # A connection that was in its handshake when refusing began was not among those that were ended.
                if self._refusing:
                    return
                self._open.add(secured)
            try:
                self._serve(secured)
            finally:
                with self._lock:
                    self._open.discard(secured)

    def _secured(self, connection: socket.socket) -> socket.socket:
        """Return the connection after its handshake, where there is one."""
        return connection

    def _serve(self, connection: socket.socket) -> None:
        raise NotImplementedError
