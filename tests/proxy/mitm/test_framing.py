"""Where messages begin and end on the connections of the mitmproxy front end."""

from __future__ import annotations

import socket
import threading
from functools import partial
from typing import Any

import pytest

JSON = b"Content-Type: application/json\r\n"


def longer(least: int, got: bytes) -> bool:
    return len(got) >= least


def test_head_keeps_the_length_and_has_no_body(bench: Any) -> None:
    answer = bench.message(b"404 Not Found", JSON + b"Content-Length: 120\r\n", b"", length=False)
    chunked = bench.message(b"200 OK", b"Transfer-Encoding: chunked\r\n", b"", length=False)
    corrector = bench.Telling()
    with (
        bench.upstream({"/x": answer, "/c": chunked}) as upstream,
        bench.proxy(corrector, upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        assert bench.ask(proxy.port, "/x", "HEAD") == answer
        assert bench.ask(proxy.port, "/c", "HEAD") == chunked
    assert corrector.seen == []


def test_a_304_that_names_a_coding_does_not_upset_the_connection(bench: Any) -> None:
    head = bench.message(b"304 Not Modified", b"Transfer-Encoding: chunked\r\n", b"", length=False)
    with (
        bench.upstream({"/x": head, "/y": bench.message(b"200 OK", b"", b"next")}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.until(lambda got: got.endswith(b"\r\n\r\n"))
        wire.send(b"GET /y HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.until(lambda got: got.endswith(b"next")) == head + bench.message(b"200 OK", b"", b"next")
        wire.close()


def test_one_connection_carries_many_exchanges(bench: Any) -> None:
    ok, refusal = bench.message(b"200 OK", b"", b"ok"), bench.message(b"400 Bad Request", JSON, b"{}")
    with (
        bench.upstream({"/ok": ok, "/no": refusal}) as upstream,
        bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        expected = b""
        for path, answer in [(b"/ok", ok), (b"/no", refusal)] * 3:
            wire.send(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
            expected += answer
            assert wire.until(partial(longer, len(expected))) == expected
        wire.close()


def test_trailers_travel_in_both_directions(bench: Any) -> None:
    head = bench.message(b"200 OK", JSON + b"Transfer-Encoding: chunked\r\n", b"", length=False)
    with (
        bench.upstream({"/x": head + b"2\r\n{}\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n"}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        assert bench.ask(proxy.port, "/x") == head + b"2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n"
        upstream.answers["/x"] = bench.chunks(b"200 OK", JSON, b"{}")
        wire = bench.Wire(proxy.port)
        wire.send(b"POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        wire.send(b"2\r\nab\r\n0\r\nX-t: 1\r\nX-T: 2\r\n\r\n")
        assert wire.rest().endswith(b"\r\n0\r\n\r\n")
        wire.close()
        assert upstream.requests[1].endswith(b"\r\n\r\n2\r\nab\r\n0\r\nX-t: 1\r\nX-T: 2\r\n\r\n")


def test_trailers_stay_with_an_answer_that_is_corrected_unless_they_vouch_for_its_body(bench: Any) -> None:
    head = bench.message(b"400 No", JSON + b"Transfer-Encoding: chunked\r\n", b"", length=False)
    plain = bench.chunks(b"200 OK", JSON, b"{}")
    with (
        bench.upstream(
            {
                "/x": head + b"2\r\n{}\r\n0\r\nX-T: 1\r\nDigest: x\r\n\r\n",
                "/y": head + b"2\r\n{}\r\n0\r\nDigest: x\r\n\r\n",
                "/ok": plain,
            }
        ) as upstream,
        bench.proxy(bench.Telling(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        for path in (b"/x", b"/y", b"/ok"):
            wire.send(b"GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (path, b"Connection: close\r\n" * (path == b"/ok")))
            wire.until(lambda got, path=path: got.count(b"HTTP/1.1 ") == (b"/x", b"/y", b"/ok").index(path) + 1)
        first, second, third = wire.rest().split(b"HTTP/1.1 ")[1:]
        wire.close()
        assert first.endswith(b"X-Added: 1\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{} | 0 \r\n0\r\nX-T: 1\r\n\r\n")
        assert second.endswith(b"X-Added: 1\r\nContent-Length: 7\r\n\r\n{} | 0 ")
        assert b"HTTP/1.1 " + third == plain


def test_interim_answers_are_handed_on_unless_we_asked_for_them(bench: Any) -> None:
    final = bench.message(b"200 OK", JSON, b"{}")
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
    first_part_read = threading.Event()

    def patient(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + hints[:40])
        assert first_part_read.wait(bench.patience)
        connection.sendall(hints[40:] + final)

    with (
        bench.upstream({"/x": patient}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        first_part_read.set()
        expected = b"HTTP/1.1 102 Processing\r\n\r\n" + hints + final
        assert wire.until(partial(longer, len(expected))) == expected
        wire.send(b"GET /x HTTP/1.0\r\nHost: x\r\n\r\n")
        assert wire.rest()[len(expected) :] == final  # HTTP/1.0 has no interim answers
        wire.close()


@pytest.mark.parametrize(
    "headers", [b"Transfer-Encoding : chunked\r\nContent-Length: 4\r\n", b"\tContent-Length: 4\r\n"]
)
def test_a_request_that_two_servers_could_read_differently_goes_nowhere(bench: Any, headers: bytes) -> None:
    with (
        bench.upstream({"/x": bench.message(b"200 OK", b"", b"ok")}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(b"POST /x HTTP/1.1\r\n%sHost: x\r\n\r\n0\r\n\r\n" % headers)
        assert b"200 OK" not in wire.rest()
        wire.close()
        assert upstream.requests == []


def test_an_answer_with_a_length_beside_a_transfer_coding_does_not_travel_on(bench: Any) -> None:
    both = bench.chunks(b"200 OK", b"Content-Length: 3\r\n", b"hello")
    with (
        bench.upstream({"/x": both}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        answer = bench.ask(proxy.port, "/x")
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert answer.endswith(b"\r\n\r\ncorrigible: the upstream's answer can be read in two ways\n")


def test_an_upgraded_connection_is_bytes_in_both_directions(bench: Any) -> None:
    def upgrade(connection: socket.socket) -> None:
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x82\x01a"
        )
        connection.sendall(b"got " + connection.recv(100))
        connection.close()

    with (
        bench.upstream({"/ws": upgrade}) as upstream,
        bench.proxy(bench.reflective(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(
            b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n"
        )
        wire.until(lambda got: got.endswith(b"\x82\x01a"))
        wire.send(b"\x82\x81\0\0\0\0b")
        assert wire.rest().endswith(b"\x82\x01agot \x82\x81\0\0\0\0b")
        wire.close()
