"""httpx: a transport for `httpx.Client`, one for `httpx.AsyncClient`, and event hooks that only explain.

    client = httpx.Client(transport=CorrigibleTransport(on_refusal="repair"))

`response.raise_for_status()` raises an `httpx.HTTPStatusError` whose text shows the correction, and
`response.extensions["corrigible"]` is the `Outcome`: the explanation, the feedback, what was corrected.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final, Unpack

import httpx

from corrigible.schema.content_encoding import Start, decoded_start

from .answer import MOST_BYTES, Answer, may_refuse, unpacked
from .correction import Outcome, explained
from .driver import run, run_async
from .policy import Policy, PolicyMembers, policy_of
from .sent_request import NotSendable, SentRequest

__all__ = [
    "EXTENSION",
    "AsyncCorrigibleTransport",
    "CorrigibleTransport",
    "ExplainedResponse",
    "explain_refusal",
    "explain_refusal_async",
]

EXTENSION: Final = "corrigible"
"""Of a response: its `Outcome`. Of a request: what no text shows besides its credentials."""
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
            with _unwritten():
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
            with _unwritten():
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
        _raise_if_explained(response, _taken(response))


async def explain_refusal_async(response: httpx.Response) -> None:
    """The same for `httpx.AsyncClient`."""
    if may_refuse(response.status_code, response.headers.multi_items()):
        _raise_if_explained(response, await _taken_async(response))


def start_of(response: httpx.Response, most: int) -> Start:
    """Return the first bytes of a body, unpacked, and close the response: no more of it is read."""
    assert isinstance(response.stream, httpx.SyncByteStream)
    raw = bytearray()
    try:
        for part in response.stream:
            raw += part
            if len(raw) > most:
                break
    finally:
        response.close()
    return _unpacked_start(response, bytes(raw), most)


async def start_of_async(response: httpx.Response, most: int) -> Start:
    """Do the same for an asynchronous client's response."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    raw = bytearray()
    try:
        async for part in response.stream:
            raw += part
            if len(raw) > most:
                break
    finally:
        await response.aclose()
    return _unpacked_start(response, bytes(raw), most)


def _unpacked_start(response: httpx.Response, raw: bytes, most: int) -> Start:
    try:
        return decoded_start(response.headers.multi_items(), raw, most)
    except ValueError:  # broken, or in a coding that is not known here
        return Start(raw[:most], is_whole=len(raw) <= most)


def _raise_if_explained(response: httpx.Response, raw: bytes | None) -> None:
    outcome = explained(_sent(response.request), _answer(response, raw))
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
    hidden: frozenset[str] = request.extensions.get(EXTENSION, frozenset())
    return SentRequest(request.method, str(request.url), headers, body, hidden=hidden)


def _request(sent: SentRequest, before: httpx.Request) -> httpx.Request:
    """Return the request to send. httpx sets Host and Content-Length where they are missing."""
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in sent.headers]
    return httpx.Request(
        sent.method, sent.url, headers=headers, content=sent.body or None, extensions=before.extensions
    )


@contextmanager
def _unwritten() -> Iterator[None]:
    """Tell a request that httpx does not write from one that was not answered."""
    try:
        yield
    except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError, TypeError) as problem:
        raise NotSendable(type(problem).__name__) from problem


def _read(response: httpx.Response) -> Answer:
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return Answer(response.status_code, native=response)
    return _answer(response, _taken(response))


async def _read_async(response: httpx.Response) -> Answer:
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return Answer(response.status_code, native=response)
    return _answer(response, await _taken_async(response))


def _taken(response: httpx.Response) -> bytes | None:
    """Return a body as it came, which the response keeps.

    None if it is too long or breaks off: the response goes on where the reading has ended, for the caller.
    """
    if response.is_closed:  # it has been read already
        return response.content if len(response.content) <= MOST_BYTES else None
    stream, parts = response.stream, list[bytes]()
    assert isinstance(stream, httpx.SyncByteStream)
    rest, size = iter(stream), 0
    try:
        for part in rest:
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                response.stream = _Resumed(parts, rest, stream)
                return None
    except Exception as problem:  # as the caller would see it, who may want what came before
        response.stream = _Resumed(parts, _failing(problem), stream)
        return None
    stream.close()
    response.stream = httpx.ByteStream(b"".join(parts))
    return b"".join(parts)


async def _taken_async(response: httpx.Response) -> bytes | None:
    if response.is_closed:
        return response.content if len(response.content) <= MOST_BYTES else None
    stream, parts = response.stream, list[bytes]()
    assert isinstance(stream, httpx.AsyncByteStream)
    rest, size = aiter(stream), 0
    try:
        async for part in rest:
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                response.stream = _ResumedAsync(parts, rest, stream)
                return None
    except Exception as problem:
        response.stream = _ResumedAsync(parts, _failing_async(problem), stream)
        return None
    await stream.aclose()
    response.stream = httpx.ByteStream(b"".join(parts))
    return b"".join(parts)


class _Resumed(httpx.SyncByteStream):
    """A body of which the first parts have been read."""

    def __init__(self, parts: list[bytes], rest: Iterator[bytes], stream: httpx.SyncByteStream) -> None:
        self._parts, self._rest, self._stream = parts, rest, stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        yield from self._rest

    def close(self) -> None:
        self._stream.close()


class _ResumedAsync(httpx.AsyncByteStream):
    def __init__(self, parts: list[bytes], rest: AsyncIterator[bytes], stream: httpx.AsyncByteStream) -> None:
        self._parts, self._rest, self._stream = parts, rest, stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        async for part in self._rest:
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def _failing(problem: Exception) -> Iterator[bytes]:
    yield b""
    raise problem


async def _failing_async(problem: Exception) -> AsyncIterator[bytes]:
    yield b""
    raise problem


def _answer(response: httpx.Response, raw: bytes | None) -> Answer:
    """Return an answer, of which nothing was read if `raw` is None."""
    headers = tuple(response.headers.multi_items())
    if raw is None:
        return Answer(response.status_code, headers, b"", response)
    body = raw if response.is_closed else unpacked(headers, raw)
    # The caller's response is made anew from the bytes as they came.
    unread = ExplainedResponse(
        response.status_code, headers=response.headers, stream=httpx.ByteStream(raw), extensions=response.extensions
    )
    return Answer(response.status_code, headers, body, unread)


def _response(outcome: Outcome) -> httpx.Response:
    response = outcome.answer.native
    assert isinstance(response, httpx.Response)
    response.extensions[EXTENSION] = outcome
    return response
