"""The mitmproxy front end over real sockets: every byte that passes unchanged."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests._support.rows import rows

JSON = b"Content-Type: application/json\r\n"
HOSTILE = b'{"b": 1, "a": 2, "a": 3, "big": 9223372036854775808, "e": 1e400, "f": 1.10, "s": "\\u0000\\ud800"} '
MEBIBYTE = 1 << 20
BODY = b'amount=1&a=%20\x00\xff&big={"n": 1e400}'


SIZED = {
    "json": (b"200 OK", JSON + b"X-B: 1\r\nx-a: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n", HOSTILE),
    "own-reason": (b"200 Most Excellent", b"SERVER: x\r\n", b"ok"),
    "no-reason": (b"200 ", b"", b"ok"),
    "gzip": (b"200 OK", JSON + b'Content-Encoding: gzip\r\nETag: "a"\r\n', gzip.compress(HOSTILE, mtime=0)),
    "invalid-utf8": (b"200 OK", JSON, b'{"x": "\xff\xfe"}'),
    "five-mebibyte": (b"200 OK", b"", bytes(range(256)) * 20480),
    "empty": (b"200 OK", JSON, b""),
    "created": (b"201 Created", b"Location: http://127.0.0.1:1/x\r\n", b""),
    "reset-content": (b"205 Reset Content", b"", b""),
    "redirect": (b"307 Temporary Redirect", b"Location: /elsewhere?q=1\r\n", b""),
    "partial": (b"206 Partial Content", b"Content-Range: bytes 0-3/10\r\n", b"0123"),
    "latin1-header": (b"200 OK", b"X-Name: caf\xe9\r\n", b""),
    "odd-header": (b"200 OK", b"X Odd(name): 1\r\n", b""),
    "alt-svc": (b"200 OK", b'Alt-Svc: h3=":443"; ma=1\r\n', b""),
    "json-error": (b"400 Bad Request", JSON + b"X-Request-Id: r1\r\n", b'{"error": {"n": 1.0, "n": 2}}'),
    "empty-error": (b"500 Internal Server Error", JSON, b""),
    "gzip-error": (b"418 Teapot", JSON + b"Content-Encoding: gzip\r\n", gzip.compress(b"{}", mtime=0)),
    "bad-gzip-error": (b"400 Bad Request", JSON + b"Content-Encoding: gzip\r\n", b"\x1f\x8b no"),
    "bad-utf8-error": (b"400 Bad Request", JSON, b'{"e": "\xff"}'),
    "bad-json-error": (b"400 Bad Request", JSON, b'{"e": 1,}'),
    "deep-error": (b"400 Bad Request", JSON, b'{"a":' * 20000 + b"1" + b"}" * 20000),
    "html-error": (b"502 Bad Gateway", b"Content-Type: text/html\r\n", b"<h1>no</h1>"),
    "large-error": (b"400 Bad Request", JSON, b'{"e": "' + b"a" * 5 * MEBIBYTE + b'"}'),
}
"""Answers with a Content-Length: status, headers, body."""
UNSIZED = {
    "no-content": (b"204 No Content", b"X-Req: 1\r\n", b""),
    "not-modified": (b"304 Not Modified", b'ETag: "a"\r\n', b""),
    "to-the-end": (b"200 OK", JSON + b"Connection: close\r\n", b"until the end"),
    "error-to-the-end": (b"404 Not Found", JSON + b"Connection: close\r\n", b"{}"),
}
CHUNKED = {
    "chunked": (b"200 OK", JSON, HOSTILE[:5], HOSTILE[5:], b"x" * 70000),
    "chunked-empty": (b"200 OK", JSON),
    "chunked-error": (b"400 Bad Request", JSON, b'{"e": ', b"1}"),
    "chunked-large-error": (b"400 Bad Request", JSON, *[b"%05d" % n * 2000 for n in range(300)]),
}
OLD = b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nuntil the end"


@pytest.fixture(scope="module")
def canned(each_engine: Any) -> Iterator[Any]:
    answers = {f"/{name}": each_engine.message(*said) for name, said in SIZED.items()}
    answers |= {f"/{name}": each_engine.message(*said, length=False) for name, said in UNSIZED.items()}
    answers |= {f"/{name}": each_engine.chunks(*said) for name, said in CHUNKED.items()}
    with each_engine.upstream({**answers, "/http-1.0": OLD}) as upstream:
        yield upstream


@pytest.fixture(scope="module", params=["none", "reflective", "silent"])
def transparent(request: pytest.FixtureRequest, each_engine: Any, canned: Any) -> Iterator[int]:
    correctors = {"none": each_engine.none, "reflective": each_engine.reflective, "silent": each_engine.Silent}
    with each_engine.proxy(
        correctors[request.param](),
        upstream=f"http://127.0.0.1:{canned.port}",
    ) as proxy:
        yield proxy.port


@rows("name", [*SIZED, *UNSIZED, "http-1.0"])
def test_every_byte_of_the_answer_is_the_upstream_s(name: str, each_engine: Any, canned: Any, transparent: int) -> None:
    if name == "odd-header" and each_engine.is_strict:
        assert each_engine.ask(transparent, f"/{name}").startswith(b"HTTP/1.1 502 ")
        return
    answers = [each_engine.ask(port, f"/{name}") for port in (transparent, canned.port)]
    assert each_engine.seen(answers[0]) == each_engine.seen(answers[1])


@rows("name", CHUNKED)
def test_chunked_answers_keep_their_head_and_content(
    name: str, each_engine: Any, canned: Any, transparent: int
) -> None:
    answers = [each_engine.dechunked(each_engine.ask(port, f"/{name}")) for port in (transparent, canned.port)]
    assert each_engine.seen(answers[0]) == each_engine.seen(answers[1])


def test_the_first_event_of_a_stream_arrives_while_it_stays_open(each_engine: Any) -> None:
    seen = threading.Event()

    def stream(connection: socket.socket) -> None:
        connection.sendall(
            each_engine.message(
                b"200 OK",
                b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n",
                b"9\r\ndata: 0\n\n\r\n",
                length=False,
            )
        )
        assert seen.wait(60)
        connection.sendall(b"9\r\ndata: 1\n\n\r\n0\r\n\r\n")

    with (
        each_engine.upstream({"/events": stream}) as upstream,
        each_engine.proxy(each_engine.reflective(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = each_engine.Wire(proxy.port)
        wire.send(b"GET /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        wire.until(lambda got: b"data: 0\n\n" in got)
        seen.set()
        assert each_engine.dechunked(wire.rest()).endswith(b"\r\n\r\ndata: 0\n\ndata: 1\n\n")
        wire.close()


def test_an_endless_refusal_is_not_held_back_past_the_limit(bench: Any) -> None:
    seen = threading.Event()
    part = b"x" * 65536

    def stream(connection: socket.socket) -> None:
        connection.sendall(
            bench.message(b"400 Bad Request", JSON + b"Transfer-Encoding: chunked\r\n", b"", length=False)
        )
        for number in range(40):
            if number == 24:  # one and a half mebibytes
                assert seen.wait(60)
            connection.sendall(b"10000\r\n" + part + b"\r\n")
        connection.sendall(b"0\r\n\r\n")

    corrector = bench.Telling()
    with (
        bench.upstream({"/x": stream}) as upstream,
        bench.proxy(corrector, upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        wire.until(lambda got: len(got) > MEBIBYTE)
        seen.set()
        assert bench.dechunked(wire.rest()).endswith(b"\r\n\r\n" + part * 40)
        wire.close()
    assert corrector.seen == []


def test_requests_arrive_unchanged_but_for_the_host(each_engine: Any) -> None:
    with (
        each_engine.upstream({"/v1/x": each_engine.message(b"200 OK", b"", b"ok")}) as upstream,
        each_engine.proxy(each_engine.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        sent = (
            b"POST /v1/x?b=%%2F&a&mode=test HTTP/1.1\r\nhost: %s\r\nX-Twice: 1\r\nAUTHORIZATION: Bearer sk_1\r\n"
            b"x-twice: 2\r\nIdempotency-Key: k\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
        )
        wire = each_engine.Wire(proxy.port)
        wire.send(sent % (b"api.test", len(BODY), BODY))
        assert wire.rest().endswith(b"ok")
        (request,) = upstream.requests
        assert each_engine.seen(request) == each_engine.seen(sent % (b"127.0.0.1:%d" % upstream.port, len(BODY), BODY))
        wire.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_request_over_the_limit_streams_and_is_not_corrected(each_engine: Any, chunked: bool) -> None:
    body = bytes(range(256)) * (5 * 4096)
    refusal = each_engine.message(b"413 Too Large", JSON, b"{}")
    corrector = each_engine.Telling()
    with (
        each_engine.upstream({"/x": refusal}) as upstream,
        each_engine.proxy(corrector, upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        if chunked:
            framed = b"".join(b"10000\r\n%s\r\n" % body[n : n + 65536] for n in range(0, len(body), 65536))
            head = b"Transfer-Encoding: chunked\r\n"
            wire = each_engine.Wire(proxy.port)
            wire.send(b"POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n" % head)
            wire.send(framed + b"0\r\n\r\n")
            assert each_engine.seen(wire.rest()) == each_engine.seen(refusal)
            assert each_engine.dechunked(upstream.requests[0]).partition(b"\r\n\r\n")[2] == body
            wire.close()
        else:
            assert each_engine.seen(each_engine.ask(proxy.port, "/x", "POST", body)) == each_engine.seen(refusal)
            assert upstream.requests[0].partition(b"\r\n\r\n")[2] == body
    assert corrector.seen == []
