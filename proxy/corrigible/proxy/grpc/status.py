"""A gRPC status as JSON for the pipeline, and feedback back into its details.

Knows: google.rpc.Status, its trailers, what fits into them. Does not know: grpc, calls, what any rule says.
"""

from __future__ import annotations

import base64
import errno
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

import orjson
from google.protobuf import any_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.convert import to_proto
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import parse

DETAILS: Final = "grpc-status-details-bin"
MOST_ADDED: Final = 4096
"""Bytes of the Any that carries feedback."""
MOST_TRAILERS: Final = 8000
"""Bytes of trailers in all: beyond some 8 KiB clients lose the real status."""
_ENTRY: Final = 32
"""What a header costs besides its name and value (RFC 9113 section 6.5.2, RFC 7541 section 4.1)."""

Metadata = tuple[tuple[str, str | bytes], ...]

# google/rpc/code.proto, "HTTP Mapping". What JSON over HTTP shows of the same refusal, so that one rule reads both.
HTTP: Final[Mapping[int, int]] = {
    **{0: 200, 1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429},
    **{9: 400, 10: 409, 11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401},
}


_UNAVAILABLE: Final = 14
_CONNECT_ERROR: Final = re.compile(
    r"ipv[46]:(?P<address>\S+?): (?:.*: )?(?P<reason>[^:()]+?)(?: \(\d+\))?\Z", re.DOTALL
)
_NO_NAME: Final = ("DNS resolution failed", "errors resolving ")
_NO_CONNECTION: Final = (
    "failed to connect to all addresses",
    "Ssl handshake failed",
    *_NO_NAME,
)
_REASONS: Final = frozenset({*(os.strerror(number).lower() for number in errno.errorcode), "socket closed"})
"""Why there is no connection, in words that do not say where."""


class Unreadable(CorrigibleError):
    """The native details are no google.rpc.Status: nothing may be added to them."""


def native_status(code: int, message: str, trailers: Metadata) -> status_pb2.Status:
    """Return the status that was sent; one of the same code and message where only those were."""
    statuses = [value for key, value in trailers if key == DETAILS]
    if not statuses:
        return status_pb2.Status(code=code, message=message)
    try:
        status = status_pb2.Status.FromString(_bytes(statuses[0]))
    except DecodeError:
        raise Unreadable(f"{DETAILS} is no google.rpc.Status") from None
    if len(statuses) > 1 or status.code != code:
        raise Unreadable(f"{DETAILS} is about another status")
    return status


def failure_of(code: int, message: str, trailers: Metadata) -> str | None:
    """Return what was wrong with the upstream, where gRPC itself made the status: nobody there answered."""
    if code != _UNAVAILABLE or trailers or not message.startswith(_NO_CONNECTION):
        return None
    match = _CONNECT_ERROR.search(message)
    if match is None or match["reason"].lower() not in _REASONS:
        return message
    return f"{match['reason'].lower()} ({unquote(match['address'])})"


def caller_text(failure: str) -> str:
    """Return what callers are told of a failure: not where the upstream is."""
    reason = failure.partition(" (")[0]
    if reason not in _REASONS:
        reason = "its name is not known" if failure.startswith(_NO_NAME) else "it cannot be reached"
    return f"corrigible: no connection to the upstream: {reason}"


def status_json(status: status_pb2.Status, pool: descriptor_pool.DescriptorPool) -> dict[str, Json]:
    """Return `{code, message, details}`, each detail with its `@type`; one of a type not known here keeps its bytes."""
    return {
        "code": status.code,
        "message": status.message,
        "details": [_detail(detail, pool) for detail in status.details],
    }


def _detail(detail: any_pb2.Any, pool: descriptor_pool.DescriptorPool) -> dict[str, Json]:
    name = detail.type_url.rpartition("/")[2]
    for types in (pool, _KNOWN):
        try:
            kind = message_factory.GetMessageClass(types.FindMessageTypeByName(name))
            document = json_format.MessageToDict(kind.FromString(detail.value), descriptor_pool=types)
        except (KeyError, DecodeError, TypeError, ValueError):
            continue
        members: dict[str, Json] = document if isinstance(document, dict) else {"value": document}
        return {"@type": detail.type_url, **members}
    return {"@type": detail.type_url, "value": base64.b64encode(detail.value).decode()}


_KNOWN: Final = error_details_pb2.DESCRIPTOR.pool


def annotated(
    trailers: Metadata, status: status_pb2.Status, message: str, feedback: Mapping[str, Json]
) -> Metadata | None:
    """Return the trailers with the feedback as the last detail, None where it finds no room.

    Suggestions are cut from the end until it fits, never what the upstream said.
    """
    others = tuple((key, value) for key, value in trailers if key != DETAILS)
    size = sum(map(_size, others)) + _size(("grpc-message", message)) + _size(("grpc-status", "99"))
    for shorter in _shorter(feedback):
        detail = any_pb2.Any()
        detail.Pack(to_proto(parse(shorter)))
        whole = status_pb2.Status()
        whole.CopyFrom(status)
        whole.details.append(detail)
        entry = (DETAILS, whole.SerializeToString())
        if len(detail.SerializeToString()) <= MOST_ADDED and size + _size(entry) <= MOST_TRAILERS:
            return (*others, entry)
    return None


def _shorter(feedback: Mapping[str, Json]) -> Sequence[dict[str, Json]]:
    """Return the feedback, and then with ever fewer suggestions; groups that only make sense whole stay whole."""
    suggestions: list[dict[str, Json]] = list(feedback["suggestions"])
    out: list[dict[str, Json]] = []
    while suggestions:
        out.append({**feedback, "suggestions": list(suggestions)})
        group = suggestions.pop().get("group")
        if group is not None and group["relation"] != "one_of":
            suggestions = [s for s in suggestions if s.get("group") != group]
    return out


def _size(entry: tuple[str, str | bytes]) -> int:
    key, value = entry
    length = (len(value) + 2) // 3 * 4 if isinstance(value, bytes) else len(value.encode())  # -bin goes out as base64
    return len(key) + length + _ENTRY


def _bytes(value: str | bytes) -> bytes:
    return value.encode("latin-1") if isinstance(value, str) else value


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return a status as the body that the pipeline reads."""
    return orjson.dumps(document)
