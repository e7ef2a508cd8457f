"""A gRPC client that works on bytes, and shows everything that a client sees of a call.

Knows: grpcio. Does not know: checks, who is on the other side.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from corrigible.conformance.model.background import go_on, hold
from corrigible.schema.exchange import Json
from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback

from .http1 import connected

Metadata = tuple[tuple[str, str | bytes], ...]

DETAILS: Final = "grpc-status-details-bin"
OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.absolute_max_metadata_size", 1 << 20),
    ("grpc.so_reuseport", 0),
    ("grpc.enable_retries", 0),
)
OURS: Final = "corrigible.schema.v0_1.RecoveryFeedback"


@dataclass(frozen=True, slots=True)
class GrpcCall:
    """One call as it goes out; all four kinds are messages that go and messages that come."""

    method: str
    """`/package.Service/Method`."""
    messages: tuple[bytes, ...] = (b"",)
    metadata: Metadata = ()
    compressed: bool = False

    def adding(self, *metadata: tuple[str, str | bytes]) -> GrpcCall:
        return replace(self, metadata=(*self.metadata, *metadata))

    def value(self, key: str) -> str | bytes | None:
        return next((value for name, value in self.metadata if name == key), None)


@dataclass(frozen=True)
class GrpcResult:
    """One call as it ended."""

    messages: tuple[bytes, ...]
    code: int
    message: str
    initial: Metadata
    trailing: Metadata
    seconds: float = 0.0

    @property
    def details(self) -> tuple[bytes, ...]:
        """Every `grpc-status-details-bin` there is."""
        return tuple(value for key, value in self.trailing if key == DETAILS and isinstance(value, bytes))

    @property
    def others(self) -> Metadata:
        """The trailing metadata besides."""
        return tuple(entry for entry in self.trailing if entry[0] != DETAILS)

    @cached_property
    def status(self) -> Any:
        """The google.rpc.Status, None where there is none or it cannot be read."""
        if len(self.details) != 1:
            return None
        try:
            return status_pb2.Status.FromString(self.details[0])
        except DecodeError:
            return None

    @cached_property
    def feedback(self) -> Mapping[str, Json] | None:
        """The members of the last detail that is feedback, whatever they hold; None where none is."""
        for detail in reversed(self.status.details if self.status is not None else ()):
            if detail.type_url.rpartition("/")[2] == OURS:
                try:
                    return members(RecoveryFeedback.FromString(detail.value))
                except (DecodeError, ValueError):
                    return None
        return None

    @property
    def size(self) -> int:
        """Bytes of its trailers as RFC 9113 section 6.5.2 counts them, binary values in base64."""
        status = (("grpc-status", str(self.code)), ("grpc-message", self.message))
        return sum(len(key) + _length(value) + 32 for key, value in (*self.trailing, *status))


def members(message: Any) -> dict[str, Json]:
    """Return feedback, or a part of it, as JSON. Nothing is judged. Raises ValueError for a literal that is no JSON."""
    document: dict[str, Json] = {"parameters": {}} if message.DESCRIPTOR.name == "Suggestion" else {}
    for field, value in message.ListFields():
        name, said = field.name, value
        if name.endswith("_json"):
            name, said = name.removesuffix("_json"), json.loads(value)
        elif field.enum_type is not None:
            said = _enum_word(field.enum_type, value)
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            said = dict(value)
        elif field.message_type is not None:
            said = [members(item) for item in value] if field.is_repeated else members(value)
        elif field.is_repeated:
            said = list(value)
        document[name] = said
    return document


def _enum_word(kind: Any, number: int) -> str:
    """Return a word as JSON has it: in lower case, but for the ladder of applicability."""
    enum_value = kind.values_by_number.get(number)
    if enum_value is None:
        return f"#{number}"
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.name).upper() + "_"
    word: str = enum_value.name.removeprefix(prefix)
    return word if kind.name == "Applicability" else word.lower()


def _length(value: str | bytes) -> int:
    return (len(value) + 2) // 3 * 4 if isinstance(value, bytes) else len(value.encode())


class GrpcClient:
    """A client's connection of its own. It takes trailers of any size; `usual` takes what clients take by default."""

    def __init__(
        self, address: str, *, usual: bool = False, listener: Callable[[GrpcCall, GrpcResult], None] | None = None
    ) -> None:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        options = [*(() if usual else OPTIONS), ("grpc.use_local_subchannel_pool", 1), ("SingleThreadedUnaryStream", 1)]
        self.address, self._heard = address, listener
        go_on()
        self._channel = hold(grpc.insecure_channel(address, options), grpc.Channel.close)

    def __enter__(self) -> GrpcClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def reachable(self, timeout: float) -> bool:
        """Whether anything listens at the other end."""
        host, _, port = self.address.rpartition(":")
        try:
            connected((host.strip("[]"), int(port)), timeout).close()
        except (OSError, ValueError):
            return False
        return True

    def open(self, call: GrpcCall, requests: Iterator[bytes] | bytes, timeout: float | None) -> Any:
        """Begin a call whose messages come from elsewhere; one message alone takes no thread."""
        go_on()
        stub: Any = self._channel.unary_stream if isinstance(requests, bytes) else self._channel.stream_stream
        compression = grpc.Compression.Gzip if call.compressed else None
        return stub(call.method)(requests, metadata=call.metadata, timeout=timeout, compression=compression)

    def send(self, sent: GrpcCall, *, timeout: float = 10.0) -> GrpcResult:
        """Make one call to its end. A refusal is an answer; nothing is raised."""
        began, messages = time.monotonic(), list[bytes]()
        call = self.open(sent, sent.messages[0] if len(sent.messages) == 1 else iter(sent.messages), timeout)
        with contextlib.suppress(grpc.RpcError):  # how it ended is asked for below
            for message in call:
                messages.append(message)  # those before a refusal count as well
        go_on()
        result = GrpcResult(
            tuple(messages),
            call.code().value[0],
            call.details() or "",
            _pairs(call.initial_metadata()),
            _pairs(call.trailing_metadata()),
            time.monotonic() - began,
        )
        if self._heard is not None:
            self._heard(sent, result)
        return result


def _pairs(metadata: Any) -> Metadata:
    return tuple((key, value) for key, value in metadata or ())
