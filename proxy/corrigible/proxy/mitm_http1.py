"""mitmproxy's HTTP/1, where it would make a working call fail, or answer in a way of its own.

Knows: mitmproxy's protocol layers. Does not know: flows, rules, sockets.

Interim answers (102, 103) and trailers are handed on: the engine takes the first for the final answer and crashes on
the second. A 100 is skipped, since the engine has answered the expectation itself. Nothing follows the head of a 204
or 304, and an error page of the engine's own is one line of plain text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import h11
from mitmproxy import http
from mitmproxy.net.http import http1
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import (  # type: ignore[attr-defined]  # named in no __all__ of theirs
    Http1Client,
    Http1Server,
    ReceiveHttp,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseProtocolError,
    ResponseTrailers,
)

from .head import is_request_head
from .mitm_error import error_text

_LAST_CHUNK = b"0\r\n\r\n"
_NO_TRAILERS = frozenset((b"content-length", b"transfer-encoding", b"host", b"trailer"))
"""RFC 9110 section 6.5.1: what frames or routes a message has no business behind it."""


class _NotingTrailers:
    """Reads a chunked body, and keeps what comes after it."""

    def __init__(self, reader: Callable[[Any], Any]) -> None:
        self._reader: Any = reader
        self._trailers: http.Headers | None = None

    def __call__(self, buffer: Any) -> Any:
        event = self._reader(buffer)
        if not isinstance(event, h11.EndOfMessage) or not event.headers:
            return event
        fields = (field for field in event.headers.raw_items() if field[0].lower() not in _NO_TRAILERS)
        self._trailers = http.Headers([(bytes(name), bytes(value)) for name, value in fields])
        return h11.EndOfMessage()

    def read_eof(self) -> Any:
        return self._reader.read_eof()

    def taken(self) -> http.Headers | None:
        """Return the trailers, once."""
        trailers, self._trailers = self._trailers, None
        return trailers


class ClientSide(Http1Server):
    """Serves the client."""

    _trailers: http.Headers | None = None

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a piece of a request's body."""
        reader = _noting_trailers(self)
        for command in super().read_body(event):
            if reader is not None and _ends(command) and self.stream_id and (trailers := reader.taken()):
                yield ReceiveHttp(RequestTrailers(self.stream_id, trailers))
            yield command

    def send(self, event: Any) -> layer.CommandGenerator[None]:
        """Send a piece of an answer."""
        trailers = None
        if isinstance(event, ResponseEndOfMessage):
            trailers, self._trailers = self._trailers, None
        if isinstance(event, ResponseEndOfMessage) and self.response and self.response.status_code in (204, 304):
            yield from self.mark_done(response=True)
            return
        if isinstance(event, ResponseTrailers):
            self._trailers = event.trailers
            return
        for command in super().send(event):
            if trailers and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
                yield commands.SendData(command.connection, _last_chunk(trailers))
            elif isinstance(event, ResponseProtocolError) and isinstance(command, commands.SendData):
                yield commands.SendData(command.connection, error_page(command.data, event.message))
            else:
                yield command


class ServerSide(Http1Client):
    """Talks to the upstream."""

    _trailers: http.Headers | None = None

    def send(self, event: Any) -> layer.CommandGenerator[None]:
        """Send a piece of a request."""
        if isinstance(event, RequestTrailers):
            self._trailers = event.trailers
            return
        if isinstance(event, RequestHeaders):
            yield from self._send_head(_framed(event))
            return
        if isinstance(event, RequestData) and not event.data:
            return  # in chunks it would end the body
        trailers = None
        if isinstance(event, RequestEndOfMessage):
            trailers, self._trailers = self._trailers, None
        for command in super().send(event):
            if trailers and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
                yield commands.SendData(command.connection, _last_chunk(trailers))
            else:
                yield command

    def _send_head(self, event: RequestHeaders) -> layer.CommandGenerator[None]:
        for command in super().send(event):
            if isinstance(command, commands.SendData) and not is_request_head(command.data):
                # Whatever came in between, what is no request head here could be two requests there.
                yield commands.CloseConnection(self.conn)
                message = "the request is not valid HTTP/1.1"
                yield ReceiveHttp(ResponseProtocolError(event.stream_id, message, RequestProtocolError.code))
                self.state = self.done
                return
            yield command

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a piece of an answer's body."""
        reader = _noting_trailers(self)
        for command in super().read_body(event):
            if reader is not None and _ends(command) and self.stream_id and (trailers := reader.taken()):
                yield ReceiveHttp(ResponseTrailers(self.stream_id, trailers))
            yield command

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head of an answer, once it is the final one."""
        if isinstance(event, events.DataReceived) and self.request:
            while is_interim(start := bytes(self.buf)[:12]):
                lines = self.buf.maybe_extract_lines()
                if not lines:
                    return  # the rest of this head is still to come
                # RFC 9110 section 15.2: a server MUST NOT send a 1xx response to an HTTP/1.0 client.
                if start[9:12] != b"100" and self.request.data.http_version == b"HTTP/1.1":
                    yield commands.SendData(self.context.client, b"\r\n".join([*lines, b"", b""]))
        yield from super().read_headers(event)


def is_interim(start: bytes) -> bool:
    """Whether an answer that starts with these 12 bytes is followed by another one to the same request."""
    return start[:7] == b"HTTP/1." and start[8:10] == b" 1" and start[9:12] != b"101" and len(start) == 12


def error_page(page: bytes, message: str) -> bytes:
    """Replace mitmproxy's HTML page by a line that says who failed at what, without the upstream's own words."""
    status = int(page[9:12])
    headers = http.Headers(((b"Content-Type", b"text/plain; charset=utf-8"), (b"Connection", b"close")))
    answer = http.Response.make(status, f"corrigible: {error_text(status, message)}\n".encode(), headers)
    whole: bytes = http1.assemble_response(answer)  # type: ignore[no-untyped-call]  # theirs
    return whole


def _noting_trailers(side: Http1Client | Http1Server) -> _NotingTrailers | None:
    """Have what follows a chunked body kept. None where the body is not chunked."""
    reader: Any = side.body_reader
    if type(reader).__name__ == "ChunkedReader":
        reader = side.body_reader = _NotingTrailers(reader)  # type: ignore[assignment]  # called the same way
    return reader if isinstance(reader, _NotingTrailers) else None


def _framed(event: RequestHeaders) -> RequestHeaders:
    """Say where the body of a request ends that HTTP/2 had no need to say it for."""
    request = event.request
    if event.end_stream or not (request.is_http2 or request.is_http3) or "content-length" in request.headers:
        return event
    request = request.copy()
    request.headers["transfer-encoding"] = "chunked"
    return RequestHeaders(event.stream_id, request, end_stream=False)


def _ends(command: commands.Command) -> bool:
    """Whether this says that a message is over."""
    return isinstance(command, ReceiveHttp) and isinstance(command.event, RequestEndOfMessage | ResponseEndOfMessage)


def _last_chunk(trailers: http.Headers) -> bytes:
    return b"0\r\n" + bytes(trailers) + b"\r\n"
