"""An exchange part by part: what of it is told, asked about and changed."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from envoy_data_plane.envoy.config.core.v3 import HeaderMap, HeaderValue
from envoy_data_plane.envoy.service.ext_proc.v3 import HttpBody, HttpHeaders, HttpTrailers, ProcessingRequest

from corrigible.proxy.envoy.ext_proc import answer
from corrigible.proxy.envoy.http_server import Call, Reply
from corrigible.proxy.envoy.processing import Answered, Edit, Further, Processing
from corrigible.proxy.envoy.refusal_message import SECTIONS, read_message
from corrigible.proxy.http.messages import RequestHead, ResponseHead

POST = [(":method", "POST"), (":path", "/x?a=1"), (":authority", "api.test"), ("content-type", "application/json")]
REFUSED = [(":status", "400"), ("content-type", "application/json"), ("content-length", "2")]
LIMIT = 10


class All:
    def none_of(self, request: RequestHead) -> bool:
        return ("prefer", "none") in request.headers

    def body_of(self, request: RequestHead, response: ResponseHead) -> bool:
        return response.status >= 400


class Corrector:
    """Answers each question with edits, and keeps it."""

    def __init__(self, reply: Reply | Exception | None = None) -> None:
        edits = b"=content-length:3\n+x-a:b\n"
        lengths = b"%d 3" % len(edits)
        self.reply = reply or Reply(200, ((SECTIONS, lengths), (b"corrigible-entry", b"{}")), edits + b"new")
        self.asked: list[Call] = []

    async def __call__(self, call: Call) -> Reply:
        self.asked.append(call)
        if isinstance(self.reply, Exception):
            raise self.reply
        is_about_a_refusal = any(name == SECTIONS for name, _ in self.reply.headers)
        return self.reply if is_about_a_refusal or call.path != b"/v1/refusal" else Reply(204)


def played(corrector: Corrector, *parts: Callable[[Processing], Awaitable[Any]]) -> list[Any]:
    async def main() -> list[Any]:
        exchange = Processing(corrector, All(), LIMIT, asks_for_target=True)
        return [await part(exchange) for part in parts]

    return asyncio.run(main())


def begins(*more: tuple[str, str], is_end: bool = False) -> Callable[[Processing], Awaitable[Any]]:
    return lambda exchange: exchange.request_headers([*POST, *more], is_end=is_end, peer="10.0.0.1")


def sends(data: bytes, *, is_end: bool) -> Callable[[Processing], Awaitable[Any]]:
    return lambda exchange: exchange.request_body(data, is_end=is_end)


def refuses(*, is_end: bool = False) -> Callable[[Processing], Awaitable[Any]]:
    return lambda exchange: exchange.response_headers(REFUSED, is_end=is_end)


def tells(data: bytes, *, is_end: bool = True) -> Callable[[Processing], Awaitable[Any]]:
    return lambda exchange: exchange.response_body(data, is_end=is_end)


def test_a_refused_exchange_is_asked_about_as_it_was() -> None:
    corrector = Corrector()
    *passed, last = played(
        corrector, begins(), sends(b"ab\0", is_end=False), sends(b"cd", is_end=True), refuses(), tells(b"{}")
    )
    assert passed == [
        Edit(further=Further(request_body=True)),
        Edit(),
        Edit(),
        Edit(further=Further(request_body=True, response_body=True)),  # the rest of the request waits its turn
    ]
    assert last == Edit(("-content-length", "+x-a:b"), b"new", entry="{}")
    (call,) = corrector.asked
    assert (call.path, call.headers[b"corrigible-peer"]) == (b"/v1/refusal", b"10.0.0.1")
    message = read_message(call.headers[SECTIONS], call.body)
    assert (message.request_body, message.response_body) == (b"ab\0cd", b"{}")
    assert message.request.pseudo[":path"] == "/x?a=1" and message.response.pseudo == {":status": "400"}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([begins(), sends(b"ab", is_end=False), refuses(), tells(b"{}")], id="the request has not ended"),
        pytest.param([begins(), sends(b"x" * 11, is_end=True), refuses()], id="the request is over the limit"),
        pytest.param([begins(is_end=True), refuses(), tells(b"{}", is_end=False)], id="the answer goes on"),
        pytest.param([begins(is_end=True), refuses(), tells(b"x" * 11)], id="the answer is over the limit"),
        pytest.param([begins(("prefer", "none"), is_end=True)], id="nothing is wanted"),
        pytest.param([lambda exchange: exchange.request_headers([], is_end=True, peer="")], id="no path"),
    ],
)
def test_nobody_is_asked_about_what_is_not_whole(parts: list[Any]) -> None:
    corrector = Corrector()
    edits = played(corrector, *parts)
    assert corrector.asked == []
    assert all(not edit.lines and edit.body is None for edit in edits)
    if len(parts) == 1:
        assert edits[0].further == Further(response=False)


def test_a_request_that_says_its_length_is_whole_when_it_is_there() -> None:
    corrector = Corrector()
    played(corrector, begins(("content-length", "2")), sends(b"ab", is_end=False), refuses(), tells(b"{}"))
    assert [call.path for call in corrector.asked] == [b"/v1/refusal"]
    (too_long,) = played(corrector, begins(("content-length", "11")))
    assert too_long == Edit(further=Further(request_body=False))


def test_documents_and_targets_are_asked_for_before_the_api_is() -> None:
    corrector = Corrector(Reply(200, ((b"content-type", b"application/json"),), b"{}"))
    path = [(":method", "GET"), (":path", "/.well-known/recovery-feedback/1")]
    (given,) = played(corrector, lambda exchange: exchange.request_headers(path, is_end=True, peer=""))
    assert given == Answered([("content-type", "application/json")], b"{}")
    corrector = Corrector(Reply(200, body=b"/x"))
    path = [(":method", "GET"), (":path", "/x?mode=verbose")]
    first, _ = played(
        corrector, lambda exchange: exchange.request_headers(path, is_end=True, peer=""), refuses(is_end=True)
    )
    assert first.lines == ("=:path:/x",)
    assert corrector.asked[1].headers[b"corrigible-target"] == b"/x?mode=verbose"


def heads(pairs: list[tuple[str, str]]) -> HeaderMap:
    return HeaderMap(headers=[HeaderValue(key=name, raw_value=value.encode()) for name, value in pairs])


def test_an_error_of_ours_leaves_each_part_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    corrector = Corrector(RuntimeError("broken"))
    messages = [
        ProcessingRequest(request_headers=HttpHeaders(headers=heads([*POST[:1], (":path", "/x?mode=verbose")]))),
        ProcessingRequest(request_body=HttpBody(body=b"{}", end_of_stream=True)),
        ProcessingRequest(response_headers=HttpHeaders(headers=heads([(":status", "200")]))),
        ProcessingRequest(response_body=HttpBody(body=b"{}", end_of_stream=True)),
        ProcessingRequest(response_trailers=HttpTrailers(trailers=heads([("grpc-status", "5")]))),
    ]

    async def main() -> list[Any]:
        exchange = Processing(corrector, All(), LIMIT, asks_for_target=True)
        return [await answer(exchange, ProcessingRequest.parse(bytes(message))) for message in messages]

    kinds = ("request_headers", "request_body", "response_headers", "response_body", "response_trailers")
    for kind, response in zip(kinds, asyncio.run(main()), strict=True):
        part = getattr(response, kind)
        assert part is not None and response.mode_override is None and response.immediate_response is None
        mutation = part.header_mutation if kind == "response_trailers" else part.response.header_mutation
        assert not mutation.set_headers and not mutation.remove_headers
        assert kind == "response_trailers" or part.response.body_mutation is None
    assert capsys.readouterr().err.count("corrigible corrector: RuntimeError: broken") == len(corrector.asked) > 1


def test_the_body_in_a_question_is_base64() -> None:
    corrector = Corrector()
    played(corrector, begins(), sends(b"\0\xff", is_end=True), refuses(), tells(b"{}"))
    assert base64.b64encode(b"\0\xff") in corrector.asked[0].body
