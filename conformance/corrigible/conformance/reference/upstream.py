"""An HTTP/1.1 upstream that sends exactly the bytes of a script, and records what it receives.

Knows: sockets, framing of requests (h11). Does not know: what any answer means, checks, feedback.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

import h11

from corrigible.conformance.model.background import hold
from corrigible.conformance.transport.http1 import CASE, HttpRequest
from corrigible.schema.exchange import Json

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

    def __exit__(self, *_: object) -> None:
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


_LARGEST: Final = 1 << 20
"""No head of a request is longer."""
_KEPT: Final = 1 << 16
"""Bytes of a connection that are kept as they came."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is sent before somebody has seen what was sent so far, or a time is over."""

    seen: threading.Event
    at_most: float


@dataclass(frozen=True, slots=True)
class Hear:
    """Nothing is sent before so many bytes more have come in."""

    size: int


@dataclass(frozen=True, slots=True)
class Echo:
    """From here on everything that comes in is sent back, to the end of the connection."""


Part = bytes | Pause | Wait | Hear | Echo


@dataclass(frozen=True, slots=True)
class Script:
    """The bytes of one answer, framing and all."""

    parts: tuple[Part, ...]
    close: bool = False
    """Close the connection after it."""
    early: bool = False
    """Say it once the request's head is in, without its body; then close."""


def answer(
    status: int,
    body: bytes | Json = b"",
    headers: Iterable[tuple[str, str]] = (),
    *,
    reason: str = "",
    close: bool = False,
) -> Script:
    """Return a well-formed answer. JSON is encoded compactly; a length is added unless the headers frame it."""
    lines = list(headers)
    present = {name.lower() for name, _ in lines}
    if not isinstance(body, bytes):
        body = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        if "content-type" not in present:
            lines.append(("Content-Type", "application/json"))
    if not present & {"content-length", "transfer-encoding"} and status >= 200 and status not in (204, 304):
        lines.append(("Content-Length", str(len(body))))
    head = f"HTTP/1.1 {status} {reason}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines)
    return Script((head.encode("latin-1") + b"\r\n" + body,), close)


def chunked(
    status: int,
    pieces: Iterable[Part],
    headers: Iterable[tuple[str, str]] = (),
    *,
    trailers: Iterable[tuple[str, str]] = (),
    reason: str = "",
) -> Script:
    """Return an answer in chunks: one for each piece of bytes, with pauses between them where they stand."""
    lines = [*headers, ("Transfer-Encoding", "chunked")]
    head = f"HTTP/1.1 {status} {reason}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines)
    end = "0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in trailers) + "\r\n"
    framed = (b"%x\r\n%s\r\n" % (len(piece), piece) if isinstance(piece, bytes) else piece for piece in pieces)
    return Script((head.encode("latin-1") + b"\r\n", *framed, end.encode("latin-1")))


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in."""

    sent: HttpRequest
    raw: bytes
    at: float
    """Unix seconds."""
    trailers: tuple[tuple[str, str], ...] = ()


Answering = Callable[[Received], Script]

_NOT_FOUND: Final = answer(404, b"", ())


class Upstream(Listener):
    """Answers by script, and what has none by `api`. A context manager; 127.0.0.1 only."""

    def __init__(self, api: Answering | None = None, *, port: int = 0, remembers: bool = True) -> None:
        """Who serves for hours and is never asked what came in need not remember it."""
        super().__init__("conformance-upstream", port=port)
        self._remembers = remembers
        self.api: Answering = api or (lambda received: _NOT_FOUND)
        self._scripts: dict[str, tuple[Script | Answering, str | None]] = {}
        self._asides: dict[str, Script | Answering] = {}
        self._requests: list[Received] = []
        self._by_case: dict[str, list[Received]] = {}
        self._heard: deque[bytearray] = deque(maxlen=256)
        self.url = f"http://127.0.0.1:{self.port}"

    def script(self, case: str, script: Script | Answering, *, target: str | None = None) -> None:
        """Answer every request that names this case so; with a target, only those to it."""
        self._scripts[case] = (script, target)

    def script_others(self, authorization: str, script: Script | Answering) -> None:
        """Answer so whatever else is asked in a caller's name: the look-ups of a proxy, say."""
        self._asides[authorization] = script

    @property
    def requests(self) -> list[Received]:
        """Everything that came in so far, look-ups too."""
        with self._lock:
            return list(self._requests)

    def received(self, case: str) -> list[Received]:
        """Return what came in under a case."""
        with self._lock:
            return list(self._by_case.get(case, ()))

    @property
    def heard(self) -> list[bytes]:
        """Return what the last connections began with, also where it was no request."""
        with self._lock:
            return [bytes(data) for data in self._heard]

    def _serve(self, connection: socket.socket) -> None:
        rest = b""
        data = bytearray()
        with self._lock:
            self._heard.append(data)
        with suppress(h11.RemoteProtocolError):
            while True:
                received, rest = _read(connection, rest, self._is_early, data)
                if received is None:
                    return
                if self._remembers:
                    with self._lock:
                        self._requests.append(received)
                        self._by_case.setdefault(received.sent.header(CASE) or "", []).append(received)
                if not self._say(connection, received):
                    return

    def _known(self, request: HttpRequest) -> Script | Answering:
        script, target = self._scripts.get(request.header(CASE) or "", (None, None))
        if script is not None and target in (None, request.target):
            return script
        return self._asides.get(request.header("authorization") or "", self.api)

    def _is_early(self, request: HttpRequest) -> bool:
        scripted = self._known(request)
        return isinstance(scripted, Script) and scripted.early

    def _say(self, connection: socket.socket, received: Received) -> bool:
        scripted = self._known(received.sent)
        script = scripted if isinstance(scripted, Script) else scripted(received)
        for part in script.parts:
            match part:
                case Pause():
                    time.sleep(part.seconds)
                case Wait():
                    part.seen.wait(part.at_most)
                case Hear():
                    heard_bytes = 0
                    while heard_bytes < part.size and (data := connection.recv(65536)):
                        heard_bytes += len(data)
                case Echo():
                    while data := connection.recv(65536):
                        connection.sendall(data)
                    return False
                case _:
                    connection.sendall(part)
        return not (script.close or script.early)


def _read(
    connection: socket.socket, rest: bytes, early: Callable[[HttpRequest], bool], heard: bytearray
) -> tuple[Received | None, bytes]:
    """Read one request; None where the connection ended instead. Returns what came after it too."""
    server = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST)
    raw = bytearray(rest)
    if rest:
        server.receive_data(rest)
    head: HttpRequest | None = None
    body = bytearray()
    while True:
        event = server.next_event()
        if event is h11.NEED_DATA:
            if server.they_are_waiting_for_100_continue:
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                server.send(h11.InformationalResponse(status_code=100, headers=[]))
            data = connection.recv(65536)
            if not data:
                return None, b""
            raw += data
            heard += data[: _KEPT - len(heard)]
            server.receive_data(data)
            continue
        match event:
            case h11.Request():
                head = HttpRequest(event.method.decode(), event.target.decode("latin-1"), _raw_headers(event))
                if early(head):
                    return Received(head, bytes(raw), time.time()), b""
            case h11.Data():
                body += event.data
            case h11.EndOfMessage() if head is not None:
                after = bytes(server.trailing_data[0])
                whole = bytes(raw[: len(raw) - len(after)]) if after else bytes(raw)
                request = HttpRequest(head.method, head.target, head.headers, bytes(body))
                return Received(request, whole, time.time(), _raw_headers(event)), after
            case _:
                return None, b""


def _raw_headers(event: h11.Request | h11.EndOfMessage) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items())
