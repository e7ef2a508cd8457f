"""The suite's own upstream says exactly the bytes it is told to, and remembers exactly what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from corrigible.conformance.reference.upstream import Echo, Hear, Received, Script, Upstream, Wait, answer, chunked
from corrigible.conformance.transport.http1 import CASE, HttpClient, HttpRequest, RawConnection, head

OK = answer(200, {"ok": True}, reason="OK")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


def asked(
    case: str, *headers: tuple[str, str], method: str = "GET", target: str = "/x", body: bytes = b""
) -> HttpRequest:
    return HttpRequest(method, target, ((CASE, case), *headers), body)


def test_a_script_is_said_byte_for_byte(upstream: Upstream) -> None:
    raw = b"HTTP/1.1 200 Most Excellent\r\nx-B: 1\r\nX-b: caf\xe9\r\nContent-Length: 2\r\n\r\n\x00\xff"
    upstream.script("a", Script((raw,), close=True))
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(head("GET", "/x", ("Host", "x"), (CASE, "a")))
        assert talk.rest() == raw


def test_what_came_in_is_remembered_as_it_was_sent(upstream: Upstream) -> None:
    upstream.script("a", OK)
    sent = asked("a", ("x-B", "1"), ("X-b", "caf\xe9"), method="PURGE", target="/a%2fb//c?x=%zz", body=b"\x00\xff")
    HttpClient(upstream.url).send(sent)
    (received,) = upstream.received("a")
    assert (received.sent.method, received.sent.target, received.sent.body) == (sent.method, sent.target, sent.body)
    assert [one for one in received.sent.headers if one[0] not in ("Host", "Content-Length")] == list(sent.headers)
    assert received.raw.startswith(b"PURGE /a%2fb//c?x=%zz HTTP/1.1\r\n") and received.raw.endswith(b"\r\n\r\n\x00\xff")


def test_chunks_and_trailers_arrive_as_such(upstream: Upstream) -> None:
    upstream.script("a", chunked(200, [b"one", b"two"], [("X-A", "1")], trailers=[("X-Sum", "6")], reason="OK"))
    got = HttpClient(upstream.url).send(asked("a"))
    assert (got.body, got.trailers, got.reason) == (b"onetwo", (("X-Sum", "6"),), "OK")


def test_trailers_of_a_request_are_remembered(upstream: Upstream) -> None:
    upstream.script("a", OK)
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(head("POST", "/x", ("Host", "x"), (CASE, "a"), ("Transfer-Encoding", "chunked")))
        talk.say(b"2\r\nab\r\n0\r\nX-T: 1\r\n\r\n")
        assert talk.has(b'{"ok":true}')
    (received,) = upstream.received("a")
    assert (received.sent.body, received.trailers) == (b"ab", (("X-T", "1"),))


def test_a_script_may_wait_for_the_other_side(upstream: Upstream) -> None:
    seen = threading.Event()
    upstream.script("a", Script((b"HTTP/1.1 200 OK\r\n\r\nfirst ", Wait(seen, 10), b"second"), close=True))
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(head("GET", "/x", ("Host", "x"), (CASE, "a")))
        assert talk.has(b"first ") and b"second" not in talk.received
        seen.set()
        assert talk.rest().endswith(b"first second")


def test_a_script_may_hear_and_repeat(upstream: Upstream) -> None:
    upstream.script(
        "a", Script((b"HTTP/1.1 101 Up\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", Hear(3), b"+", Echo()))
    )
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(head("GET", "/x", ("Host", "x"), (CASE, "a"), ("Connection", "Upgrade"), ("Upgrade", "x")))
        assert talk.has(b"\r\n\r\n")
        talk.say(b"abc")
        assert talk.has(b"\r\n\r\n+")
        talk.say(b"de")
        assert talk.has(b"\r\n\r\n+de")


def test_an_expected_100_is_said_unless_the_answer_is_early(upstream: Upstream) -> None:
    upstream.script("a", OK)
    upstream.script("b", Script(answer(417, b"", reason="No").parts, early=True))
    expecting = (("Host", "x"), ("Expect", "100-continue"), ("Content-Length", "2"))
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(head("POST", "/x", (CASE, "a"), *expecting))
        assert talk.has(b"HTTP/1.1 100 Continue\r\n\r\n")
        talk.say(b"ab")
        assert talk.has(b'{"ok":true}')
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(head("POST", "/x", (CASE, "b"), *expecting))
        assert talk.rest().startswith(b"HTTP/1.1 417 No\r\n")


def test_several_requests_on_one_connection_are_answered_in_order(upstream: Upstream) -> None:
    for name in "abc":
        upstream.script(name, answer(200, name.encode(), reason="OK"))
    with RawConnection(HttpClient(upstream.url)) as talk:
        talk.say(b"".join(head("GET", "/x", ("Host", "x"), (CASE, name)) for name in "abc"))
        assert talk.until(lambda got: got.count(b"HTTP/1.1 200") == 3 and got.endswith(b"c"))
    assert [one.sent.header(CASE) for one in upstream.requests] == ["a", "b", "c"]


def test_a_script_for_one_target_leaves_the_others_to_the_caller_s_asides_and_the_api() -> None:
    with Upstream(lambda received: answer(200, {"api": received.sent.target}, reason="OK")) as upstream:
        wire = HttpClient(upstream.url)
        upstream.script("a", answer(400, {"no": 1}), target="/x?q=1")
        upstream.script_others("Bearer me", answer(503, {"aside": 1}))
        me = ("Authorization", "Bearer me")
        said = [
            wire.send(asked("a", target="/x?q=1")).json(),
            wire.send(asked("a", target="/x?q=1", method="POST")).json(),
            wire.send(asked("a", target="/x")).json(),
            wire.send(asked("a", me, target="/y")).json(),
            wire.send(HttpRequest("GET", "/z", (me,))).json(),
        ]
    assert said == [{"no": 1}, {"no": 1}, {"api": "/x"}, {"aside": 1}, {"aside": 1}]


def test_a_script_may_depend_on_what_came_in(upstream: Upstream) -> None:
    def said(received: Received) -> Script:
        return answer(200, {"length": len(received.sent.body)}, reason="OK")

    upstream.script("a", said)
    assert HttpClient(upstream.url).send(asked("a", method="POST", body=b"abc")).json() == {"length": 3}


def test_a_connection_may_end_without_a_word_and_the_next_one_works(upstream: Upstream) -> None:
    upstream.script("a", Script((), close=True))
    upstream.script("b", OK)
    wire = HttpClient(upstream.url)
    assert wire.send(asked("a")).status == 0
    assert wire.send(asked("b")).json() == {"ok": True}


def test_it_ends_while_somebody_is_connected() -> None:
    with Upstream() as upstream:
        upstream.script("a", OK)
        talk = RawConnection(HttpClient(upstream.url))
        talk.say(head("GET", "/x", ("Host", "x"), (CASE, "a")))
        assert talk.has(b'{"ok":true}')
    with talk:
        talk.rest()
        assert not talk.open
