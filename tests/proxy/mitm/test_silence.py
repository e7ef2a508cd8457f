"""Silence: who owes something is given up in time, who owes nothing may be silent, and a dead peer is noticed."""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests._support.raw_proxy import PATIENCE

OK = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"


def test_a_silent_exchange_is_not_cut_off(bench: Any) -> None:
    """A watch on a quiet cluster."""
    more = threading.Event()

    def slow(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        assert more.wait(bench.patience)
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")

    with bench.upstream({"/watch": slow, "/": OK}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        with bench.proxy(bench.Silent(), upstream=url) as proxy:
            wire = bench.Wire(proxy.port)
            wire.send(b"GET /watch HTTP/1.1\r\nHost: a\r\n\r\n")
            wire.until(lambda got: got.endswith(b"one\r\n"))
            for _ in range(2):
                proxy.later(601)
                assert bench.ask(proxy.port, "/") == OK  # so that the watchdog has had its turn
            more.set()
            wire.until(lambda got: got.endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
            assert bench.ask(proxy.port, "/") == OK
            proxy.later(601)
            wire.rest()  # an idle connection is closed
            wire.close()


def test_both_ends_are_probed_while_they_are_silent(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that vanished without a word would leave a watch hanging for ever."""
    from corrigible.proxy.mitm import connection as client_connection

    asked: list[int] = []
    probe = client_connection._enable_keepalive

    def watched(writer: Any) -> None:
        probe(writer)
        connection = writer.get_extra_info("socket")
        asked.append(connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))

    monkeypatch.setattr(client_connection, "_enable_keepalive", watched)
    with (
        bench.upstream({"/": OK}) as upstream,
        bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        assert bench.ask(proxy.port, "/") == OK
    assert asked == [1, 1]


POST = b"POST /x HTTP/1.1\r\nHost: x\r\n"
BODIES = {
    "a length": b"Content-Length: 20\r\n\r\nhalf",
    "a large length": b"Content-Length: 2000000\r\n\r\nhalf",
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
}


def given_up(wire: Any, passes: Callable[[Any], None], proxy: Any) -> bytes:
    """Let time pass until the connection ends. What the proxy reads after that has its whole time again."""
    while not select.select([wire.socket], [], [], 0.5)[0]:
        passes(proxy)
    got: bytes = wire.rest()
    wire.close()
    return got


@contextmanager
def placed(limited: Any, answers: dict[str, Any], **other: float) -> Iterator[tuple[Any, Any, Callable[[], None]]]:
    """Run an engine; yield it, its proxy, and what lets time pass and the proxy have its turn."""
    engine, limits, passes = limited
    with (
        engine.upstream({**answers, "/": OK}) as upstream,
        engine.proxy(
            engine.none(), upstream=f"http://127.0.0.1:{upstream.port}", timeouts=replace(limits, **other)
        ) as proxy,
    ):

        def silence() -> None:
            for _ in range(2):
                assert engine.ask(proxy.port, "/").endswith(b"\r\n\r\nok")
                passes(proxy)
            assert engine.ask(proxy.port, "/").endswith(b"\r\n\r\nok")

        yield engine, proxy, silence


@pytest.mark.parametrize("rest", BODIES.values(), ids=BODIES)
def test_a_body_that_stands_still_is_given_up(limited: Any, rest: bytes) -> None:
    """Envoy gives a whole request twelve times as long."""
    with placed(limited, {"/x": OK}, idle=limited[1].idle / 12) as (engine, proxy, _):
        wire = engine.Wire(proxy.port)
        wire.send(POST + rest)
        got = given_up(wire, limited[2], proxy)
        assert engine.ask(proxy.port, "/x").endswith(b"\r\n\r\nok")
    assert got.startswith(b"HTTP/1.1 408 Request Time")
    assert re.search(rb"\r\n\r\ncorrigible: the (body of the )?request took too long\n\Z", got)
    assert b"x-corrigible" not in got.lower()


@pytest.mark.parametrize("request_", [b"GET /x HTTP/1.1\r\nHost: x\r\n", POST + b"Content-Length: 2\r\n"])
def test_an_upstream_that_does_not_answer_is_given_up(limited: Any, request_: bytes) -> None:
    ended = threading.Event()
    with placed(limited, {"/x": lambda _: ended.wait(PATIENCE)}) as (engine, proxy, _):
        wire = engine.Wire(proxy.port)
        wire.send(request_ + b"Connection: close\r\n\r\n" + b"{}" * (request_[:4] == b"POST"))
        got = given_up(wire, limited[2], proxy)
        assert engine.ask(proxy.port, "/").endswith(b"\r\n\r\nok")
        ended.set()
    assert got.startswith(b"HTTP/1.1 504 Gateway Time")
    assert got.endswith(b"\r\n\r\ncorrigible: the upstream did not answer in time\n")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_who_owes_nothing_may_be_silent(limited: Any, method: str) -> None:
    """A watch that has begun, and an answer that takes its time where that has no limit."""
    body = b"{}" if method == "POST" else b""

    def watch(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        silence()
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")

    def slow(connection: socket.socket) -> None:
        silence()
        connection.sendall(OK)

    with placed(limited, {"/watch": watch}) as (engine, proxy, silence):
        assert engine.ask(proxy.port, "/watch", method, body).endswith(b"3\r\ntwo\r\n0\r\n\r\n")
    with placed(limited, {"/slow": slow}, answer=0.0) as (engine, proxy, silence):
        assert engine.ask(proxy.port, "/slow", method, body).endswith(b"\r\n\r\nok")


def test_an_upgraded_connection_may_be_silent(limited: Any) -> None:
    def speak(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        silence()
        connection.sendall(b"late")

    with placed(limited, {"/x": speak}) as (engine, proxy, silence):
        for start in (b"GET /x HTTP/1.1\r\nHost: x\r\n", POST):  # kubectl exec posts
            wire = engine.Wire(proxy.port)
            wire.send(start + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            wire.until(lambda got: got.endswith(b"\r\n\r\nlate"))
            wire.close()


def test_an_idle_connection_is_closed(limited: Any) -> None:
    with placed(limited, {}) as (engine, proxy, _):
        used, fresh = engine.Wire(proxy.port), engine.Wire(proxy.port)
        used.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert used.until(lambda got: got.endswith(b"\r\n\r\nok"))
        assert given_up(used, limited[2], proxy).endswith(b"\r\n\r\nok")
        assert given_up(fresh, limited[2], proxy) == b""
