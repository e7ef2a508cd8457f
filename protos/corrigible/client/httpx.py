"""httpx: a transport for `httpx.Client`, one for `httpx.AsyncClient`, and event hooks that only explain.

    client = httpx.Client(transport=CorrigibleTransport(on_refusal="repair"))

`response.raise_for_status()` raises an `httpx.HTTPStatusError` whose text shows the correction, and
`response.extensions["corrigible"]` is the `Outcome`: the explanation, the feedback, what was corrected.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Unpack

import httpx

from corrigible.schema.content_encoding import Start, decoded_start

from .answer import MOST_BYTES, Answer, may_refuse, unpacked
from .correction import Outcome, explained
from .driver import Calls, corrected, drive, drive_async
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
        read = request.read if isinstance(request.stream, httpx.SyncByteStream) else None
        return drive(_exchange(request, read, self._transport.handle_request, self._policy))

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
        read = request.aread if isinstance(request.stream, httpx.AsyncByteStream) else None
        return await drive_async(_exchange(request, read, self._transport.handle_async_request, self._policy))

    async def aclose(self) -> None:
        await self._transport.aclose()


def _exchange(
    request: httpx.Request, read: Callable[[], Any] | None, handle: Callable[[httpx.Request], Any], policy: Policy
) -> Calls[httpx.Response]:
    """Yield the calls of a request and of its corrections: `read` takes its body, `handle` sends it."""
    if _is_small(request) and read is not None:
        yield read
    response: httpx.Response = yield partial(handle, request)
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return response

    def send(again: SentRequest) -> Calls[Answer]:
        with _unwritten():
            return (yield from _read((yield partial(handle, _request(again, request)))))

    outcome = yield from corrected(_sent(request), (yield from _read(response)), policy, send)
    response = outcome.answer.native  # type: ignore[assignment]  # of this library
    response.extensions[EXTENSION] = outcome
    return response


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
    drive(_explained(response))


async def explain_refusal_async(response: httpx.Response) -> None:
    """The same for `httpx.AsyncClient`."""
    await drive_async(_explained(response))


def _explained(response: httpx.Response) -> Calls[None]:
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return
    outcome = explained(_sent(response.request), _answer(response, (yield from _taken(response))))
    if outcome.explanation:
        start = f"{response.status_code} {response.reason_phrase} for url '{response.url}'"
        raise httpx.HTTPStatusError(outcome.error_text(start), request=response.request, response=response)


def start_of(response: httpx.Response, most: int) -> Calls[Start]:
    """Return the first bytes of a body, unpacked, and close the response: no more of it is read."""
    body, raw = _Body(response.stream), bytearray()
    try:
        while len(raw) <= most and (part := (yield body.next)) is not None:
            raw += part
    finally:
        yield response.close if body.is_sync else response.aclose
    try:
        return decoded_start(response.headers.multi_items(), bytes(raw), most)
    except ValueError:  # broken, or in a coding that is not known here
        return Start(bytes(raw[:most]), is_whole=len(raw) <= most)


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


def _read(response: httpx.Response) -> Calls[Answer]:
    if not may_refuse(response.status_code, response.headers.multi_items()):
        return Answer(response.status_code, native=response)
    return _answer(response, (yield from _taken(response)))


def _taken(response: httpx.Response) -> Calls[bytes | None]:
    """Return a body as it came, which the response keeps.

    None if it is too long or breaks off: the response goes on where the reading has ended, for the caller.
    """
    if response.is_closed:  # it has been read already
        return response.content if len(response.content) <= MOST_BYTES else None
    body, parts, size = _Body(response.stream), list[bytes](), 0
    try:
        while size <= MOST_BYTES and (part := (yield body.next)) is not None:
            parts.append(part)
            size += len(part)
    except Exception as problem:  # as the caller would see it, who may want what came before
        response.stream = body.resumed(parts, problem)
        return None
    except BaseException:  # a cancellation: nobody gets the response, so nobody else closes it
        yield body.close
        raise
    if size > MOST_BYTES:
        response.stream = body.resumed(parts)
        return None
    yield body.close
    response.stream = httpx.ByteStream(b"".join(parts))
    return b"".join(parts)


class _Body:
    """The stream of a response, part by part; None is its end."""

    def __init__(self, stream: object) -> None:
        self.next: Callable[[], Any]
        self.close: Callable[[], Any]
        self.is_sync = isinstance(stream, httpx.SyncByteStream)
        if isinstance(stream, httpx.SyncByteStream):
            self.next, self.close = partial(next, iter(stream), None), stream.close
        else:
            assert isinstance(stream, httpx.AsyncByteStream)
            self.next, self.close = partial(anext, aiter(stream), None), stream.aclose

    def resumed(self, parts: list[bytes], problem: Exception | None = None) -> _Resumed | _ResumedAsync:
        """Return a stream with the parts that have been read, and then the rest, or the problem with the rest."""
        return (_Resumed if self.is_sync else _ResumedAsync)(parts, self, problem)


class _Resumed(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body of which the first parts have been read. Where its rest is at hand, both kinds of clients may read it."""

    def __init__(self, parts: list[bytes], body: _Body, problem: Exception | None = None) -> None:
        self._parts, self._body, self._problem = parts, body, problem

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        if self._problem is not None:
            raise self._problem
        while (part := self._body.next()) is not None:
            yield part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part

    def close(self) -> None:
        self._body.close()

    async def aclose(self) -> None:
        self._body.close()


class _ResumedAsync(httpx.AsyncByteStream):
    """The same where the rest has to be awaited."""

    def __init__(self, parts: list[bytes], body: _Body, problem: Exception | None = None) -> None:
        self._parts, self._body, self._problem = parts, body, problem

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        if self._problem is not None:
            raise self._problem
        while (part := await self._body.next()) is not None:
            yield part

    async def aclose(self) -> None:
        await self._body.close()


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
