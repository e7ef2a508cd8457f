"""A gRPC call as its HTTP/2 messages have it: metadata, the one message of a request, a status. No I/O.

Knows: the gRPC protocol over HTTP/2 (PROTOCOL-HTTP2.md). Does not know: descriptors, feedback, who carries calls.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

from corrigible.proxy.http.messages import Headers
from corrigible.schema.content_encoding import coding

STATUS: Final = "grpc-status"
MESSAGE: Final = "grpc-message"
_OF_THE_TRANSPORT: Final = re.compile(r"content-type|te|host|connection|grpc-(?!trace-bin|tags-bin|previous-rpc).*|:.*")
"""Headers that are no metadata of a call."""
_TIMEOUT: Final = re.compile(r"(\d{1,8})([HMSmun])")
_UNITS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_PREFIX: Final = 5


def metadata_of(headers: Headers, *, kept: Iterable[str] = ()) -> tuple[tuple[str, str | bytes], ...]:
    """Return the metadata among headers, binary values decoded; `kept` names headers of the transport to keep."""
    out: list[tuple[str, str | bytes]] = []
    for name, value in headers:
        low = name.lower()
        if low not in kept and _OF_THE_TRANSPORT.fullmatch(low):
            continue
        if low.endswith("-bin"):
            out += [(low, decoded_value(part)) for part in value.split(",")]
        else:
            out.append((low, value))
    return tuple(out)


def decoded_value(text: str) -> bytes:
    """Return a binary value: base64, padded or not. What is neither is empty."""
    text = text.strip()
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return b""


def status_of(headers: Headers) -> tuple[int, str] | None:
    """Return code and message of the headers or trailers that end a call; None if they end none."""
    values = {name.lower(): value for name, value in headers}
    code = values.get(STATUS, "")
    if not code.isdigit() or len(code) > 2:
        return None
    return int(code), unquote_to_bytes(values.get(MESSAGE, "")).decode("utf-8", "replace")


def single_message(body: bytes, encoding: str, limit: int) -> bytes | None:
    """Return the message of a request that has exactly one; None if there is none, several, or one that is not read."""
    if len(body) < _PREFIX or len(body) - _PREFIX != int.from_bytes(body[1:_PREFIX], "big"):
        return None
    message = body[_PREFIX:]
    if not body[0]:
        return message
    scheme = coding(encoding)
    try:
        return scheme.decode(message, limit) if scheme is not None else None
    except ValueError:
        return None


def seconds_of(headers: Headers) -> float | None:
    """Return how long a caller said that it waits, from its call on; None if it did not say."""
    text = next((value for name, value in headers if name.lower() == "grpc-timeout"), "")
    match = _TIMEOUT.fullmatch(text)
    return int(match[1]) * _UNITS[match[2]] if match is not None else None
