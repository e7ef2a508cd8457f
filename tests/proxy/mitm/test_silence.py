"""Silence through the mitmproxy front end: an exchange may say nothing for long, and a dead peer is noticed."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

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
