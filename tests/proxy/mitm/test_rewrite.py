"""What the mitmproxy front end hands to the corrector, asks the upstream, and puts in place of an answer."""

from __future__ import annotations

from typing import Any

import pytest

JSON = b"Content-Type: application/json\r\n"
BODY = b'amount=1&a=%20\x00\xff&big={"n": 1e400}'


def test_our_mode_parameter_is_seen_by_the_corrector_and_not_by_the_upstream(each_engine: Any) -> None:
    corrector = each_engine.Silent()
    with (
        each_engine.upstream({"/x": each_engine.message(b"404 Not Found", JSON, b"{}")}) as upstream,
        each_engine.proxy(corrector, upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        each_engine.ask(proxy.port, "/x?mode=verbose")
        assert upstream.requests[0].startswith(b"GET /x HTTP/1.1\r\n")
    assert corrector.seen[0][0].target == "/x?mode=verbose"


def test_a_refusal_is_handed_over_whole_and_rewritten(each_engine: Any) -> None:
    corrector = each_engine.Telling()
    answer = each_engine.message(b"422 Unprocessable Thing", JSON + b"Set-Cookie: a=1\r\nset-cookie: b=2\r\n", b"{}")
    with (
        each_engine.upstream({"/x": answer}) as upstream,
        each_engine.proxy(corrector, upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        assert each_engine.seen(each_engine.ask(proxy.port, "/x?a=1", "POST", BODY)) == each_engine.seen(
            b"HTTP/1.1 422 Unprocessable Thing\r\nContent-Type: application/json\r\nSet-Cookie: a=1\r\n"
            b"set-cookie: b=2\r\nContent-Length: 7\r\nX-Added: 1\r\n\r\n{} | 0 "
        )
    ((request, body, response, native),) = corrector.seen
    assert (request.method, request.target, body) == ("POST", "/x?a=1", BODY)
    headers = [(name.lower(), value) for name, value in response.headers]
    assert (response.status, headers[1:3], native) == (422, [("set-cookie", "a=1"), ("set-cookie", "b=2")], b"{}")


@pytest.mark.parametrize("chunked", [True, False])
def test_a_rewritten_answer_has_a_length_however_it_came(each_engine: Any, chunked: bool) -> None:
    if chunked:
        answer = each_engine.chunks(b"400 Bad Request", JSON, b"{", b"}")
    else:
        answer = each_engine.message(b"400 Bad Request", JSON + b"Connection: close\r\n", b"{}", length=False)
    with (
        each_engine.upstream({"/x": answer}) as upstream,
        each_engine.proxy(each_engine.Telling(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        head, _, body = each_engine.ask(proxy.port, "/x").partition(b"\r\n\r\n")
        assert body == b"{} | 0 "
        assert head.lower().count(b"content-length: 7") == 1
        assert b"transfer-encoding" not in head.lower()


CREDENTIALS = (
    b"Authorization: Bearer sk_1\r\nStripe-Account: acct_1\r\nCookie: s=1\r\nIf-Match: x\r\nIdempotency-Key: k\r\n"
    b"Content-Type: application/json\r\nPrefer: recovery-feedback=reflective\r\nX-Hop: 1\r\n"
)


def test_a_lookup_carries_the_caller_s_credentials_and_little_else(each_engine: Any) -> None:
    live = each_engine.message(b"200 OK", JSON + b"Set-Cookie: stolen=1; Path=/\r\n", b'{"left": 3}')
    with (
        each_engine.upstream(
            {"/x": each_engine.message(b"400 Bad Request", JSON, b"{}"), "/v1/ch 1": live, "/v1/ch%201": live}
        ) as up,
        each_engine.proxy(each_engine.Telling(ask="/v1/ch 1?a=b"), upstream=f"http://127.0.0.1:{up.port}") as proxy,
    ):
        answers = [
            each_engine.ask(proxy.port, "/x", "POST", b"{}", CREDENTIALS if first else b"") for first in (True, False)
        ]
        assert [a.partition(b"\r\n\r\n")[2] for a in answers] == [b'{} | 200 {"left": 3}'] * 2
        lines = up.requests[1].split(b"\r\n")
        assert lines[0] == b"GET /v1/ch%201?a=b HTTP/1.1"
        assert sorted(line.lower() for line in lines[1:] if line) == sorted(
            [
                b"accept-encoding: gzip",
                b"accept: application/json",
                b"authorization: bearer sk_1",
                b"cookie: s=1",
                b"host: 127.0.0.1:%d" % up.port,
                b"stripe-account: acct_1",
                b"user-agent: corrigible",
            ]
        )
        assert b"cookie" not in up.requests[3].lower()  # the second caller gets nothing of the first


def test_regular_mode_carries_absolute_requests_and_never_itself(bench: Any) -> None:
    corrector = bench.Telling(ask="/live")
    answers = {
        "/x": bench.message(b"404 Not Found", JSON, b"{}"),
        "/live": bench.message(b"200 OK", JSON, b"1"),
    }
    with bench.upstream(answers) as upstream, bench.proxy(corrector, engine_mode="regular") as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(b"GET http://127.0.0.1:%d/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % upstream.port)
        assert wire.rest().endswith(b"\r\n\r\n{} | 200 1")
        assert upstream.requests[0].startswith(b"GET /x HTTP/1.1\r\n")
        wire.close()
        wire = bench.Wire(proxy.port)
        wire.send(b"GET http://127.0.0.1:%d/x HTTP/1.1\r\nHost: x\r\n\r\n" % proxy.port)
        assert wire.rest().endswith(
            b"corrigible: no connection to the upstream: Connection killed: this proxy is its own upstream\n"
        )
        wire.close()
