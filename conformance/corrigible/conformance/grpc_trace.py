"""gRPC calls as a person reads them: proto-JSON where the shop knows the message, hexadecimal where nobody does.

Knows: what a call holds. Does not know: connections, checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from corrigible.schema.exchange import Json

from .reference import grpc_shop

if TYPE_CHECKING:
    from corrigible.conformance.reference.grpc_upstream import Metadata

    from .grpc_wire import GrpcGot, GrpcSent
    from .subject import Subject

_SHOWN: Final = 256
_MOST: Final = 10
"""Messages of one stream that are shown."""


def noting(subject: Subject, who: str) -> Callable[[GrpcSent, GrpcGot], None]:
    """Return what writes a call into the trace of a check."""
    return lambda sent, got: subject.note(who, shown(sent, got))


def shown(sent: GrpcSent, got: GrpcGot) -> str:
    """Return a call and how it ended."""
    lines = [f"> {sent.method}", *_metadata(sent.metadata, "> ")]
    lines += _messages(sent.method, sent.messages, grpc_shop.request_document)
    lines += ["", *_metadata(got.initial, "< ")]
    lines += _messages(sent.method, got.messages, grpc_shop.reply_document)
    lines += [f"< grpc-status: {got.code}", f"< grpc-message: {got.message}", *_metadata(got.trailing, "< ")]
    if got.feedback is not None:
        lines += ["", f"feedback: {json.dumps(got.feedback, indent=2, ensure_ascii=False, default=str)}"]
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
