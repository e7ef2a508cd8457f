"""Whoever does not take data holds up who sends it: nobody in between keeps what is not taken."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

from tests._support.wire import received

DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_STREAM = 1
SHUT = struct.pack(">HI", 4, 0)
"""SETTINGS_INITIAL_WINDOW_SIZE of 0."""


def system_buffers() -> int:
    """Return what the two buffers of a connection hold at most; as most systems have it where it is not known."""
    settings = [Path("/proc/sys/net/ipv4") / name for name in ("tcp_rmem", "tcp_wmem")]
    return sum(int(one.read_text("utf-8").split()[2]) if one.exists() else 4 << 20 for one in settings)


HELD = (4 << 20) + system_buffers()
"""More than that lies in no pair of system buffers beside what the proxy may hold."""
FRAME = 16384
WHOLE = (HELD // FRAME + 256) * FRAME


def windows(*streams: int) -> bytes:
    more = struct.pack(">I", 1 << 30)
    return b"".join(struct.pack(">I", 4)[1:] + bytes((WINDOW_UPDATE, 0)) + struct.pack(">I", s) + more for s in streams)


class Pouring:
    """An upstream that sends a long answer as fast as it is let, in either HTTP."""

    def __init__(self, two: Any) -> None:
        self.sent = 0
        self._two = two

    def http2(self, upstream: Any, wire: ssl.SSLSocket) -> None:
        peer = self._two.Server(wire)
        allowed = {0: 65535}
        pouring, initial = 0, 65535
        while True:
            while pouring and min(allowed[0], allowed[pouring]) >= 16384 and self.sent < WHOLE:
                peer.data(pouring, b"x" * 16384, end=self.sent + 16384 == WHOLE)
                self.sent += 16384
                allowed[0] -= 16384
                allowed[pouring] -= 16384
            found = peer.next()
            if found is None:
                return
            if found.type == SETTINGS and not found.flags:
                known = dict(struct.unpack(">HI", found.payload[at : at + 6]) for at in range(0, len(found.payload), 6))
                initial = known.get(4, initial)
            elif found.type == WINDOW_UPDATE:
                more = int.from_bytes(found.payload, "big")
                allowed[found.stream] = allowed.get(found.stream, initial) + more
            elif found.type == HEADERS:
                peer.headers(found.stream, [(b":status", b"200")], end=False)
                if dict(peer.fields(found))[b":path"] == b"/pour":
                    pouring = found.stream
                    allowed.setdefault(pouring, initial)
                else:
                    peer.data(found.stream, b"ok")

    def http1(self, upstream: Any, wire: ssl.SSLSocket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += received(wire)
        if b" /pour " not in data:
            wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % WHOLE)
        while self.sent < WHOLE:
            wire.sendall(b"x" * 16384)
            self.sent += 16384


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_an_answer_that_is_not_taken_stays_where_it_is(bench: Any, two: Any, protocol: str) -> None:
    pouring = Pouring(two)
    handle = pouring.http2 if protocol == "h2" else pouring.http1
    with (
        two.upstream(handle, protocol=protocol, refusing=True) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port, SHUT) as caller,
    ):
        upstream.refusing = False
        stream = caller.stream()
        caller.headers(stream, caller.head(b"/pour"))
        for _ in range(40):  # turns in which all could have been sent
            other = caller.stream()
            caller.headers(other, caller.head())
            caller.send(windows(other))
            assert caller.answer(other) == (b"200", b"ok")
            assert pouring.sent <= HELD
        caller.send(windows(0, stream))
        assert caller.answer(stream)[1] == b"x" * WHOLE


def test_a_request_that_is_not_taken_stays_where_it_is(bench: Any, two: Any) -> None:
    got: list[int] = []
    opened = threading.Event()

    def handle(upstream: Any, wire: ssl.SSLSocket) -> None:
        peer = two.Server(wire, SHUT)
        while (found := peer.next()) is not None:
            if found.type == HEADERS:
                opened.wait(60)
                peer.send(windows(0, found.stream))
            if found.type == DATA:
                got.append(len(found.payload))
                if found.flags & END_STREAM:
                    peer.headers(found.stream, [(b":status", b"200")], end=False)
                    peer.data(found.stream, b"ok")

    def sends(port: int) -> tuple[int, Any]:
        with two.caller(port) as caller:
            stream, sent = caller.stream(), 0
            head = caller.head(b"/", b"POST", (b"content-length", b"%d" % WHOLE))
            caller.headers(stream, head, end=False)
            allowed, held = {0: 65535, stream: 1 << 18}, 0
            while sent < WHOLE:
                while min(allowed.values()) >= 16384 and sent < WHOLE:
                    caller.data(stream, b"x" * 16384, end=sent + 16384 == WHOLE)
                    sent += 16384
                    allowed = {name: size - 16384 for name, size in allowed.items()}
                if sent == WHOLE:
                    break
                if not opened.is_set():
                    caller.wire.settimeout(0.3)
                try:
                    found = caller.next()
                except TimeoutError:  # nothing more is asked for
                    held = sent
                    opened.set()
                    caller.wire.settimeout(60)
                    continue
                assert found is not None
                if found.type == WINDOW_UPDATE:
                    allowed[found.stream] += int.from_bytes(found.payload, "big")
            return held, caller.answer(stream)

    with (
        two.upstream(handle) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
    ):
        held, answer = sends(proxy.port)
    assert 0 < held <= 1 << 20
    assert answer == (b"200", b"ok")
    assert sum(got) == WHOLE


def test_a_request_for_an_upstream_that_is_not_there_yet_is_not_collected(bench: Any, two: Any) -> None:
    """The connection is accepted by the system, and nobody says a word."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        bench.proxy(bench.Silent(), **two.settings(silent.getsockname()[1])) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port)) as wire,
    ):
        wire.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % WHOLE)
        sent = 0
        wire.settimeout(0.5)
        with pytest.raises(TimeoutError):
            while sent < WHOLE:
                sent += wire.send(b"x" * 65536)
        assert sent <= HELD
