"""Silence: who owes something is given up in time, who owes nothing may be silent, and a dead peer is noticed."""

from __future__ import annotations

import re
import socket
import threading
import time
from typing import Any

import pytest

from corrigible.proxy.core.limits import Timeouts

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


SHORT = Timeouts(head=1.0, idle=1.0, answer=1.0)
LONGER = 2.5
"""Seconds: longer than all of these."""
POST = b"POST /x HTTP/1.1\r\nHost: x\r\n"
BODIES = {
    "a length": b"Content-Length: 20\r\n\r\nhalf",
    "a large length": b"Content-Length: 2000000\r\n\r\nhalf",
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
}


@pytest.mark.parametrize("rest", BODIES.values(), ids=BODIES)
def test_a_body_that_stands_still_is_given_up(each_engine: Any, rest: bytes) -> None:
    """Envoy gives a whole request twelve times as long."""
    short = Timeouts(head=1.0, idle=0.25, answer=1.0)
    with (
        each_engine.upstream({"/x": OK}) as upstream,
        each_engine.proxy(each_engine.none(), upstream=f"http://127.0.0.1:{upstream.port}", timeouts=short) as proxy,
    ):
        wire = each_engine.Wire(proxy.port)
        wire.send(POST + rest)
        got = wire.rest()
        wire.close()
        assert each_engine.ask(proxy.port, "/x").endswith(b"\r\n\r\nok")
    assert got.startswith(b"HTTP/1.1 408 Request Time")
    assert re.search(rb"\r\n\r\ncorrigible: the (body of the )?request took too long\n\Z", got)
    assert b"x-corrigible" not in got.lower()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_upstream_that_does_not_answer_is_given_up(each_engine: Any, method: str) -> None:
    ended = threading.Event()
    with (
        each_engine.upstream({"/x": lambda _: ended.wait(each_engine.patience), "/": OK}) as upstream,
        each_engine.proxy(each_engine.none(), upstream=f"http://127.0.0.1:{upstream.port}", timeouts=SHORT) as proxy,
    ):
        got = each_engine.ask(proxy.port, "/x", method, b"{}" if method == "POST" else b"")
        assert each_engine.ask(proxy.port, "/").endswith(b"\r\n\r\nok")
        ended.set()
    assert got.startswith(b"HTTP/1.1 504 Gateway Time")
    assert got.endswith(b"\r\n\r\ncorrigible: the upstream did not answer in time\n")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_who_owes_nothing_may_be_silent(each_engine: Any, method: str) -> None:
    """A watch that has begun, and an answer that takes its time where that has no limit."""

    def watch(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        time.sleep(LONGER)
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")

    def slow(connection: socket.socket) -> None:
        time.sleep(LONGER)
        connection.sendall(OK)

    body = b"{}" if method == "POST" else b""
    with each_engine.upstream({"/watch": watch, "/slow": slow}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        with each_engine.proxy(each_engine.none(), upstream=url, timeouts=SHORT) as proxy:
            assert each_engine.ask(proxy.port, "/watch", method, body).endswith(b"3\r\ntwo\r\n0\r\n\r\n")
        with each_engine.proxy(each_engine.none(), upstream=url, timeouts=Timeouts(idle=1.0, answer=0)) as proxy:
            assert each_engine.ask(proxy.port, "/slow", method, body).endswith(b"\r\n\r\nok")


def test_an_upgraded_connection_may_be_silent(each_engine: Any) -> None:
    def speak(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        time.sleep(LONGER)
        connection.sendall(b"late")

    with (
        each_engine.upstream({"/x": speak}) as upstream,
        each_engine.proxy(each_engine.none(), upstream=f"http://127.0.0.1:{upstream.port}", timeouts=SHORT) as proxy,
    ):
        for start in (b"GET /x HTTP/1.1\r\nHost: x\r\n", POST):  # kubectl exec posts
            wire = each_engine.Wire(proxy.port)
            wire.send(start + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            wire.until(lambda got: got.endswith(b"\r\n\r\nlate"))
            wire.close()


def test_an_idle_connection_is_closed(each_engine: Any) -> None:
    with (
        each_engine.upstream({"/": OK}) as upstream,
        each_engine.proxy(each_engine.none(), upstream=f"http://127.0.0.1:{upstream.port}", timeouts=SHORT) as proxy,
    ):
        used, fresh = each_engine.Wire(proxy.port), each_engine.Wire(proxy.port)
        used.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert used.rest().endswith(b"\r\n\r\nok")
        assert fresh.rest() == b""
        used.close()
        fresh.close()
