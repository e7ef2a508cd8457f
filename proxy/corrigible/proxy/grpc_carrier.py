"""Carries gRPC calls to an upstream and back as bytes: all four kinds, with metadata, deadlines and cancellation.

Knows: grpc.aio. Does not know: descriptors, feedback. What becomes of a refusal's trailers is somebody else's decision.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import grpc
from grpc import aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]

Metadata = tuple[tuple[str, str | bytes], ...]

KEPT: Final = 1 << 20
"""Bytes of a request up to which it is kept for correcting."""
OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.absolute_max_metadata_size", 1 << 20),
    ("grpc.enable_retries", 0),  # a call is carried once, whatever becomes of it
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
)
_OF_THE_HOP: Final = ("user-agent", "grpc-")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that ended with another status than OK."""

    method: str
    """`/package.Service/Method`."""
    metadata: Metadata
    """As the caller sent it."""
    request: bytes | None
    """The first message, None where there was none, it is too large, or others followed it."""
    code: int
    message: str
    trailers: Metadata


Correct = Callable[[Refusal], Awaitable[Metadata | None]]
"""Returns the trailers to send instead, or None where the upstream's own stay."""


class Carrier(grpc.GenericRpcHandler):
    """Handles every method there is by asking the upstream."""

    def __init__(self, channel: aio.Channel, correct: Correct) -> None:
        self._channel, self._correct = channel, correct

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        # One message is a stream of one: on the wire the four kinds are the same.
        return grpc.stream_stream_rpc_method_handler(functools.partial(self._carry, details.method))

    async def _carry(self, method: str, requests: AsyncIterator[bytes], context: aio.ServicerContext[Any, Any]) -> None:
        metadata: Metadata = tuple((key, value) for key, value in context.invocation_metadata() or ())
        call: Any = self._channel.stream_stream(method)(
            timeout=context.time_remaining(),
            metadata=aio.Metadata(*[(key, value) for key, value in metadata if not key.startswith(_OF_THE_HOP)]),
        )
        sent = _Sent(requests, call)
        forwarding = asyncio.create_task(sent.forward())
        try:
            initial = tuple(await call.initial_metadata())
            if initial or not call.done():
                await context.send_initial_metadata(initial)
            async for message in call:
                await context.write(message)
        except aio.AioRpcError:
            pass  # how it ended is asked for below
        finally:
            forwarding.cancel()
            if not call.done():
                call.cancel()  # the caller went away
        await self._end(Refusal(method, metadata, sent.only, *await _ending(call)), context)

    async def _end(self, ended: Refusal, context: aio.ServicerContext[Any, Any]) -> None:
        trailers = ended.trailers
        if ended.code:
            context.set_code(_CODES[ended.code])
            context.set_details(ended.message)
            trailers = await self._correct(ended) or trailers
        context.set_trailing_metadata(trailers)


class _Sent:
    """The messages of a caller on their way, the first of them kept as long as it is the only one."""

    def __init__(self, requests: AsyncIterator[bytes], call: Any) -> None:
        self._requests, self._call = requests, call
        self.only: bytes | None = None
        self._count = 0

    async def forward(self) -> None:
        try:
            await self._call.wait_for_connection()
            async for message in self._requests:
                self._count += 1
                self.only = message if self._count == 1 and len(message) <= KEPT else None
                # Not call.write(): where the upstream has ended the call meanwhile, that overwrites the upstream's
                # status with INTERNAL (https://github.com/grpc/grpc/issues/36066).
                await self._call._cython_call.send_serialized_message(message)
            await self._call.done_writing()
        except (aio.AioRpcError, cygrpc.InternalError):
            return  # the call has ended: whoever reads it is told how


async def _ending(call: Any) -> tuple[int, str, Metadata]:
    code = await call.code()
    trailing = await call.trailing_metadata()
    return code.value[0], await call.details() or "", tuple((key, value) for key, value in trailing or ())


_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}


def open_channel(target: str, credentials: grpc.ChannelCredentials | None) -> aio.Channel:
    """Return a channel to the upstream, in the clear where there are no credentials."""
    if credentials is None:
        return aio.insecure_channel(target, options=OPTIONS)
    return aio.secure_channel(target, credentials, options=OPTIONS)


async def serve(
    address: str, channel: aio.Channel, correct: Correct, credentials: grpc.ServerCredentials | None
) -> tuple[aio.Server, int]:
    """Return a started server and its port. Raises RuntimeError where the address is taken."""
    server = aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((Carrier(channel, correct),))
    port = server.add_insecure_port(address) if credentials is None else server.add_secure_port(address, credentials)
    await server.start()
    return server, port


__all__: Sequence[str] = ("Carrier", "Correct", "Metadata", "Refusal", "open_channel", "serve")
