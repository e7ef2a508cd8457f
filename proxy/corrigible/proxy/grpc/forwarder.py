"""Carries gRPC calls to an upstream and back as bytes: all four kinds, with metadata, deadlines and cancellation.

Knows: grpc.aio. Does not know: descriptors, feedback. What becomes of a refusal's trailers is somebody else's decision.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import grpc
from grpc import aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from .channel import OPTIONS, Upstream
from .status import caller_text, failure_of

Metadata = tuple[tuple[str, str | bytes], ...]

KEPT: Final = 1 << 20
"""Bytes of a request up to which it is kept for correcting."""
HELD: Final = 128 << 20
"""Bytes of messages that are held in all. A small compressed message may be a large one."""
FULL: Final = "the proxy holds as many messages as it may"
GONE: Final = "the caller went away"
_PATH: Final = re.compile(r"/[!-~]+")
_MOMENT: Final = 0.01
"""Seconds."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call, and how it ended."""

    method: str
    """`/package.Service/Method`."""
    metadata: Metadata
    """As the caller sent it."""
    request: bytes | None
    """The first message, None where there was none, it is too large, or others followed it."""
    code: int
    message: str
    trailers: Metadata
    started: float = 0.0
    """Unix seconds."""
    seconds: float | None = None
    """That the caller still waits; None where it does not say."""
    peer: str = ""
    """The address of who calls, without a port."""
    failure: str | None = None
    """What was wrong with the upstream, where gRPC itself made the status: nobody there answered."""
    answer: bytes | None = None
    """Of a method that is known to give one message."""


class CallObserver(Protocol):
    """Observes calls."""

    def is_unary(self, method: str) -> bool:
        """Whether a method is known to take one message and give one: that is carried at less cost."""

    def call_started(self, metadata: Metadata) -> None:
        """Hear of a call, and what came with it."""

    def call_ended(self, ending: CallResult) -> None:
        """Hear of a call that needs nothing more: it went well, or nobody waits for it."""

    async def corrected_trailers(self, refusal: CallResult) -> Metadata | None:
        """Return the trailers to send instead, None where the upstream's own stay."""


class BufferFull(Exception):
    """A message finds no room."""


class BufferBudget:
    """What messages under way take together."""

    def __init__(self, most: int = HELD) -> None:
        self._left = most

    @contextlib.contextmanager
    def reserved(self, message: bytes) -> Iterator[None]:
        """Account for a message while it is held. Raises Full where there is no room."""
        if len(message) > self._left:
            raise BufferFull
        self._left -= len(message)
        try:
            yield
        finally:
            self._left += len(message)

    def reserve(self, message: bytes | None) -> bool:
        """Account for a message until it is dropped; False where there is no room."""
        if message is None or len(message) > self._left:
            return False
        self._left -= len(message)
        return True

    def release(self, message: bytes | None) -> None:
        self._left += len(message or b"")


