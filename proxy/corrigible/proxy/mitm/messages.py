"""Converts mitmproxy's messages to the corrector's message heads, and text to bytes.

Knows: mitmproxy's requests and responses, and their raw bytes. Does not know: hooks, sockets, rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, overload

from mitmproxy import http, options
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events

from corrigible.proxy.core.limits import Timeouts
from corrigible.proxy.http.message_head import DIGESTS
from corrigible.proxy.http.messages import RequestHead, ResponseHead, Rewrite, bytes_of, text_of

TARGET = "corrigible.target"
"""In a flow's metadata: the request's target as the client sent it, if the upstream gets another one."""

# While Python's assertions are on, mitmproxy checks the type of each part of each message: a twelfth of the cost of a
# small exchange.
if __debug__:
    http.MessageData.__post_init__ = lambda self: None  # type: ignore[method-assign]


class FieldList(Sequence[tuple[str, str]]):
    """mitmproxy's header fields as text, decoded at the first access, which is rare."""

    __slots__ = ("_fields", "_text")

    def __init__(self, fields: tuple[tuple[bytes, bytes], ...]) -> None:
        self._fields = fields
        self._text: list[tuple[str, str]] | None = None

    def _decoded(self) -> list[tuple[str, str]]:
        if self._text is None:
            self._text = [(text_of(name), text_of(value)) for name, value in self._fields]
        return self._text

    def __reduce__(self) -> tuple[type[list[tuple[str, str]]], tuple[list[tuple[str, str]]]]:
        """Be a list in a worker, which has no mitmproxy."""
        return list, (self._decoded(),)

    def __len__(self) -> int:
        return len(self._fields)

    @overload
    def __getitem__(self, index: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, str]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, str] | list[tuple[str, str]]:
        return self._decoded()[index]


def request_head(flow: http.HTTPFlow) -> RequestHead:
    """Return the request as the client sent it."""
    data = flow.request.data
    target = flow.metadata.get(TARGET) or text_of(data.path)
    peer = flow.client_conn.peername
    return RequestHead(text_of(data.method), target, FieldList(data.headers.fields), str(peer[0]) if peer else "")


def response_head(response: http.Response) -> ResponseHead:
    """Return the response head as the upstream sent it."""
    data = response.data
    return ResponseHead(data.status_code, FieldList(data.headers.fields))


_DIGESTS = frozenset((b"etag", *(name.encode() for name in DIGESTS)))


def length_and_kind(response: http.Response) -> tuple[int | None, bool]:
    """Return the declared length, and whether this is an event stream. Drop a length beside a transfer coding.

    RFC 9112 section 6.3: a sender MUST remove the received Content-Length field prior to forwarding such a
    message.
    """
    length: int | None = None
    has_coding = is_event_stream = False
    fields = response.data.headers.fields
    for name, value in fields:
        match name.lower():
            case b"content-length":
                length = int(value) if value.isdigit() else None
            case b"transfer-encoding":
                has_coding = True
            case b"content-type":
                is_event_stream = value[:17].lower() == b"text/event-stream"
    if has_coding and length is not None:
        response.data.headers.fields = tuple(field for field in fields if field[0].lower() != b"content-length")
        length = None
    return length, is_event_stream


def rewrite_response(request: http.Request, response: http.Response, rewrite: Rewrite) -> None:
    """Replace headers and body of a response, with framing for the new body."""
    chunked = _drop_digest_trailers(request, response)
    response.headers = _framed_headers(rewrite.headers, rewrite.body, chunked=chunked)
    response.raw_content = rewrite.body


def _drop_digest_trailers(request: http.Request, response: http.Response) -> bool:
    """Drop trailers with digests of the old body. Return whether the other trailers need a chunked body."""
    if response.trailers is None:
        return False
    fields = [field for field in response.trailers.fields if field[0].lower() not in _DIGESTS]
    response.trailers = http.Headers(fields) if fields else None
    return bool(fields) and request.data.http_version == response.data.http_version == b"HTTP/1.1"


def _framed_headers(headers: Sequence[tuple[str, str]], body: bytes, *, chunked: bool) -> http.Headers:
    """Return the headers with the framing of this body."""
    fields: list[tuple[bytes, bytes]] = []
    has_length = False
    for name, value in headers:
        match name.lower():
            case "transfer-encoding":
                continue
            case "content-length" if chunked:
                continue
            case "content-length":
                if not has_length:
                    fields.append((bytes_of(name), b"%d" % len(body)))
                    has_length = True
            case _:
                fields.append((bytes_of(name), bytes_of(value)))
    if chunked:
        fields.append((b"Transfer-Encoding", b"chunked"))
    elif not has_length:
        fields.append((b"Content-Length", b"%d" % len(body)))
    return http.Headers(fields)


# Commands, events and settings of our protocol layers, beside mitmproxy's own.


class PauseReading(commands.Command):
    """Stop reading from a connection: its data is not taken fast enough by the other side."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


class ResumeReading(PauseReading):
    """Start reading from a connection again."""


class NotifyShutdown(commands.RequestWakeup):
    """Wake the layer when the proxy shuts down, and not before."""

    def __init__(self, *, closes_connection: bool) -> None:
        super().__init__(0)
        self.closes_connection = closes_connection
        """Whether the layer closes the connection itself after its last response."""


class BodyLate(events.Event):
    """The body of a request stands still for too long."""

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id


def timeouts_of(settings: options.Options) -> Timeouts:
    """Return the time limits that stand beside mitmproxy's own options, see `freeze_options`."""
    return cast(Timeouts, cast(Any, settings).timeouts)
