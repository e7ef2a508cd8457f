"""Messages that two servers could read differently, through the mitmproxy front end: they reach nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests._support.rows import rows

HOST = b"Host: x\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


def get(fields: bytes, *, line: bytes = b"GET /x HTTP/1.1\r\n", host: bytes = HOST) -> bytes:
    return line + host + fields + b"\r\n"


def post(fields: bytes, body: bytes = b"hello", version: bytes = b"1.1") -> bytes:
    return b"POST /x HTTP/" + version + b"\r\n" + HOST + fields + b"\r\n" + body + SMUGGLED


REFUSED = {
    "a bare CR in a value": (400, get(b"X-A: 1\rX-B: 2\r\n")),
    "a bare CR in the request line": (400, get(b"", line=b"GET /x\r HTTP/1.1\r\n")),
    "a bare LF between fields": (400, get(b"X-A: 1\nX-B: 2\r\n")),
    "bare LFs only": (400, b"GET /x HTTP/1.1\nHost: x\n\n"),
    "a bare LF that ends the head": (400, b"GET /x HTTP/1.1\r\nHost: x\r\n\n" + SMUGGLED),
    "a NUL in a value": (400, get(b"X-A: 1\0\r\n")),
    "a control character in a value": (400, get(b"X-A: 1\x0b2\r\n")),
    "a DEL in a value": (400, get(b"X-A: \x7f\r\n")),
    "a control character in a name": (400, get(b"X\x01A: 1\r\n")),
    "a blank in a name": (400, get(b"X A: 1\r\n")),
    "a blank before the colon": (400, post(b"Content-Length : 5\r\n")),
    "no colon": (400, get(b"X-A\r\n")),
    "no name": (400, get(b": 1\r\n")),
    "a folded field": (400, get(b"X-A: 1\r\n 2\r\n")),
    "a folded coding": (400, post(b"Transfer-Encoding:\r\n chunked\r\n")),
    "a fold before the first field": (400, get(b"", host=b" X-A: 1\r\nHost: x\r\n")),
    "two blanks in the request line": (400, get(b"", line=b"GET  /x HTTP/1.1\r\n")),
    "a tab in the request line": (400, get(b"", line=b"GET\t/x HTTP/1.1\r\n")),
    "a blank before the request line": (400, b" " + get(b"")),
    "a blank behind the version": (400, get(b"", line=b"GET /x HTTP/1.1 \r\n")),
    "a target with a control character": (400, get(b"", line=b"GET /x\x01 HTTP/1.1\r\n")),
    "no version": (400, b"GET /x\r\n\r\n"),
    "a method that is none": (400, get(b"", line=b"G@T /x HTTP/1.1\r\n")),
    "HTTP/2 without TLS": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/1.2": (505, get(b"", line=b"GET /x HTTP/1.2\r\n")),
    "HTTP/0.9": (505, get(b"", line=b"GET /x HTTP/0.9\r\n")),
    "a version in small letters": (400, get(b"", line=b"GET /x http/1.1\r\n")),
    "a target that is none": (400, get(b"", line=b"GET x HTTP/1.1\r\n")),
    "an asterisk where nobody asks for OPTIONS": (400, get(b"", line=b"GET * HTTP/1.1\r\n")),
    "half of the preface of HTTP/2": (400, get(b"", line=b"PRI * HTTP/1.1\r\n")),
    "another scheme": (400, get(b"", line=b"GET ftp://x/ HTTP/1.1\r\n")),
    "a target with credentials": (400, get(b"", line=b"GET http://a@x/ HTTP/1.1\r\n")),
    "a target without a host": (400, get(b"", line=b"GET http:///x HTTP/1.1\r\n")),
    "a target with a broken port": (400, get(b"", line=b"GET http://x:8y/ HTTP/1.1\r\n")),
    "CONNECT": (400, b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n"),
    "CONNECT with a body": (400, b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\nContent-Length: 1\r\n\r\na"),
    "no Host": (400, get(b"", host=b"")),
    "two Hosts": (400, get(b"Host: y\r\n")),
    "the same Host twice": (400, get(b"Host: x\r\n")),
    "a Host with a path": (400, get(b"", host=b"Host: x/y\r\n")),
    "a Host with credentials": (400, get(b"", host=b"Host: a@x\r\n")),
    "two Hosts in one": (400, get(b"", host=b"Host: x, y\r\n")),
    "length and coding": (400, post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n")),
    "coding and length": (400, post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n")),
    "two lengths": (400, post(b"Content-Length: 5\r\nContent-Length: 6\r\n")),
    "the same length twice": (400, post(b"Content-Length: 5\r\nContent-Length: 5\r\n")),
    "a list of lengths": (400, post(b"Content-Length: 5, 5\r\n")),
    "a signed length": (400, post(b"Content-Length: +5\r\n")),
    "a negative length": (400, post(b"Content-Length: -5\r\n")),
    "a hexadecimal length": (400, post(b"Content-Length: 0x5\r\n")),
    "a length with a zero before it": (400, post(b"Content-Length: 05\r\n")),
    "a length with an underscore": (400, post(b"Content-Length: 1_0\r\n", b"0123456789")),
    "an empty length": (400, post(b"Content-Length:\r\n")),
    "a length beyond reason": (400, post(b"Content-Length: " + b"9" * 30 + b"\r\n")),
    "chunks in HTTP/1.0": (400, post(b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"1.0")),
    "chunked twice": (400, post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n")),
    "chunked in two fields": (400, post(b"Transfer-Encoding: chunked\r\n" * 2, b"0\r\n\r\n")),
    "an empty coding": (400, post(b"Transfer-Encoding:\r\n", b"0\r\n\r\n")),
    "an empty member of the codings": (400, post(b"Transfer-Encoding: , chunked\r\n", b"0\r\n\r\n")),
    "chunked that is not last": (501, post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n")),
    "identity": (501, post(b"Transfer-Encoding: identity\r\n")),
    "an unknown coding": (501, post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n")),
    "a coding with a control character": (400, post(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n")),
    "a quoted coding": (501, post(b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n")),
    "a chunk longer than it says": (400, CHUNKED + b"2\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk without CR LF": (400, CHUNKED + b"5\r\nhelloXX0\r\n\r\n" + SMUGGLED),
    "a chunk that ends in LF": (400, CHUNKED + b"5\r\nhello\n0\r\n\r\n" + SMUGGLED),
    "a chunk size that ends in LF": (400, CHUNKED + b"5\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk size with a sign": (400, CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk size with a prefix": (400, CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk size with an underscore": (400, CHUNKED + b"0_5\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk size after a blank": (400, CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk size beyond reason": (400, CHUNKED + b"f" * 17 + b"\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "an empty chunk size": (400, CHUNKED + b"\r\n0\r\n\r\n" + SMUGGLED),
    "garbage behind a chunk size": (400, CHUNKED + b"5 x\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a bare CR in a chunk extension": (400, CHUNKED + b"5;a=\rb\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a bare LF in a chunk extension": (400, CHUNKED + b"5;a=\nb\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk extension without end": (400, CHUNKED + b"5;a=" + b"x" * 5000),
    "a trailer with a bare LF": (400, CHUNKED + b"0\r\nX-A: 1\nX-B: 2\r\n\r\n" + SMUGGLED),
    "a trailer that is folded": (400, CHUNKED + b"0\r\nX-A: 1\r\n 2\r\n\r\n" + SMUGGLED),
    "a trailer that is none": (400, CHUNKED + b"0\r\nX-A\r\n\r\n" + SMUGGLED),
    "trailers without end": (400, CHUNKED + b"0\r\n" + b"X-A: %s\r\n" % (b"x" * 1000) * 66),
    "a head without end": (431, b"GET /x HTTP/1.1\r\nHost: x\r\n" + b"X-A: %s\r\n" % (b"x" * 1000) * 66),
    "too many fields": (431, get(b"X-A: 1\r\n" * 300)),
    "a target without end": (414, b"GET /" + b"x" * 70_000),
    "a target that is too long": (414, get(b"", line=b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\n")),
}


@pytest.fixture(scope="module")
def running(bench: Any) -> Iterator[tuple[Any, Any]]:
    with (
        bench.upstream({"/x": bench.message(b"200 OK", b"", b"ok")}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        yield upstream, proxy


@rows("case", REFUSED)
def test_a_request_that_can_be_read_in_two_ways_reaches_nobody(bench: Any, running: tuple[Any, Any], case: str) -> None:
    upstream, proxy = running
    status, sent = REFUSED[case]
    upstream.requests.clear()
    wire = bench.Wire(proxy.port)
    wire.send(sent)
    answer = wire.rest()  # and the connection ends
    wire.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n" in head + b"\r\n"
    assert body.startswith(b"corrigible: ") and body.count(b"\n") == 1 and len(body) < 100
    assert upstream.requests == []


def test_a_body_that_turns_out_unsafe_later_is_never_whole_upstream(bench: Any, running: tuple[Any, Any]) -> None:
    upstream, proxy = running
    upstream.requests.clear()
    wire = bench.Wire(proxy.port)
    wire.send(CHUNKED + b"5\r\nhello\r\n")
    wire.send(b"5\r\nhelloXX0\r\n\r\n" + SMUGGLED)
    assert wire.rest().count(b"HTTP/1.1 ") == 1
    wire.close()
    assert upstream.requests == []


ALLOWED = {
    "empty lines before": b"\r\n\r\n" + get(b""),
    "a blank value": get(b"X-A:\r\n"),
    "blanks around a value": get(b"X-A: \t1\t \r\n"),
    "bytes beyond ASCII": get(b"X-A: caf\xe9\r\n", line=b"GET /x?\xc3\xa9 HTTP/1.1\r\n"),
    "HTTP/1.0 without a Host": b"GET /x HTTP/1.0\r\n\r\n",
    "another Host than the target's": get(b"", line=b"GET http://y/x HTTP/1.1\r\n"),
    "a coding in capitals": CHUNKED.replace(b": chunked", b": CHUNKED") + b"0\r\n\r\n",
    "chunk extensions": CHUNKED + b'5;a="b c";d \r\nhello\r\n0;x\r\n\r\n',
    "a chunk size with zeros": CHUNKED + b"0005\r\nhello\r\n000\r\n\r\n",
    "blanks behind a chunk size": CHUNKED + b"5  \r\nhello\r\n0\r\n\r\n",
    "a head of 60 KiB": get(b"X-A: " + b"x" * 60_000 + b"\r\n"),
    "a target of 30 KB": get(b"", line=b"GET /x?" + b"x" * 30_000 + b" HTTP/1.1\r\n"),
}


@rows("case", ALLOWED)
def test_a_request_that_is_merely_odd_passes(bench: Any, running: tuple[Any, Any], case: str) -> None:
    upstream, proxy = running
    upstream.requests.clear()
    wire = bench.Wire(proxy.port)
    for byte in (ALLOWED[case][at : at + 1] for at in range(50)):
        wire.send(byte)
    wire.send(ALLOWED[case][50:])
    wire.until(lambda got: got.endswith(b"ok"))
    wire.close()
    (request,) = upstream.requests
    assert request.count(b"Host: ") == 1
    assert request.split(b" ")[1].startswith(b"/x")


def head(fields: bytes, line: bytes = b"HTTP/1.1 200 OK\r\n") -> bytes:
    return line + fields + b"\r\n"


CHUNKED_ANSWER = head(b"Transfer-Encoding: chunked\r\n")
BAD_ANSWERS = {
    "a bare CR": head(b"X-A: 1\rX-B: 2\r\nContent-Length: 0\r\n"),
    "a bare LF": head(b"X-A: 1\nX-B: 2\r\nContent-Length: 0\r\n"),
    "a CR LF among LFs": b"HTTP/1.1 200 OK\nX-A: 1\r\nContent-Length: 0\n\n",
    "a NUL": head(b"X-A: \0\r\nContent-Length: 0\r\n"),
    "a field without a colon": head(b"X-A\r\nContent-Length: 0\r\n"),
    "two lengths": head(b"Content-Length: 2\r\nContent-Length: 3\r\n") + b"abc",
    "two lengths, one with a blank": head(b"Content-Length: 2\r\nContent-Length : 3\r\n") + b"abc",
    "a list of lengths": head(b"Content-Length: 2, 2\r\n") + b"ab",
    "a signed length": head(b"Content-Length: +2\r\n") + b"ab",
    "length and coding": head(b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n\r\n",
    "a folded coding": head(b"Transfer-Encoding: x\r\n chunked\r\n") + b"0\r\n\r\n",
    "a coding in HTTP/1.0": head(b"Transfer-Encoding: chunked\r\n", b"HTTP/1.0 200 OK\r\n") + b"0\r\n\r\n",
    "chunked twice": head(b"Transfer-Encoding: chunked, chunked\r\n") + b"0\r\n\r\n",
    "an unknown coding": head(b"Transfer-Encoding: xchunked\r\n") + b"0\r\n\r\n",
    "a protocol nobody asked for": head(b"Upgrade: x\r\n", b"HTTP/1.1 101 Switching\r\n") + b"x",
    "another version": head(b"Content-Length: 0\r\n", b"HTTP/2.0 200 OK\r\n"),
    "a status that is none": head(b"Content-Length: 0\r\n", b"HTTP/1.1 2000 OK\r\n"),
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"X-A: %s\r\n" % (b"x" * 1000) * 70,
    "too many fields": head(b"X-A: 1\r\n" * 300 + b"Content-Length: 0\r\n"),
    "interim answers without end": b"HTTP/1.1 103 Hints\r\n\r\n" * 100 + head(b"Content-Length: 0\r\n"),
    "an interim answer with a bare LF": b"HTTP/1.1 103 Hints\r\nA: b\nC: d\r\n\r\n" + head(b"Content-Length: 0\r\n"),
}


@rows("case", BAD_ANSWERS)
def test_an_answer_that_can_be_read_in_two_ways_is_a_502(bench: Any, running: tuple[Any, Any], case: str) -> None:
    upstream, proxy = running
    upstream.answers["/bad"] = BAD_ANSWERS[case]
    wire = bench.Wire(proxy.port)
    wire.send(b"GET /bad HTTP/1.1\r\nHost: x\r\n\r\n")
    got = wire.rest().replace(b"HTTP/1.1 103 Hints\r\n\r\n", b"")
    wire.close()
    assert got.startswith(b"HTTP/1.1 502 Bad Gateway\r\n"), got
    assert b"\r\n\r\ncorrigible: the upstream" in got and got.count(b"\n") == 6


def test_a_chunk_of_an_answer_that_does_not_end_where_it_says_ends_the_answer(
    bench: Any, running: tuple[Any, Any]
) -> None:
    upstream, proxy = running
    upstream.answers["/bad"] = CHUNKED_ANSWER + b"5\r\nhelloXX0\r\n\r\n"
    assert bench.ask(proxy.port, "/bad") == CHUNKED_ANSWER


MENDED = {
    "a folded field": (head(b"X-A: 1\r\n\t2\r\nContent-Length: 0\r\n"), head(b"X-A: 1 2\r\nContent-Length: 0\r\n")),
    "a blank before the colon": (head(b"Content-Length : 2\r\n") + b"ok", head(b"Content-Length: 2\r\n") + b"ok"),
    "LFs only": (b"HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 2\n\nok", head(b"X-A: 1\r\nContent-Length: 2\r\n") + b"ok"),
}


@pytest.mark.parametrize("case", MENDED)
def test_an_answer_is_mended_where_a_proxy_must(bench: Any, running: tuple[Any, Any], case: str) -> None:
    upstream, proxy = running
    upstream.answers["/odd"], expected = MENDED[case]
    assert bench.ask(proxy.port, "/odd") == expected
