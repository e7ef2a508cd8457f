"""A gRPC upstream that answers by script, else as the shop, and records what it receives.

Knows: grpcio, calls as bytes. Does not know: what any answer means, checks, feedback.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, Final

import grpc

from corrigible.conformance.transport.grpc import DETAILS, OPTIONS, Metadata
from corrigible.conformance.transport.http1 import CASE

from . import grpc_shop
from .grpc_shop import Refused, Shop

HEALTH: Final = "/grpc.health.v1.Health/Check"
REFLECTION: Final = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
_TIMEOUT: Final = 30.0
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(slots=True)
class Received:
    """One call as it came in."""

    method: str
    metadata: Metadata
    remaining: float | None
    """Seconds up to its deadline; None where it has none."""
    messages: list[bytes] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    """Set once its messages are read and only its end is missing."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set once the call was over before its answer was."""

    def value(self, key: str) -> str | bytes | None:
        return next((value for name, value in self.metadata if name == key), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call goes on and ends."""

    code: int = 0
    message: str = ""
    trailing: Metadata = ()
    messages: tuple[bytes, ...] = ()
    initial: Metadata = ()
    headers_first: bool = False
    """Send the headers by themselves, so that a refusal is more than trailers."""
    echo: bool = False
    """Give every message of the caller back as it comes, before `messages`."""
    read: int | None = None
    """How many messages of the caller to read before that; None for all."""
    hold: threading.Event | None = None
    """Awaited behind the first of `messages`."""
    pause: float = 0.0
    """Seconds before the end. Cut short where the call is over by then."""
    compressed: bool = False


Answering = Callable[[Received], Answer]


def refusal(code: int, message: str, *details: Any, **more: Any) -> Answer:
    """Return a refusal with a google.rpc.Status of these details in its trailers."""
    trailing: Metadata = more.pop("trailing", ())
    status = grpc_shop.status_bytes(code, message, *details)
    return Answer(code, message, (*trailing, (DETAILS, status)), **more)


class GrpcUpstream(grpc.GenericRpcHandler):
    """A server on 127.0.0.1. Metadata `conformance-case` picks a script; health and reflection are there."""

    def __init__(self, port: int = 0) -> None:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what it says about calls that are refused is no news here
        self._lock = threading.Lock()
        self._scripts: dict[str, Answering] = {}
        self._received: list[Received] = []
        self._cases: dict[str, list[Received]] = {}
        self._shops: dict[str, Shop] = {}
        self._workers = futures.ThreadPoolExecutor(48)
        self._server = grpc.server(self._workers, handlers=[self], options=OPTIONS)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self) -> GrpcUpstream:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0).wait(_TIMEOUT)
        self._workers.shutdown()

    def script(self, case: str, answer: Answer | Answering) -> None:
        """Answer calls of a case so from now on."""
        with self._lock:
            self._scripts[case] = (lambda received: answer) if isinstance(answer, Answer) else answer

    def received(self, case: str) -> list[Received]:
        """Return the calls of a case, in the order in which they came."""
        with self._lock:
            return list(self._cases.get(case, ()))

    @property
    def calls(self) -> list[Received]:
        with self._lock:
            return list(self._received)

    def shop(self, caller: str) -> Shop:
        """Return what a caller has: everybody has a shop of his own."""
        with self._lock:
            return self._shops.setdefault(caller, Shop())

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        method = details.method
        metadata: Metadata = tuple((key, value) for key, value in details.invocation_metadata or ())
        if method == REFLECTION:
            return _reflection()
        fields = dict(metadata)
        case = fields.get(CASE, fields.get("authorization"))  # look-ups say only who asks
        with self._lock:
            script = self._scripts.get(case) if isinstance(case, str) else None
        is_known = script is not None or method in grpc_shop.METHODS or method == HEALTH

        def serve(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            remaining = context.time_remaining()
            received = Received(method, metadata, remaining if remaining is not None and remaining < 1e6 else None)
            with self._lock:
                self._received.append(received)
                self._cases.setdefault(str(case), []).append(received)
            if script is not None:
                yield from _scripted(script(received), received, requests, context)
            elif method == HEALTH:
                yield from _health(requests, context)
            elif is_known:
                yield from self._shopping(received, requests, context)
            else:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")

        return grpc.stream_stream_rpc_method_handler(serve)

    def _shopping(self, received: Received, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        shop = self.shop(str(received.value("authorization")))
        name = received.method.rpartition("/")[2]
        try:
            if name == "ImportOrders":
                received.messages += requests
                yield shop.imported(received.messages)
                return
            for message in requests:
                received.messages.append(message)
                yield from shop.call(received.method, message)
        except Refused as error:
            context.set_trailing_metadata(((DETAILS, error.status),))
            context.abort(_CODES[error.code], error.message)


def _scripted(answer: Answer, received: Received, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
    over = threading.Event()
    if not context.add_callback(over.set):
        over.set()
    if answer.compressed:
        context.set_compression(grpc.Compression.Gzip)
    if answer.initial or answer.headers_first:
        context.send_initial_metadata(answer.initial)
    for message in requests if answer.read is None or answer.read > 0 else ():
        received.messages.append(message)
        if answer.echo:
            yield message
        if len(received.messages) == answer.read:
            break
    for number, message in enumerate(answer.messages):
        yield message
        if number == 0 and answer.hold is not None:
            answer.hold.wait(_TIMEOUT)
    received.begun.set()
    if answer.pause and over.wait(answer.pause):
        received.cancelled.set()
        return
    context.set_trailing_metadata(answer.trailing)
    if answer.code:
        context.set_code(_CODES[answer.code])
    context.set_details(answer.message)


def _health(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
    """Say that the shop serves: HealthCheckRequest is service = 1, HealthCheckResponse is status = 1, SERVING."""
    requests_known = (b"", b"\x0a" + bytes([len(grpc_shop.SERVICE)]) + grpc_shop.SERVICE.encode())
    for message in requests:
        if message not in requests_known:
            context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        yield b"\x08\x01"


def _reflection() -> Any:
    from grpc_reflection.v1alpha import reflection, reflection_pb2

    servicer = reflection.ReflectionServicer((grpc_shop.SERVICE, "grpc.health.v1.Health"), pool=grpc_shop.POOL)
    return grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
