"""What the transports of httpx and requests leave as it is: streams, encodings, errors without feedback."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import requests

from corrigible.client.httpx import CorrigibleTransport
from corrigible.client.requests import CorrigibleAdapter
from tests._support.rows import rows

PATCH = [{"op": "replace", "path": "/path", "value": "/right"}]
SUGGESTION = {
    "action": "MODIFY_PARAMS",
    "parameters": {},
    "patch": PATCH,
    "applicability": "MACHINE_APPLICABLE",
    "verification": {"status": "verified", "method": "lookup"},
}
FEEDBACK = {"type": "recovery_guidance", "message": "No such path.", "suggestions": [SUGGESTION]}
REFUSAL = json.dumps({"error": "no", "recovery_feedback": FEEDBACK}).encode()
LINE = '  /path: "/wrong" -> "/right"'


def answer(status: str, body: bytes, *headers: str) -> bytes:
    fields = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(fields).encode() + body


Send = Callable[..., Any]


@pytest.fixture(params=["httpx", "requests"])
def send(request: pytest.FixtureRequest) -> Iterator[Send]:
    """Send a request through a client with a policy."""
    closing: list[Any] = []

    def through(method: str, url: str, body: Any = None, **policy: Any) -> Any:
        if request.param == "httpx":
            client = httpx.Client(
                transport=CorrigibleTransport(**policy), headers={"Accept-Encoding": "gzip"}, timeout=60
            )
            closing.append(client)
            return client.request(method, url, content=body)
        session = requests.Session()
        session.trust_env = False
        session.mount("http://", CorrigibleAdapter(**policy))
        closing.append(session)
        return session.request(method, url, data=body)

    yield through
    for one in closing:
        one.close()


def explanation(response: Any) -> str:
    with pytest.raises((httpx.HTTPStatusError, requests.HTTPError)) as info:
        response.raise_for_status()
    return str(info.value)


def test_the_repaired_request_goes_out_once_and_its_answer_comes_back(bench: Any, send: Send) -> None:
    with bench.upstream({"/wrong": answer("404 Not Found", REFUSAL), "/right": answer("200 OK", b"{}")}) as upstream:
        url, agreed = (
            f"http://127.0.0.1:{upstream.port}/wrong?a=1",
            {"on_refusal": "confirm", "confirm": lambda _: True},
        )
        response = send("POST", url, b'{"a": 1}', **agreed)
        assert (response.status_code, response.json()) == (200, {})
    heads = [request.split(b"\r\n")[0] for request in upstream.requests]
    assert heads == [b"POST /wrong?a=1 HTTP/1.1", b"POST /right?a=1 HTTP/1.1"]
    assert [request.partition(b"\r\n\r\n")[2] for request in upstream.requests] == [b'{"a": 1}'] * 2


def test_a_compressed_refusal_is_read_and_passed_on(bench: Any, send: Send) -> None:
    compressed = answer("404 Not Found", gzip.compress(REFUSAL), "Content-Encoding: gzip")
    with bench.upstream({"/wrong": compressed}) as upstream:
        response = send("GET", f"http://127.0.0.1:{upstream.port}/wrong")
        assert response.json()["error"] == "no"
        assert explanation(response).splitlines()[-1] == LINE


def test_a_body_that_was_a_stream_is_not_sent_again(bench: Any, send: Send) -> None:
    with bench.upstream({"/wrong": answer("404 Not Found", REFUSAL)}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/wrong"
        response = send("POST", url, (part for part in [b"ab", b"cd"]), on_refusal="repair")
        assert explanation(response).endswith("Not sent: the body was a stream, which cannot be sent again.")
    assert len(upstream.requests) == 1


def test_an_error_without_feedback_has_its_own_text(bench: Any, send: Send) -> None:
    with bench.upstream({"/wrong": answer("404 Not Found", b'{"error": "no"}')}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/wrong"
        text = explanation(send("GET", url, on_refusal="repair"))
    assert url in text and "Correction" not in text


def test_a_refusal_inside_a_success_is_read(bench: Any, send: Send) -> None:
    refused = json.dumps({"success": False, "recovery_feedback": FEEDBACK}).encode()
    with bench.upstream({"/wrong": answer("200 OK", refused), "/right": answer("200 OK", b"{}")}) as upstream:
        response = send("GET", f"http://127.0.0.1:{upstream.port}/wrong", on_refusal="repair")
        assert response.json() == {}


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_a_success_is_passed_on_while_it_flows(bench: Any, library: str) -> None:
    is_read = threading.Event()

    def slow(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n[")
        assert is_read.wait(20), "the client waits for the end"
        connection.sendall(b" " * 2999998 + b"]")

    with bench.upstream({"/": slow}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/"
        if library == "httpx":
            with (
                httpx.Client(transport=CorrigibleTransport(on_refusal="repair"), timeout=60) as client,
                client.stream("GET", url) as response,
            ):
                parts = response.iter_raw()
                assert next(parts).startswith(b"[")
                is_read.set()
                assert sum(map(len, parts)) >= 2990000
        else:
            with requests.Session() as session:
                session.trust_env = False
                session.mount("http://", CorrigibleAdapter(on_refusal="repair"))
                with session.get(url, stream=True) as streamed:
                    assert streamed.raw.read(1) == b"["
                    is_read.set()
                    assert len(streamed.raw.read()) == 2999999


@rows("body", [b"x" * 3_000_000, gzip.compress(bytes(8_000_000)), b"no gzip at all"])
@rows("is_chunked", [False, True])
def test_a_refusal_that_is_not_read_passes_as_it_came(bench: Any, body: bytes, is_chunked: bool) -> None:
    coding = "" if body[:1] == b"x" else "Content-Encoding: gzip\r\n"
    length = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if is_chunked else body
    head = f"HTTP/1.1 422 No\r\n{coding}Set-Cookie: a=b\r\n{length}\r\n\r\n".encode()
    with bench.upstream({"/": head + sent}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/"
        with (
            httpx.Client(transport=CorrigibleTransport(on_refusal="repair"), timeout=60) as client,
            client.stream("GET", url) as response,
        ):
            assert b"".join(response.iter_raw()) == body
        with requests.Session() as session:
            session.trust_env = False
            session.mount("http://", CorrigibleAdapter(on_refusal="repair"))
            with session.get(url, stream=True) as streamed:
                assert streamed.raw.read() == body
            assert session.cookies["a"] == "b"


def test_a_refusal_that_breaks_off_breaks_off_for_the_caller(bench: Any, send: Send) -> None:
    def half(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 422 No\r\nContent-Length: 100\r\n\r\nhalf")
        connection.shutdown(socket.SHUT_WR)

    with (
        bench.upstream({"/": half}) as upstream,
        pytest.raises((httpx.RemoteProtocolError, requests.exceptions.ChunkedEncodingError)),
    ):
        send("GET", f"http://127.0.0.1:{upstream.port}/", on_refusal="repair")