class Forwarder(grpc.GenericRpcHandler):
    """Handles every method there is by asking the upstream."""

    def __init__(self, upstream: Upstream, observer: CallObserver, room: BufferBudget) -> None:
        self._upstream, self._observer, self._room = upstream, observer, room

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        method = details.method
        if not _PATH.fullmatch(method):
            return (
                None  # RFC 9113 8.2.1, 8.3.1: blanks and controls make it malformed, and the upstream another request
            )
        if self._observer.is_unary(method):
            return grpc.unary_unary_rpc_method_handler(functools.partial(self._forward_unary, method))
        # One message is a stream of one: on the wire the four kinds are the same.
        return grpc.stream_stream_rpc_method_handler(functools.partial(self._forward_stream, method))

    async def _forward_unary(self, method: str, request: bytes, context: aio.ServicerContext[Any, Any]) -> bytes:
        try:
            with self._room.reserved(request):
                return await self._forward_call(method, request, context)
        except BufferFull:
            await self._refuse(method, context, time.time())
            raise

    async def _refuse(self, method: str, context: aio.ServicerContext[Any, Any], started: float) -> None:
        """End a call that finds no room. Raises, as every abort does."""
        self._ended(CallResult(method, _metadata(context), None, _RESOURCE_EXHAUSTED, FULL, (), started))
        await context.abort(CODES[_RESOURCE_EXHAUSTED], FULL)

    async def _forward_call(self, method: str, request: bytes, context: aio.ServicerContext[Any, Any]) -> bytes:
        started, metadata = time.time(), _metadata(context)
        self._began(metadata)
        answer = b""
        with self._upstream.channel() as channel:
            make: Any = channel.unary_unary(method)
            call = make(request, timeout=context.time_remaining(), metadata=aio.Metadata(*forwarded_metadata(metadata)))
            try:
                answer = await call
            except aio.AioRpcError:
                pass  # how it ended is asked for below
            except asyncio.CancelledError:
                self._ended(CallResult(method, metadata, None, _CANCELLED, GONE, (), started))
                raise
            initial = tuple(await call.initial_metadata())
            code, message, trailers, failure = await _ending(call, channel)
        if initial:
            await context.send_initial_metadata(initial)
        kept_request = request if len(request) <= KEPT else None
        left = context.time_remaining()
        ending = CallResult(
            method, metadata, kept_request, code, message, trailers, started, left, _peer(context), failure, answer
        )
        trailers = await self._trailers(ending)
        if code:
            await context.abort(CODES[code], message, trailers)
        context.set_trailing_metadata(trailers)
        if message:
            context.set_details(message)
        return answer

    async def _forward_stream(
        self, method: str, requests: AsyncIterator[bytes], context: aio.ServicerContext[Any, Any]
    ) -> None:
        messages = _RequestStream(requests, self._room)
        try:
            await self._stream(method, messages, context)
        finally:
            messages.forget()

    async def _stream(self, method: str, messages: _RequestStream, context: aio.ServicerContext[Any, Any]) -> None:
        started, metadata = time.time(), _metadata(context)
        self._began(metadata)
        with self._upstream.channel() as channel:
            call: Any = channel.stream_stream(method)(
                timeout=context.time_remaining(), metadata=aio.Metadata(*forwarded_metadata(metadata))
            )
            forwarding = asyncio.create_task(messages.forward(call))
            try:
                await _return_messages(call, context, self._room)
            except aio.AioRpcError:
                pass  # how it ended is asked for below
            except BufferFull:
                messages.is_full = True
            except asyncio.CancelledError:
                if not messages.is_full:
                    self._ended(CallResult(method, metadata, None, _CANCELLED, GONE, (), started))
                    raise
            finally:
                forwarding.cancel()
                if not call.done():
                    call.cancel()  # the caller went away
            if messages.is_full:
                await self._refuse(method, context, started)
            code, message, trailers, failure = await _ending(call, channel)
        left = context.time_remaining()
        ending = CallResult(
            method, metadata, messages.single_message, code, message, trailers, started, left, _peer(context), failure
        )
        context.set_trailing_metadata(await self._trailers(ending))
        if message:
            context.set_details(message)
        if code:
            context.set_code(CODES[code])

    # The law: whatever goes wrong with the observer, calls go on and the native status passes.

    def _began(self, metadata: Metadata) -> None:
        with contextlib.suppress(Exception):
            self._observer.call_started(metadata)

    def _ended(self, ending: CallResult) -> None:
        with contextlib.suppress(Exception):
            self._observer.call_ended(ending)

    async def _trailers(self, ending: CallResult) -> Metadata:
        if not ending.code:
            self._ended(ending)
            return ending.trailers
        try:
            return await self._observer.corrected_trailers(ending) or ending.trailers
        except Exception:  # the law, as above: a mistake of ours costs the feedback, never the native status
            return ending.trailers


def _metadata(context: aio.ServicerContext[Any, Any]) -> Metadata:
    return tuple((key, value) for key, value in context.invocation_metadata() or ())


def _peer(context: aio.ServicerContext[Any, Any]) -> str:
    """Return the caller's address: gRPC says `ipv4:127.0.0.1:50412`."""
    return (context.peer() or "").rpartition(":")[0]


