"""httpx: a transport for `httpx.Client`, one for `httpx.AsyncClient`, and event hooks that only explain.

    client = httpx.Client(transport=CorrigibleTransport(on_refusal="repair"))

`response.raise_for_status()` raises an `httpx.HTTPStatusError` whose text shows the correction, and
`response.extensions["corrigible"]` is the `Outcome`: the explanation, the feedback, what was corrected.
"""

from __future__ import annotations

from typing import Final, Unpack

import httpx

from .answer import Answer, may_refuse
from .correction import Outcome, explained
from .driver import run, run_async
from .policy import Policy, PolicyMembers, policy_of
from .sent_request import SentRequest

__all__ = [
    "EXTENSION",
    "AsyncCorrigibleTransport",
    "CorrigibleTransport",
    "ExplainedResponse",
    "explain_refusal",
    "explain_refusal_async",
]

EXTENSION: Final = "corrigible"
_MOST_BYTES: Final = 8 << 20
"""Of a body that is read before it is sent, to be sent again: forms with files are streams otherwise."""


class CorrigibleTransport(httpx.BaseTransport):
    """Sends requests through another transport, and again with the corrections that the policy allows."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        **members: Unpack[PolicyMembers],
    ) -> None:
        self._policy = policy_of(policy, **members)
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if _is_small(request) and isinstance(request.stream, httpx.SyncByteStream):
            request.read()
        response = self._transport.handle_request(request)
        if not may_refuse(response.status_code, response.headers.multi_items()):
            return response

        def send(again: SentRequest) -> Answer:
            return _read(self._transport.handle_request(_request(again, request)))

        return _response(run(_sent(request), _read(response), self._policy, send))

    def close(self) -> None:
        self._transport.close()


class AsyncCorrigibleTransport(httpx.AsyncBaseTransport):
    """The same for `httpx.AsyncClient`; `confirm` and `ask` may be coroutine functions."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        **members: Unpack[PolicyMembers],
    ) -> None:
        self._policy = policy_of(policy, **members)
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if _is_small(request) and isinstance(request.stream, httpx.AsyncByteStream):
            await request.aread()
        response = await self._transport.handle_async_request(request)
        if not may_refuse(response.status_code, response.headers.multi_items()):
            return response

        async def send(again: SentRequest) -> Answer:
            return await _read_async(await self._transport.handle_async_request(_request(again, request)))

        return _response(await run_async(_sent(request), await _read_async(response), self._policy, send))

    async def aclose(self) -> None:
        await self._transport.aclose()


class ExplainedResponse(httpx.Response):
    """A refusal whose error shows the correction."""

    def raise_for_status(self) -> httpx.Response:
        try:
            return super().raise_for_status()
        except httpx.HTTPStatusError as error:
            outcome: Outcome = self.extensions[EXTENSION]
            if not outcome.explanation:
                raise
            first = str(error).partition("\n")[0]  # the rest is a link to a page about the status
            raise httpx.HTTPStatusError(
                outcome.error_text(first), request=error.request, response=error.response
            ) from None


def explain_refusal(response: httpx.Response) -> None:
    """Raise an error that shows the correction: `httpx.Client(event_hooks={"response": [explain_refusal]})`."""
    if may_refuse(response.status_code, response.headers.multi_items()):
        response.read()
        _raise_if_explained(response)


async def explain_refusal_async(response: httpx.Response) -> None:
    """The same for `httpx.AsyncClient`."""
    if may_refuse(response.status_code, response.headers.multi_items()):
        await response.aread()
        _raise_if_explained(response)


def _raise_if_explained(response: httpx.Response) -> None:
    outcome = explained(_sent(response.request), _whole(response))
    if outcome.explanation:
        start = f"{response.status_code} {response.reason_phrase} for url '{response.url}'"
        raise httpx.HTTPStatusError(outcome.error_text(start), request=response.request, response=response)


def _is_small(request: httpx.Request) -> bool:
    length = request.headers.get("content-length", "")
    return length.isdecimal() and len(length) < 9 and int(length) <= _MOST_BYTES


def _sent(request: httpx.Request) -> SentRequest:
    try:
        body: bytes | None = request.content
    except httpx.RequestNotRead:
        body = None
    headers = tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers.raw)
    return SentRequest(request.method, str(request.url), headers, body)


def _request(sent: SentRequest, before: httpx.Request) -> httpx.Request:
    """Return the request to send. httpx sets Host and Content-Length where they are missing."""
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in sent.headers]
    return httpx.Request(
        sent.method, sent.url, headers=headers, content=sent.body or None, extensions=before.extensions
    )


def _whole(response: httpx.Response) -> Answer:
    return Answer(response.status_code, tuple(response.headers.multi_items()), response.content, response)


def _read(response: httpx.Response) -> Answer:
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return Answer(response.status_code, native=response)
    assert isinstance(response.stream, httpx.SyncByteStream)
    try:
        return _answer(response, b"".join(response.stream))
    finally:
        response.close()


async def _read_async(response: httpx.Response) -> Answer:
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return Answer(response.status_code, native=response)
    assert isinstance(response.stream, httpx.AsyncByteStream)
    try:
        return _answer(response, b"".join([part async for part in response.stream]))
    finally:
        await response.aclose()


def _answer(response: httpx.Response, raw: bytes) -> Answer:
    """Return an answer that was read. The caller's response is made anew from the bytes as they came."""
    headers = response.headers.multi_items()
    try:
        body = httpx.Response(response.status_code, headers=headers, content=raw).content
    except httpx.DecodingError:
        body = b""
    unread = ExplainedResponse(
        response.status_code, headers=headers, stream=httpx.ByteStream(raw), extensions=response.extensions
    )
    return Answer(response.status_code, tuple(headers), body, unread)


def _response(outcome: Outcome) -> httpx.Response:
    response = outcome.answer.native
    assert isinstance(response, httpx.Response)
    response.extensions[EXTENSION] = outcome
    return response
