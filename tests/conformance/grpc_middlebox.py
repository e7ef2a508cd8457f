"""A gRPC proxy that adds nothing and does one thing wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import grpc
from google.rpc import status_pb2

from corrigible.conformance.transport.grpc import DETAILS, OPTIONS, Metadata
from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback


@dataclass(frozen=True)
class Ending:
    """How a call ended, and what it was."""

    method: str
    asked: Metadata
    count: int
    """Messages that came back."""
    initial: Metadata
    code: int
    message: str
    trailing: Metadata

    @property
    def mode(self) -> str:
        return next((str(value) for key, value in self.asked if key == "recovery-feedback"), "")


def same(value: Any) -> Any:
    return value


def nobody(method: str) -> bool:
    return False


@dataclass(frozen=True)
class Fault:
    """What a box does otherwise than it should."""

    name: str
    breaks: str
    """The requirements that this breaks, no more and no less."""
    ending: Callable[[Ending], Ending] = same
    headers: Callable[[Metadata], Metadata] = same
    asked: Callable[[Metadata], Metadata] = same
    requests: Callable[[Iterator[bytes]], Iterator[bytes]] = same
    messages: Callable[[Iterable[bytes]], Iterable[bytes]] = same
    deadline: Callable[[float | None], float | None] = same
    cancels: bool = True
    hides: Callable[[str], bool] = nobody
    meddles: Callable[[Any, Ending], None] | None = None
    """Calls the upstream on its own account."""


class Box(grpc.GenericRpcHandler):
    """Carries calls as bytes."""

    def __init__(self, upstream: str) -> None:
        options = [*OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
        self.fault = Fault("none", "")
        self.channel = grpc.insecure_channel(upstream, options)

    def service(self, details: Any) -> Any:
        fault, method = self.fault, details.method
        asked: Metadata = tuple((key, value) for key, value in details.invocation_metadata if key != "user-agent")
        if fault.hides(method):
            return None

        def carry(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            left = context.time_remaining()
            left = fault.deadline(left if left is not None and left < 1e6 else None)
            make: Any = self.channel.stream_stream(method)
            call = make(fault.requests(requests), timeout=left, metadata=fault.asked(asked))
            if fault.cancels and not context.add_callback(call.cancel):
                call.cancel()
            initial: Metadata = fault.headers(tuple((key, value) for key, value in call.initial_metadata() or ()))
            if initial:
                context.send_initial_metadata(initial)
            count = 0
            with suppress(grpc.RpcError):
                for message in fault.messages(call):
                    count += 1
                    yield message
            trailing = tuple((key, value) for key, value in call.trailing_metadata() or ())
            code = call.code().value[0]
            ending = Ending(method, asked, count, initial, code, call.details() or "", trailing)
            if fault.meddles is not None:
                fault.meddles(self.channel, ending)
            ending = fault.ending(ending)
            context.set_trailing_metadata(ending.trailing)
            context.set_details(ending.message)
            if ending.code:
                context.set_code(CODES[ending.code])

        return grpc.stream_stream_rpc_method_handler(carry)


CODES = {code.value[0]: code for code in grpc.StatusCode}


@contextmanager
def boxed(upstream: str) -> Iterator[tuple[Box, str]]:
    """Run a box in front of a server; yield it, and its address."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    box = Box(upstream)
    with futures.ThreadPoolExecutor(32) as pool:
        server = grpc.server(pool, handlers=[box], options=OPTIONS)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield box, f"127.0.0.1:{port}"
        finally:
            server.stop(0).wait(20)
            box.channel.close()


def with_status(edit: Callable[[Any, Ending], None]) -> Callable[[Ending], Ending]:
    """Return a fault of the google.rpc.Status, where there is one that can be read."""

    def faulty(ending: Ending) -> Ending:
        details = [value for key, value in ending.trailing if key == DETAILS and isinstance(value, bytes)]
        try:
            (status,) = [status_pb2.Status.FromString(value) for value in details]
        except Exception:
            return ending
        edit(status, ending)
        others = tuple(entry for entry in ending.trailing if entry[0] != DETAILS)
        return replace(ending, trailing=(*others, (DETAILS, status.SerializeToString())))

    return faulty


UPSTREAMS = "The upstream's own words."
"""The message of feedback that is not the proxy's."""


def with_feedback(edit: Callable[[Any, Any, Ending], None], *, upstreams: bool = False) -> Callable[[Ending], Ending]:
    """Return a fault of the proxy's feedback, or of the upstream's: it is given the message, the status, the ending."""

    def faulty(status: Any, ending: Ending) -> None:
        for detail in status.details:
            if detail.Is(RecoveryFeedback.DESCRIPTOR):
                message = RecoveryFeedback.FromString(detail.value)
                if (message.message == UPSTREAMS) is upstreams:
                    edit(message, status, ending)
                detail.value = message.SerializeToString()

    return with_status(faulty)
