"""A TLS upstream for HTTP/2 or HTTP/1.1 that records everything it receives, valid or not.

Header blocks are kept as lines, HTTP/1.1 as it came; everything has the same answer. Knows: sockets, h11, frames.
Does not know: subjects, checks.
"""

from __future__ import annotations

import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

import h11

from corrigible.conformance.reference.upstream import Listener
from corrigible.conformance.transport import http2
from corrigible.conformance.transport.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW,
    LARGEST_FRAME,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    Frame,
    Peer,
    frame,
    settings,
    window,
)

ANSWER: Final = b"ok"
"""What everything is answered with."""
POUR: Final = "/conformance/http2/pour"
"""What is asked here is answered with so much that nobody should keep it."""
WHOLE: Final = 64 << 20
_PIECE: Final = b"x" * LARGEST_FRAME
_HEAD: Final = [(b":status", b"200"), (b"content-type", b"text/plain")]
_TIMEOUT: Final = 60.0
_KEPT: Final = 1 << 20
"""Bytes of what was asked that are kept."""


class Http2Upstream(Listener):
    """A context manager; 127.0.0.1 only."""

    def __init__(self, certificate: Path, protocol: str = "h2") -> None:
        """The protocol is `h2` or `http/1.1`."""
        super().__init__("conformance-http2-upstream", timeout=_TIMEOUT)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._context.set_alpn_protocols([protocol])
        self.url = f"https://127.0.0.1:{self.port}"
        self.heard = bytearray()
        """The begin of everything that was asked."""
        self.poured = 0
        """Bytes of the long answer that somebody took."""

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._context.wrap_socket(connection, server_side=True)

    def _serve(self, connection: socket.socket) -> None:
        begin = b""
        while PREFACE.startswith(begin) and begin != PREFACE:
            data = connection.recv(len(PREFACE) - len(begin))
            if not data:
                break
            begin += data
        with suppress(h11.ProtocolError):
            if begin == PREFACE:
                self._http2(_Server(connection))
            elif begin:
                self._http1(connection, begin)

    def _hear(self, data: bytes) -> None:
        with self._lock:
            self.heard += data[: max(0, _KEPT - len(self.heard))]

    def _http1(self, connection: socket.socket, data: bytes) -> None:
        server, target = h11.Connection(h11.SERVER), b""
        while data:
            self._hear(data)
            server.receive_data(data)
            while (event := server.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
                if isinstance(event, h11.Request):
                    target = event.target
                if isinstance(event, h11.EndOfMessage):
                    self._answer1(connection, target)
                    server.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
                    server.send(h11.EndOfMessage())
                    server.start_next_cycle()
                if isinstance(event, h11.ConnectionClosed):
                    return
            data = connection.recv(1 << 16)

    def _answer1(self, connection: socket.socket, target: bytes) -> None:
        pours = target.decode("latin-1") == POUR
        size = WHOLE if pours else len(ANSWER)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % size)
        if not pours:
            connection.sendall(ANSWER)
            return
        for _ in range(WHOLE // len(_PIECE)):
            connection.sendall(_PIECE)
            self.poured += len(_PIECE)

    def _http2(self, peer: _Server) -> None:
        peer.send(settings((3, 1 << 20), (4, 1 << 24)), window(0, 1 << 24))
        while True:
            while peer.may_pour():
                if not peer.pour():
                    return
                self.poured += len(_PIECE)
            frame = peer.next(_TIMEOUT)
            if frame is None:
                return
            peer.notice(frame)
            if frame.kind == HEADERS and frame.flags & END_HEADERS:
                fields = peer.fields(frame)
                self._hear(b"".join(b"%s: %s\n" % field for field in fields))
                if dict(fields).get(b":path") == POUR.encode():
                    peer.wanted = frame.stream
            if frame.ends and frame.kind != RST_STREAM:
                peer.answer(frame.stream)


class _Server(Peer):
    """The end of one connection, and what the other side takes of a long answer."""

    def __init__(self, wire: socket.socket) -> None:
        super().__init__(wire)
        self.wanted = 0
        """The stream on which it was asked for."""
        self._pouring = 0
        self._initial = INITIAL_WINDOW
        self._allowed = {0: INITIAL_WINDOW}
        self._left = WHOLE

    def notice(self, found: Frame) -> None:
        """Do what the protocol wants done about a frame."""
        match found.kind:
            case http2.DATA if found.payload:
                self.send(window(0, len(found.payload)))
            case http2.SETTINGS if not found.flags & ACK:
                pairs = struct.iter_unpack(">HI", found.payload[: len(found.payload) // 6 * 6])
                initial = dict(pairs).get(4, self._initial)
                for stream in self._allowed.keys() - {0}:
                    self._allowed[stream] += initial - self._initial
                self._initial = initial
                self.send(frame(SETTINGS, ACK))
            case http2.PING if not found.flags & ACK:
                self.send(frame(PING, ACK, 0, found.payload))
            case http2.WINDOW_UPDATE:
                more = int.from_bytes(found.payload, "big")
                self._allowed[found.stream] = self._allowed.get(found.stream, self._initial) + more

    def answer(self, stream: int) -> None:
        """Answer, or begin to."""
        self.send(frame(HEADERS, END_HEADERS, stream, self.block(_HEAD)))
        if stream != self.wanted:
            self.send(frame(DATA, END_STREAM, stream, ANSWER))
            self._allowed.pop(stream, None)
        else:
            self._pouring = stream
            self._allowed.setdefault(stream, self._initial)

    def may_pour(self) -> bool:
        room = min(self._allowed[0], self._allowed.get(self._pouring, 0))
        return bool(self._pouring) and self._left > 0 and room >= len(_PIECE)

    def pour(self) -> bool:
        """Send one more piece. False where the connection has ended."""
        self._left -= len(_PIECE)
        self._allowed[0] -= len(_PIECE)
        self._allowed[self._pouring] -= len(_PIECE)
        return self.send(frame(DATA, END_STREAM if self._left == 0 else 0, self._pouring, _PIECE))
