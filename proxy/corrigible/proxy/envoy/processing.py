"""An exchange as `ext_proc` tells it, part by part: what a corrector is asked, and what becomes of each part.

Knows: the questions to a corrector, heads. Does not know: gRPC, Envoy's messages, what is decided. Nothing is held back
but the body of an answer that may be a refusal, and that up to the gateway's own limit.

A gRPC call as its HTTP/2 messages have it (PROTOCOL-HTTP2.md): metadata, the one message of a request, a status.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import unquote_to_bytes

from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import DOCUMENTS, Headers, RequestHead, ResponseHead, bytes_of
from corrigible.schema.content_encoding import coding

from .http_server import Answering, Call, Reply
from .refusal_message import ENTRY, SECTIONS, written

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


_LENGTH: Final = "content-length"
_GRPC: Final = "application/grpc"


class Wants(Protocol):
    """Which parts of an exchange are of use."""

    def none_of(self, request: RequestHead) -> bool:
        """Whether the caller wants nothing added."""

    def body_of(self, request: RequestHead, response: ResponseHead) -> bool:
        """Whether an answer may be a refusal that is read."""


@dataclass(frozen=True, slots=True)
class HttpWants:
    """Those of an HTTP API."""

    corrector: HttpCorrector

    def none_of(self, request: RequestHead) -> bool:
        return self.corrector.requested_mode(request).mode is Mode.NONE

    def body_of(self, request: RequestHead, response: ResponseHead) -> bool:
        return self.corrector.wants_body(request, response) is not None


class GrpcWants:
    """Those of a gRPC API: the status tells, wherever it stands."""

    def none_of(self, request: RequestHead) -> bool:
        return False

    def body_of(self, request: RequestHead, response: ResponseHead) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Further:
    """Which parts the gateway still tells."""

    request_body: bool = False
    """Stays as it is once it is told: else what comes later would pass what still waits to be told (gRPC both ways)."""
    response: bool = True
    response_body: bool = False
    response_trailers: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """What becomes of a part: nothing, or these lines and this body (`refusal_message.head_edits`)."""

    lines: Sequence[str] = ()
    body: bytes | None = None
    further: Further | None = None
    """None: as it was."""
    entry: str = ""
    """For the access log."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The gateway answers by itself; the API is not asked."""

    headers: Headers
    body: bytes


_AS_IT_IS: Final = Edit()


