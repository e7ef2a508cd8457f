"""HTTP/2 frame by frame: callers that send what no library would, and upstreams that keep what reaches them."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hpack import Decoder, Encoder

from corrigible.adapters.sandbox.certificate import Files, make_certificate
from corrigible.proxy.tls_files import Identity, Trust
from tests._support.wire import received

PATIENCE = 60.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS = 4

AT_ONCE = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
"""Else a second small message waits until the first is acknowledged, 40 ms."""

Block = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Frame:
    type: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> int:
        """The error code of RST_STREAM and GOAWAY."""
        return int.from_bytes(self.payload[4:8] if self.type == GOAWAY else self.payload[:4], "big")


def frame(type: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((type, flags)) + struct.pack(">I", stream) + payload


class Peer:
    """One end of an HTTP/2 connection."""

    def __init__(self, wire: ssl.SSLSocket) -> None:
        self.wire = wire
        self.encoder, self.decoder = Encoder(), Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.frames: list[Frame] = []
        """All but DATA."""
        self.bodies: defaultdict[int, list[bytes]] = defaultdict(list)
        self._received = b""

    def send(self, *frames: bytes) -> None:
        self.wire.sendall(b"".join(frames))

    def block(self, fields: Block) -> bytes:
        encoded: bytes = self.encoder.encode(list(fields))
        return encoded

    def headers(self, stream: int, fields: Block, *, end: bool = True) -> None:
        """Send a header block, whatever is in it."""
        flags = END_HEADERS | (END_STREAM if end else 0)
        self.send(frame(HEADERS, flags, stream, self.block(fields)))

    def data(self, stream: int, data: bytes, *, end: bool = True) -> None:
        self.send(frame(DATA, END_STREAM if end else 0, stream, data))

    def next(self) -> Frame | None:
        """Return the next frame; None at the end of the connection."""
        while len(self._received) < 9 or len(self._received) < 9 + int.from_bytes(self._received[:3], "big"):
            try:
                data = self.wire.recv(1 << 16)
            except (ConnectionError, ssl.SSLError):
                data = b""
            if not data:
                return None
            self._received += data
        length = int.from_bytes(self._received[:3], "big")
        type, flags = self._received[3], self._received[4]
        stream = int.from_bytes(self._received[5:9], "big")
        frame = Frame(type, flags, stream, self._received[9 : 9 + length])
        self._received = self._received[9 + length :]
        if frame.type == DATA:
            self.bodies[frame.stream].append(frame.payload)
        else:
            self.frames.append(frame)
        return frame

    def until(self, enough: Callable[[Frame], bool]) -> Frame:
        """Read frames until one is the one wanted; fails where the connection ends before."""
        while True:
            frame = self.next()
            assert frame is not None, f"the connection ended after {self.frames[-3:]}"
            if enough(frame):
                return frame

    def rest(self) -> list[Frame]:
        """Read to the end of the connection."""
        while self.next() is not None:
            pass
        return self.frames

    def fields(self, frame: Frame) -> list[tuple[bytes, bytes]]:
        return [(bytes(name), bytes(value)) for name, value in self.decoder.decode(frame.payload, raw=True)]


class Caller(Peer):
    """A client of the proxy."""

    def __init__(self, wire: ssl.SSLSocket, settings: bytes = b"") -> None:
        super().__init__(wire)
        self.send(PREFACE, frame(SETTINGS, payload=settings))
        self._streams = iter(range(1, 1 << 31, 2))

    def stream(self) -> int:
        """Return the next stream."""
        return next(self._streams)

    def head(self, path: bytes = b"/", method: bytes = b"GET", *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        start = [(b":method", method), (b":scheme", b"https"), (b":authority", b"api.test"), (b":path", path)]
        return [*start, *more]

    def answer(self, stream: int) -> tuple[bytes, bytes] | int:
        """Return status and body of an answer, or the code that its stream was reset with."""
        status, body = b"", bytearray()
        while True:
            frame = self.next()
            assert frame is not None, "the connection ended"
            assert frame.type != GOAWAY, f"GOAWAY {frame.code} {frame.payload[8:]!r}"
            if frame.type == HEADERS:
                fields = dict(self.fields(frame))
                if frame.stream == stream:
                    status = fields.get(b":status", status)
            if frame.stream != stream:
                continue
            if frame.type == RST_STREAM:
                return frame.code
            if frame.type == DATA:
                body += frame.payload
            if frame.type in (HEADERS, DATA) and frame.flags & END_STREAM:
                return status, bytes(body)

    def ask(self, path: bytes = b"/") -> tuple[bytes, bytes] | int:
        stream = self.stream()
        self.headers(stream, self.head(path))
        return self.answer(stream)

    def close(self) -> None:
        with suppress(OSError):
            self.wire.shutdown(socket.SHUT_RDWR)
        self.wire.close()


@dataclass
class Upstream:
    """A server with TLS. What it does with a connection is told by `handle`; `seen` is what came."""

    files: Files
    handle: Callable[[Upstream, ssl.SSLSocket], None]
    protocol: str | None = "h2"
    refusing: bool = False
    """Connections are closed before the handshake."""
    port: int = 0
    connections: int = 0
    seen: list[Any] = field(default_factory=list)

    def _one(self, plain: socket.socket) -> None:
        with suppress(OSError, ValueError):
            if self.refusing:
                plain.close()
                return
            self.connections += 1
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.files.certificate, self.files.key)
            if self.protocol is not None:
                context.set_alpn_protocols([self.protocol])
            plain.setsockopt(*AT_ONCE)
            with context.wrap_socket(plain, server_side=True) as wire:
                self.handle(self, wire)

    @contextmanager
    def serving(self) -> Iterator[Upstream]:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        opened: list[socket.socket] = []
        threads: list[threading.Thread] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    plain, _ = listener.accept()
                    opened.append(plain)
                    threads.append(threading.Thread(target=self._one, args=(plain,), daemon=True))
                    threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield self
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            acceptor.join(PATIENCE)


def http1(upstream: Upstream, wire: ssl.SSLSocket) -> None:
    """Answer each HTTP/1.1 request, and keep the bytes."""
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = wire.recv(1 << 16)
            if not more:
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        lower = head.lower()
        body = b""
        if b"transfer-encoding: chunked" in lower:
            while not data.endswith(b"0\r\n\r\n"):
                if not (more := wire.recv(1 << 16)):
                    return
                data += more
            body, data = data, b""
        elif b"content-length: " in lower:
            length = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            while len(data) < length:
                if not (more := wire.recv(1 << 16)):
                    return
                data += more
            body, data = data[:length], data[length:]
        upstream.seen.append(head + b"\r\n\r\n" + body)
        wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def http2(upstream: Upstream, wire: ssl.SSLSocket) -> None:
    """Answer each HTTP/2 request once it is whole, and keep the header blocks."""
    peer = Server(wire)
    begun: dict[int, Any] = {}
    while (found := peer.next()) is not None:
        if found.type == HEADERS:
            begun.setdefault(found.stream, peer.fields(found))
        if found.type == DATA and found.payload:
            more = struct.pack(">I", len(found.payload))
            peer.send(frame(WINDOW_UPDATE, 0, 0, more), frame(WINDOW_UPDATE, 0, found.stream, more))
        if found.type in (HEADERS, DATA) and found.flags & END_STREAM:
            upstream.seen.append(begun.pop(found.stream))
            peer.headers(found.stream, [(b":status", b"200")], end=False)
            peer.data(found.stream, b"ok")


class Server(Peer):
    """An upstream's end of a connection."""

    def __init__(self, wire: ssl.SSLSocket, settings: bytes = b"") -> None:
        super().__init__(wire)
        data = b""
        while len(data) < len(PREFACE):
            data += received(wire, len(PREFACE) - len(data))
        self.send(frame(SETTINGS, payload=settings))


