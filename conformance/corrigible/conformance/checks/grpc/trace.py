"""gRPC calls for people: proto-JSON if the shop knows the message, else hexadecimal; and as grpcurl commands.

Knows: what a call holds. Does not know: connections, checks.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable
from typing import Final

from google.protobuf.message import DecodeError

from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcResult, Metadata
from corrigible.conformance.transport.http1 import CASE
from corrigible.schema.exchange import Json, Request

_NOT_IN_DOCUMENTS: Final = frozenset(
    {"authorization", "cookie", "proxy-authorization", "recovery-feedback", "recovery-feedback-caller", CASE}
)
_SHOWN: Final = 256
_MOST: Final = 10
"""Messages of one stream that are shown."""


def noting(subject: Subject, who: str) -> Callable[[GrpcCall, GrpcResult], None]:
    """Return what writes a call into the trace of a check."""
    return lambda sent, result: subject.note(who, shown(sent, result))


def shown(call: GrpcCall, result: GrpcResult) -> str:
    """Return a call and how it ended."""
    lines = [f"> {call.method}", *_metadata(call.metadata, "> ")]
    lines += _messages(call.method, call.messages, grpc_shop.request_document)
    lines += ["", *_metadata(result.initial, "< ")]
    lines += _messages(call.method, result.messages, grpc_shop.reply_document)
    lines += [f"< grpc-status: {result.code}", f"< grpc-message: {result.message}", *_metadata(result.trailing, "< ")]
    if result.feedback is not None:
        lines += ["", f"feedback: {json.dumps(result.feedback, indent=2, ensure_ascii=False, default=str)}"]
    return "\n".join(lines)


def _metadata(metadata: Metadata, mark: str) -> list[str]:
    return [f"{mark}{key}: {_bytes(value) if isinstance(value, bytes) else value}" for key, value in metadata]


def _messages(method: str, messages: tuple[bytes, ...], read: Callable[[str, bytes], Json]) -> list[str]:
    lines = []
    for message in messages[:_MOST]:
        try:
            lines.append(json.dumps(read(method, message), ensure_ascii=False))
        except (KeyError, ValueError, DecodeError):
            lines.append(_bytes(message))
    return [*lines, f"... {len(messages) - _MOST} messages more"] if len(messages) > _MOST else lines


def _bytes(value: bytes) -> str:
    return f"({len(value)} bytes) {value[:_SHOWN].hex(' ')}"


def request_document(call: GrpcCall) -> Request:
    """Return the request document of section 2.2 of the contract for what was sent."""
    headers = {key: value for key, value in call.metadata if isinstance(value, str) and key not in _NOT_IN_DOCUMENTS}
    body = grpc_shop.request_document(call.method, call.messages[0]) if len(call.messages) == 1 else None
    return Request(call.method, "", headers=headers, body=body)


def grpcurl(address: str, call: GrpcCall) -> str:
    """Return the command line that makes this call again."""
    words = ["grpcurl", "-plaintext"]
    for key, value in call.metadata:
        words += ["-H", f"{key}: {base64.b64encode(value).decode() if isinstance(value, bytes) else value}"]
    if call.method in grpc_shop.METHODS:
        words += ["-protoset", str(grpc_shop.DESCRIPTORS)]
        try:
            messages = [json.dumps(grpc_shop.request_document(call.method, message)) for message in call.messages]
        except DecodeError:
            messages = []
        words += ["-d", " ".join(messages)]
    return shlex.join([*words, address, call.method.lstrip("/")])