class Processing:
    """One exchange. Its methods are called in the order in which its parts come."""

    def __init__(self, answering: Answering, wants: Wants, limit: int, *, asks_for_target: bool) -> None:
        """`limit`: bytes of a body that is read."""
        self._answering, self._wants, self._limit = answering, wants, limit
        self._asks_for_target = asks_for_target
        self._head: Headers = ()
        self._request: RequestHead | None = None
        self._peer = self._target = ""
        self._parts: list[bytes] = []
        self._size = 0
        self._is_whole = self._is_told = False
        self._response: Headers = ()

    async def request_headers(self, headers: Headers, *, is_end: bool, peer: str) -> Edit | Answered:
        self._head, self._peer, self._is_whole = headers, peer, is_end
        pseudo = {name: value for name, value in headers if name.startswith(":")}
        method, path = pseudo.get(":method", ""), pseudo.get(":path", "")
        if not path:
            return Edit(further=Further(response=False))
        own = [("host", pseudo.get(":authority", "")), *(one for one in headers if not one[0].startswith(":"))]
        self._request = RequestHead(method, path, own, peer)
        if path.startswith(DOCUMENTS):
            reply = await self._ask(b"/v1/document", _text(headers))
            if reply.status == 200:
                return Answered([(name.decode(), value.decode()) for name, value in reply.headers], reply.body)
        lines: list[str] = []
        if self._asks_for_target and ("?mode=" in path or "&mode=" in path):
            reply = await self._ask(b"/v1/target", _text(headers))
            if reply.status == 200 and reply.body and reply.body != bytes_of(path):
                self._target = path
                lines.append(f"=:path:{reply.body.decode()}")
        if self._wants.none_of(self._request):
            return Edit(tuple(lines), further=Further(response=False))
        length = self._value(headers, "content-length")
        self._is_told = not is_end and not (length.isdigit() and int(length) > self._limit)
        return Edit(tuple(lines), further=Further(request_body=self._is_told))

    async def request_body(self, data: bytes, *, is_end: bool) -> Edit:
        self._size += len(data)
        if self._size <= self._limit:
            self._parts.append(data)
        else:
            self._parts.clear()
        length = self._value(self._head, "content-length")
        self._is_whole = is_end or (length.isdigit() and int(length) == self._size)
        return _AS_IT_IS

    async def response_headers(self, headers: Headers, *, is_end: bool) -> Edit:
        self._response = headers
        request = self._request
        if request is None:
            return _AS_IT_IS
        if self._value(headers, "content-type").startswith(_GRPC):
            if self._value(headers, STATUS):
                return await self._ended_call(headers)
            return Edit(further=Further(request_body=self._is_told, response_trailers=True))
        status = self._value(headers, ":status")
        if not status.isdigit():
            return _AS_IT_IS
        response = ResponseHead(int(status), [one for one in headers if one[0] != ":status"])
        if not self._wants.body_of(request, response):
            if response.status < 400:
                await self._ask(b"/v1/success", _text(self._head))
            return _AS_IT_IS
        if self._size > self._limit:
            return _AS_IT_IS
        return await self._refused(b"") if is_end else Edit(further=Further(self._is_told, response_body=True))

    async def response_body(self, data: bytes, *, is_end: bool) -> Edit:
        """Take the whole body, or as much of it as the gateway's limit lets through: then nothing is changed."""
        return await self._refused(data) if is_end and len(data) <= self._limit else _AS_IT_IS

    async def response_trailers(self, trailers: Headers) -> Edit:
        return await self._ended_call(trailers) if self._request is not None else _AS_IT_IS

    async def _refused(self, body: bytes) -> Edit:
        if not self._is_whole:  # the answer came before the request had ended
            return _AS_IT_IS
        return _edit_of(await self._ask_about(_text(self._response), body, b""), body)

    async def _ended_call(self, ending: Headers) -> Edit:
        if self._value(ending, STATUS) == "0":
            await self._ask(b"/v1/success", _text(self._head))
            return _AS_IT_IS
        return _edit_of(await self._ask_about(b"", b"", _text(ending)))

    async def _ask_about(self, response: bytes, body: bytes, trailers: bytes) -> Reply:
        sent = base64.b64encode(b"".join(self._parts))
        lengths, message = written([_text(self._head), sent, response, body, trailers])
        more = {SECTIONS: lengths}
        if self._target:
            more[b"corrigible-target"] = self._target.encode("utf-8", "surrogateescape")
        return await self._ask(b"/v1/refusal", message, more)

    async def _ask(self, path: bytes, body: bytes, more: dict[bytes, bytes] | None = None) -> Reply:
        headers = {b"corrigible-peer": self._peer.encode(), **(more or {})}
        return await self._answering(Call(b"POST", path, headers, body))

    @staticmethod
    def _value(headers: Headers, wanted: str) -> str:
        return next((value for name, value in headers if name.lower() == wanted), "")


def _text(headers: Headers) -> bytes:
    """Return a head as questions have it."""
    return b"".join(bytes_of(f"{name}:{value}\n") for name, value in headers)


def _edit_of(reply: Reply, body: bytes = b"") -> Edit:
    """Return what an answer with this body becomes."""
    told = {name: value for name, value in reply.headers}
    entry = told.get(ENTRY, b"").decode()
    if reply.status != 200:
        return Edit(entry=entry)
    first, _ = (int(length) for length in told[SECTIONS].split())
    lines = reply.body[:first].decode("utf-8", "surrogateescape").split("\n")
    kept = [line for line in lines if line and line[1:].partition(":")[0].lower() != _LENGTH]
    new = reply.body[first:]
    if new == body:
        return Edit(tuple(kept), entry=entry)
    # Envoy takes no new length for a body that it did not have whole (`BUFFERED_PARTIAL`): what is changed is chunked.
    return Edit((f"-{_LENGTH}", *kept), new, entry=entry)
