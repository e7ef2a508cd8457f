"""A relay from HTTP/2 to HTTP/1.1 that believes what it reads, and keeps whatever it gets."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from corrigible.conformance.transport.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    LARGEST_FRAME,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    Peer,
    frame,
    settings,
)


@contextmanager
def careless(upstream: str, certificate: Path) -> Iterator[str]:
    """Run one, without TLS for callers; the value is its URL."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    parts = urlsplit(upstream)

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError, ValueError):
            _Careless(client, (parts.hostname or "", parts.port or 0)).serve()

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


class _Careless:
    """One caller's connection."""

    def __init__(self, client: socket.socket, upstream: tuple[str, int]) -> None:
        begin = b""
        while len(begin) < len(PREFACE):
            begin += client.recv(len(PREFACE) - len(begin)) or b"\0" * len(PREFACE)
        self._peer, self._upstream = Peer(client), upstream
        self._begun: dict[int, tuple[list[tuple[bytes, bytes]], bytearray]] = {}
        self._failed = self._shut = False
        self._kept: list[bytes] = []

    def serve(self) -> None:
        peer = self._peer
        peer.send(settings())
        while (found := peer.next(60)) is not None:
            if found.kind == SETTINGS and not found.flags & ACK:
                self._shut = self._shut or found.payload == b"\0\4\0\0\0\0"
                peer.send(frame(SETTINGS, ACK))
            if found.kind == PING:
                peer.send(frame(PING, ACK, 0, found.payload))
            if found.kind == HEADERS and found.flags & END_HEADERS:
                self._begun[found.stream] = (peer.fields(found), bytearray())
            if found.kind == RST_STREAM:
                self._begun.pop(found.stream, None)
            if found.kind == DATA and found.stream in self._begun:
                self._begun[found.stream][1].extend(found.payload)
            if found.ends and found.stream in self._begun:
                self._answer(found.stream, *self._begun.pop(found.stream))

    def _answer(self, stream: int, fields: list[tuple[bytes, bytes]], body: bytearray) -> None:
        try:
            if self._failed:
                raise OSError("it failed before")
            status, said = b"200", self._asked(fields, bytes(body))
        except TimeoutError:
            status, said = b"504", b""
        except OSError:
            self._failed = True
            status, said = b"502", b""
        peer = self._peer
        peer.send(frame(HEADERS, END_HEADERS, stream, peer.block([(b":status", status)])))
        if self._shut:
            self._kept.append(said)
            return
        pieces = [said[place : place + LARGEST_FRAME] for place in range(0, len(said), LARGEST_FRAME)]
        peer.send(*(frame(DATA, 0, stream, piece) for piece in pieces), frame(DATA, END_STREAM, stream))

    def _asked(self, fields: list[tuple[bytes, bytes]], body: bytes) -> bytes:
        """Write a request as HTTP/1.1 and return the body of its answer, all of it."""
        known = dict(fields)
        lines = [known.get(b":method", b"GET") + b" " + known.get(b":path", b"/") + b" HTTP/1.1"]
        lines += [b"host: " + known.get(b":authority", b"a"), b"content-length: %d" % len(body)]
        lines += [name + b": " + value for name, value in fields if not name.startswith(b":")]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(self._upstream, 1) as plain,
            context.wrap_socket(plain) as wire,
            wire.makefile("rb") as answer,
        ):
            wire.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
            length = None
            while (line := answer.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if length is None:
                return b""
            return answer.read(length)
