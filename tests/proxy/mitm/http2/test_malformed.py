"""HTTP/2 messages that are none: their stream ends, nothing of them goes on, and others are not touched."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests._support.rows import rows

PROTOCOL_ERROR = 1
OK = (b"200", b"ok")
END_STREAM, END_HEADERS = 1, 4
START = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"api.test"), (b":path", b"/")]


def start(**changed: bytes | None) -> list[tuple[bytes, bytes]]:
    known: dict[bytes, bytes | None] = dict(START)
    known.update({b":" + name.encode(): value for name, value in changed.items()})
    return [(name, value) for name, value in known.items() if value is not None]


SMUGGLED = b"/ HTTP/1.1\r\nHost: a\r\n\r\nDELETE /everything"
PARTS = [
    *(start(path=value) for value in (SMUGGLED, b"/a b", b"/a\0", b"/a\tb", b"/a\x7f", b"", b"a", b"*", b"/a#b")),
    *(start(path=value) for value in (None, b"http://other/", b"/\n", b"/\r")),
    *(start(method=value) for value in (b"GET / HTTP/1.1\r\nX: y\r\n\r\nDELETE", b"GET ", b"", b"G\0T", b"G(T", None)),
    *(start(scheme=value) for value in (b"https\r\nx: y", b"file", b"", b"HTTPS ", None)),
    *(start(authority=value) for value in (b"a\r\nx: y", b"user@api.test", b"a b", b"", b"a,b:99999x", b"a/b")),
    start(method=b"CONNECT"),
    start(method=b"CONNECT", scheme=None, path=None),
    [*start(method=b"CONNECT"), (b":protocol", b"websocket")],
    [*START, (b":path", b"/other")],
    [*START, (b":authority", b"other")],
    [*START, (b":unknown", b"x")],
    [*START, (b":status", b"200")],
    [*START[:3], (b"a", b"b"), START[3]],
    [*START, (b"a", b"b"), (b":path", b"/other")],
    [*START, (b"host", b"other.test")],
    [*START, (b"host", b"api.test"), (b"host", b"other.test")],
]
FIELDS = [
    *((name, b"x") for name in (b"Upper", b"a b", b"a\r\nb", b"a:b", b"", b"a\0", b"a\t", b" a", b"a\xff", b"a(b")),
    *((b"a", value) for value in (b"x\r\ny: z", b"x\ny", b"x\ry", b"x\0y", b" x", b"x ", b"\tx", b"x\x7f", b"\x01")),
    (b"transfer-encoding", b"chunked"),
    (b"transfer-encoding", b"identity"),
    *((name, b"x") for name in (b"connection", b"keep-alive", b"proxy-connection", b"upgrade")),
    (b"te", b"gzip"),
    (b"te", b"trailers, gzip"),
    *((b"content-length", value) for value in (b"1", b"+0", b"0x0", b"0 0", b"-0", b"", b"1" * 30)),
]


@pytest.fixture(scope="module", params=["h2", "http/1.1"])
def served(bench: Any, two: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    """A proxy, and an upstream that keeps what it is sent in either HTTP."""
    handle = two.http2 if request.param == "h2" else two.http1
    with (
        two.upstream(handle, protocol=request.param) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
    ):
        yield proxy, upstream


@pytest.fixture(scope="module")
def connected(served: tuple[Any, Any], two: Any) -> Iterator[Any]:
    """A caller that agreed on HTTP/2 while the upstream was away: it may answer in HTTP/1.1 when it is back."""
    proxy, upstream = served
    upstream.refusing = True
    with two.caller(proxy.port) as caller:
        upstream.refusing = False
        yield caller


@pytest.fixture
def caller(connected: Any, served: tuple[Any, Any]) -> Iterator[Any]:
    """The same one for all, so that each shows that the others have not harmed the connection."""
    served[1].seen.clear()
    yield connected


def refused(caller: Any, stream: int, upstream: Any) -> bool:
    """Whether a stream ends as malformed, the connection serves on, and nothing whole of it went to the upstream."""
    assert caller.answer(stream) == PROTOCOL_ERROR
    assert caller.ask(b"/fine") == OK
    assert len(upstream.seen) == 1
    upstream.seen.clear()
    return True


@rows("block", PARTS, ids=repr)
def test_a_request_whose_parts_are_wrong_goes_nowhere(caller: Any, served: Any, block: Any) -> None:
    caller.headers(stream := caller.stream(), block)
    assert refused(caller, stream, served[1])


@rows("field", FIELDS, ids=repr)
def test_a_request_with_a_field_that_must_not_be_goes_nowhere(caller: Any, served: Any, field: Any) -> None:
    caller.headers(stream := caller.stream(), [*START, field])
    assert refused(caller, stream, served[1])


@rows(
    ("length", "parts"),
    [(b"3", [b"ab"]), (b"3", [b"ab", b"cd"]), (b"0", [b"x"]), (b"3", [b""]), (b"3", [b"abcd"])],
)
def test_a_body_of_another_length_than_said_goes_nowhere(caller: Any, served: Any, length: bytes, parts: Any) -> None:
    caller.headers(stream := caller.stream(), [*start(method=b"POST"), (b"content-length", length)], end=False)
    assert caller.ask(b"/meanwhile") == OK  # the head has been read before anything of the body comes
    served[1].seen.clear()
    for number, part in enumerate(parts, 1):
        caller.data(stream, part, end=number == len(parts))
    assert refused(caller, stream, served[1])


@rows(
    ("trailers", "end"),
    [
        ([(b":path", b"/other")], True),
        ([(b"a", b"b\r\nc: d")], True),
        ([(b"Upper", b"x")], True),
        ([(b"a", b"b")], False),
        ([(b"transfer-encoding", b"chunked")], True),
    ],
)
def test_trailers_that_are_none_take_the_request_along(caller: Any, served: Any, trailers: Any, end: bool) -> None:
    caller.headers(stream := caller.stream(), start(method=b"POST"), end=False)
    caller.data(stream, b"ab", end=False)
    caller.headers(stream, trailers, end=end)
    assert refused(caller, stream, served[1])


def test_trailers_after_too_little_data_take_the_request_along(caller: Any, served: Any) -> None:
    caller.headers(stream := caller.stream(), [*start(method=b"POST"), (b"content-length", b"5")], end=False)
    caller.data(stream, b"ab", end=False)
    caller.headers(stream, [(b"a", b"b")])
    assert refused(caller, stream, served[1])


def test_a_length_of_none_and_no_body_is_a_request(caller: Any, served: Any) -> None:
    caller.headers(stream := caller.stream(), [*start(method=b"POST"), (b"content-length", b"0")], end=False)
    caller.data(stream, b"")
    assert caller.answer(stream) == OK
    assert len(served[1].seen) == 1


def test_a_body_without_a_length_is_framed_for_http1(caller: Any, served: Any) -> None:
    """Written out as it is, the body would be the next request."""
    upstream = served[1]
    caller.headers(stream := caller.stream(), start(method=b"POST"), end=False)
    caller.data(stream, b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
    assert caller.answer(stream) == OK
    assert len(upstream.seen) == 1
    if upstream.protocol == "http/1.1":
        head, _, body = upstream.seen[0].partition(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert body == b"21\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n"


def test_an_empty_piece_in_a_long_body_does_not_end_it(caller: Any, served: Any, bench: Any, two: Any) -> None:
    """In HTTP/1.1 an empty chunk is the last one, and what follows the next request."""
    upstream, frame = served[1], two.frame
    caller.headers(stream := caller.stream(), start(method=b"POST"), end=False)
    sent = 0
    while sent <= 1 << 20:  # past what is held back to be looked at
        caller.data(stream, b"x" * 16384, end=False)
        sent += 16384
        if sent % (1 << 17) == 0:
            caller.until(lambda frame: frame.type == 8)
    for piece in (b"x", b"", b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n"):
        caller.send(frame(6, 0, 0, bytes(8)))  # PING: what was sent before has been dealt with
        caller.until(lambda found: found.type == 6)
        caller.data(stream, piece, end=len(piece) > 1)
    assert caller.answer(stream) == OK
    assert len(upstream.seen) == 1
    if upstream.protocol == "http/1.1":
        body = bench.dechunked(upstream.seen[0]).partition(b"\r\n\r\n")[2]
        assert body == b"x" * (sent + 1) + b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n"


@rows(
    "block",
    [
        [*START, (b"te", b"trailers"), (b"x", b""), (b"y", b"a b\tc"), (b"z", b"\xe4"), (b"a!#$%&'*+-.^_`|~0", b"1")],
        [*start(method=b"OPTIONS", path=b"*")],
        [*start(path=b'/a?b=c&%20d=[]{}|^`\\"<>'), (b"content-length", b"0")],
        [*start(authority=None), (b"host", b"api.test:8080")],
        [*start(authority=b"[::1]:80"), (b"host", b"[::1]:80"), (b"cookie", b"a=1"), (b"cookie", b"b=2")],
    ],
    ids=repr,
)
def test_a_request_that_is_merely_odd_passes(caller: Any, served: Any, block: Any) -> None:
    caller.headers(stream := caller.stream(), block)
    assert caller.answer(stream) == OK
    assert len(served[1].seen) == 1
    served[1].seen.clear()


ANSWERS: list[list[tuple[bytes, bytes]]] = [
    *([(b":status", value)] for value in (b"20", b"2000", b"+20", b"abc", b"", b"101", b"099", b"2\r0", b" 200")),
    [(b":status", b"200"), (b":status", b"200")],
    [(b":status", b"200"), (b":path", b"/")],
    [(b"a", b"b")],
    [(b"a", b"b"), (b":status", b"200")],
    [(b":status", b"200"), (b"a", b"b\r\nset-cookie: c=d")],
    [(b":status", b"200"), (b"a\r\nb", b"c")],
    [(b":status", b"200"), (b"Upper", b"c")],
    [(b":status", b"200"), (b"a", b"\0")],
    [(b":status", b"200"), (b"transfer-encoding", b"chunked")],
    [(b":status", b"200"), (b"connection", b"close")],
    [(b":status", b"200"), (b"content-length", b"5"), (b"content-length", b"2")],
    [(b":status", b"200"), (b"content-length", b"+2")],
    [(b":status", b"103"), (b"a", b"b\r\nc: d")],
]


@pytest.fixture(scope="module")
def answering(bench: Any, two: Any) -> Iterator[Any]:
    """A proxy before an upstream that answers with the block of that number."""

    def handle(upstream: Any, wire: ssl.SSLSocket) -> None:
        peer = two.Server(wire)
        while (found := peer.next()) is not None:
            if found.type == 1:
                path = dict(peer.fields(found))[b":path"]
                if path == b"/fine":
                    peer.headers(found.stream, [(b":status", b"200"), (b"x", b" blanks ")], end=False)
                    peer.data(found.stream, b"ok")
                elif path == b"/short":
                    peer.headers(found.stream, [(b":status", b"200"), (b"content-length", b"5")], end=False)
                    peer.data(found.stream, b"ok")
                else:
                    peer.headers(found.stream, ANSWERS[int(path[1:])], end=False)
                    peer.data(found.stream, b"ok")

    with (
        two.upstream(handle) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port) as caller,
    ):
        yield caller


@rows("number", range(len(ANSWERS)))
def test_an_answer_that_is_none_is_a_502(answering: Any, number: int) -> None:
    assert answering.ask(b"/%d" % number) == (b"502", b"corrigible: the upstream's answer is not valid HTTP\n")
    assert answering.ask(b"/fine") == OK


def test_an_answer_of_another_length_than_said_does_not_end_well(answering: Any) -> None:
    answering.headers(stream := answering.stream(), start(path=b"/short"))
    assert answering.answer(stream) not in (OK, (b"200", b"ok"))
    assert answering.ask(b"/fine") == OK