class Bench2:
    """What the tests of HTTP/2 get."""

    Peer, Server, Frame = Peer, Server, Frame
    frame, http1, http2 = staticmethod(frame), staticmethod(http1), staticmethod(http2)

    def __init__(self, folder: Path) -> None:
        for name in ("theirs", "ours"):
            (folder / name).mkdir()
        self.theirs, self.ours = make_certificate(folder / "theirs"), make_certificate(folder / "ours")

    def upstream(self, handle: Callable[[Upstream, ssl.SSLSocket], None], **more: Any) -> Any:
        return Upstream(self.theirs, handle, **more).serving()

    def settings(self, port: int) -> dict[str, Any]:
        """Return how a proxy before an upstream is told of it."""
        identity = Identity(self.ours.certificate, self.ours.key)
        return {
            "upstream": f"https://127.0.0.1:{port}",
            "trust": Trust(self.theirs.authority),
            "identity": identity,
        }

    @contextmanager
    def caller(self, port: int, settings: bytes = b"") -> Iterator[Caller]:
        context = ssl.create_default_context(cafile=self.ours.authority)
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
            plain.setsockopt(*AT_ONCE)
            wire = context.wrap_socket(plain, server_hostname="127.0.0.1")
            assert wire.selected_alpn_protocol() == "h2"
            caller = Caller(wire, settings)
            try:
                yield caller
            finally:
                caller.close()


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Bench2:
    """Callers and upstreams made of frames."""
    return Bench2(tmp_path_factory.mktemp("http2"))
