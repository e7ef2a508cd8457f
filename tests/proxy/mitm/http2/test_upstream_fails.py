"""Upstream connections that fail or say goodbye: what they leave unanswered, and that the next request tries again."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from typing import Any

import pytest

from corrigible.adapters.sandbox.server import free_port

HEADERS, PING, GOAWAY = 1, 6, 7
OK = (b"200", b"ok")
REFUSED_STREAM = 7


def test_a_failed_connection_says_nothing_about_the_next(bench: Any, two: Any) -> None:
    with (
        two.upstream(two.http2, refusing=True) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port) as caller,
    ):
        for _ in range(3):
            status, body = caller.ask()
            assert (status, body[:11]) == (b"502", b"corrigible:")
        upstream.refusing = False
        assert caller.ask() == OK
        assert caller.ask() == OK
        assert upstream.connections == 1


def test_nobody_listening_says_nothing_about_later(bench: Any, two: Any) -> None:
    port = free_port()
    with bench.proxy(bench.Silent(), **two.settings(port)) as proxy, two.caller(proxy.port) as caller:
        assert caller.ask()[0] == b"502"
        upstream = two.upstream(two.http2, port=port)
        with upstream:
            assert caller.ask() == OK


def test_over_http1_too(bench: Any, two: Any) -> None:
    with (
        two.upstream(two.http1, protocol="http/1.1", refusing=True) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
    ):
        for refusing, status in [(True, b" 502 "), (False, b" 200 ")]:
            upstream.refusing = refusing
            with socket.create_connection(("127.0.0.1", proxy.port), 60) as wire:
                wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                assert status in wire.recv(1 << 16)


@pytest.mark.parametrize("code", [0, 2, 11])
def test_after_a_goodbye_the_next_request_goes_elsewhere(bench: Any, two: Any, code: int) -> None:
    def handle(upstream: Any, wire: ssl.SSLSocket) -> None:
        peer = two.Server(wire)
        while (found := peer.next()) is not None:
            if found.type == HEADERS:
                if upstream.connections == 1:
                    peer.send(two.frame(GOAWAY, 0, 0, struct.pack(">II", 0, code) + b"words of theirs"))
                else:
                    peer.headers(found.stream, [(b":status", b"200")], end=False)
                    peer.data(found.stream, b"ok")

    with (
        two.upstream(handle) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port) as caller,
    ):
        gone = (b"502", b"corrigible: the upstream closed the connection without an answer\n")
        assert caller.ask() == (gone if code else REFUSED_STREAM)
        assert caller.ask() == OK
        assert upstream.connections == 2


def test_who_waits_for_a_free_stream_is_told_as_well(bench: Any, two: Any) -> None:
    """The upstream takes one stream at a time, and ends before the second begins."""

    queued = threading.Event()

    def ends(upstream: Any, wire: ssl.SSLSocket) -> None:
        peer = two.Server(wire, struct.pack(">HI", 3, 1))
        found = peer.until(lambda found: found.type == HEADERS)
        peer.headers(found.stream, [(b":status", b"204")])
        peer.until(lambda found: found.type == HEADERS)
        queued.wait(60)

    with (
        two.upstream(ends) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port) as caller,
    ):
        assert caller.ask() == (b"204", b"")
        streams = [caller.stream() for _ in range(3)]
        for stream in streams:
            caller.headers(stream, caller.head())
        caller.send(two.frame(PING, 0, 0, bytes(8)))
        caller.until(lambda found: found.type == PING)
        queued.set()
        assert caller.answer(streams[0])[0] == b"502"
        while len(resets := [found for found in caller.frames if found.type == 3]) < 2:
            assert caller.next() is not None
        assert [(found.stream, found.code) for found in resets] == [(stream, REFUSED_STREAM) for stream in streams[1:]]