async def _return_messages(call: Any, context: aio.ServicerContext[Any, Any], room: BufferBudget) -> None:
    """Give a caller the headers and messages of an answer. Raises AioRpcError where it ends as a refusal, and Full."""
    initial = tuple(await call.initial_metadata())
    headers = None
    if initial:
        await context.send_initial_metadata(initial)
    else:
        # Trailers of an error that come without headers stay so: they are just behind, if there are no headers.
        headers = _Headers(context)
    try:
        message = await call.read()
    finally:
        if headers is not None:
            await headers.finish()
    while message is not aio.EOF:
        with room.reserved(message):
            await context.write(message)
        message = await call.read()


class _Headers:
    """Headers with nothing in them: sent in a moment, unless something else is to be sent by then."""

    def __init__(self, context: aio.ServicerContext[Any, Any]) -> None:
        self._context = context
        self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._send)
        self._sending: asyncio.Task[None] | None = None

    def _send(self) -> None:
        self._sending = asyncio.create_task(self._context.send_initial_metadata(()))

    async def finish(self) -> None:
        """Return when they are sent, or never will be by this."""
        self._timer.cancel()
        if self._sending is not None:
            await self._sending


def forwarded_metadata(metadata: Metadata) -> list[tuple[str, str | bytes]]:
    """Return the caller's metadata that goes upstream, without the fields that gRPC writes itself."""
    return [(key, value) for key, value in metadata if key != "user-agent"]


class _RequestStream:
    """The messages of a caller on their way, the first of them kept as long as it is the only one."""

    def __init__(self, requests: AsyncIterator[bytes], room: BufferBudget) -> None:
        self._requests, self._room = requests, room
        self.is_full = False
        """Whether a message found no room."""
        self.single_message: bytes | None = None
        self._count = 0

    def forget(self) -> None:
        """Keep no message any more."""
        self._room.release(self.single_message)
        self.single_message = None

    async def forward(self, call: Any) -> None:
        try:
            await call.wait_for_connection()
            async for message in self._requests:
                self._count += 1
                self.forget()
                if self._count == 1 and len(message) <= KEPT and self._room.reserve(message):
                    self.single_message = message
                with self._room.reserved(message):
                    await send(call, message)
            await call.done_writing()
        except BufferFull:
            self.is_full = True
            call.cancel()
        except (aio.AioRpcError, cygrpc.InternalError):
            return  # the call has ended: whoever reads it is told how


async def send(call: Any, message: bytes) -> None:
    """Send one message. Raises InternalError where the call has ended.

    That is not what `call.write` does: it overwrites the status of a call that has ended meanwhile with INTERNAL
    (https://github.com/grpc/grpc/issues/36066).
    """
    await call._cython_call.send_serialized_message(message)


async def _ending(call: Any, channel: aio.Channel) -> tuple[int, str, Metadata, str | None]:
    """Return how a call ended, and what was wrong with the upstream where that is gRPC's own word.

    An upstream may say the same of another server, over a connection that is there: that stays as it is.
    """
    code, message = (await call.code()).value[0], await call.details() or ""
    trailers = tuple((key, value) for key, value in await call.trailing_metadata() or ())
    failure = failure_of(code, message, trailers)
    if failure is None or channel.get_state() not in _UNCONNECTED:
        return code, message, trailers, None
    return code, caller_text(failure), trailers, failure


CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}
_UNCONNECTED: Final = frozenset({grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.CONNECTING})
_CANCELLED: Final = 1
_RESOURCE_EXHAUSTED: Final = 8


async def serve(
    address: str,
    upstream: Upstream,
    observer: CallObserver,
    credentials: grpc.ServerCredentials | None = None,
    *,
    room: BufferBudget | None = None,
) -> tuple[aio.Server, int]:
    """Return a started server and its port. Raises RuntimeError where the address is taken."""
    server = aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((Forwarder(upstream, observer, room or BufferBudget()),))
    port = server.add_insecure_port(address) if credentials is None else server.add_secure_port(address, credentials)
    await server.start()
    return server, port
