"""HTTP/1 on both sides of the proxy: mitmproxy's layers, changed where they would break a working call.

Knows: mitmproxy's protocol layers. Does not know: flows, rules, sockets.

An ambiguous message is refused before any of it is forwarded. Interim responses and trailers are forwarded: mitmproxy
takes the former for the final response and fails on the latter. A 204 or 304 has no body, and mitmproxy's own error
pages become one line of plain text.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import h11
from h11._receivebuffer import ReceiveBuffer
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
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from corrigible.proxy.http.framing import (
    CHUNK_LINE_LIMIT,
    HEAD_LIMIT,
    INTERIM_LIMIT,
    Malformed,
    check_request,
    chunk_size,
    empty_lines,
    end_of_request_head,
    end_of_response_head,
    is_request_head,
    read_response,
    read_trailers,
)

from .error_page import BODY_LATE, ERROR_TYPE, HEAD_LATE, api_of, error_body, error_status, error_text
from .messages import BodyLate, NotifyShutdown, timeouts_of

LINGER_SECONDS = 2.0
"""How long the rest of a request is read after the last response: else the client could lose that response."""

_LAST_CHUNK = b"0\r\n\r\n"
_THEIR_PREFIX = "HTTP/1 protocol error: "


class ClientSide(Http1Server):
    """The connection to the client."""

    _trailers: http.Headers | None = None
    _head_started: float | None = None
    """When the first byte of the current request head arrived."""
    _head_timer: commands.RequestWakeup | None = None
    _is_last_response = False
    """Whether the proxy shuts down, so that the current response is the last one."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, BodyLate):
            if self.response is None:
                yield commands.SendData(self.conn, error_response(408, BODY_LATE))
            yield ReceiveHttp(RequestProtocolError(event.stream_id, BODY_LATE, RequestProtocolError.code))
            yield from self._close_gently()
        elif not isinstance(event, events.Wakeup):
            yield from super()._handle_event(event)
            if isinstance(event, events.Start):
                yield NotifyShutdown(closes_connection=False)
        elif isinstance(event.command, NotifyShutdown):
            self._is_last_response = True
        elif event.command is self._head_timer:
            self._head_timer = None
            yield from self._watch_head()
        else:
            yield commands.CloseConnection(self.conn)  # LINGER_SECONDS have passed

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head of a request once it is complete, and the data after it."""
        if not isinstance(event, events.DataReceived):
            yield from super().read_headers(event)
            return
        received = bytes(self.buf)
        if empty := empty_lines(received):  # RFC 9112 section 2.2: a server SHOULD ignore one
            self.buf.maybe_extract_at_most(empty)
            received = received[empty:]
        try:
            end = end_of_request_head(received)
            if end is not None:
                check_request(received[:end])
        except Malformed as problem:
            yield from self._refuse(problem.status, problem.text)
            return
        if end is None:
            if received:
                yield from self._watch_head()
            return
        self._head_started = None
        # All events at once: if a later part is unsafe, nothing of the request is forwarded.
        results = list(super().read_headers(event))
        parsed = [command.event for command in results if isinstance(command, ReceiveHttp)]
        broken = next((each for each in parsed if isinstance(each, RequestProtocolError)), None)
        if broken is not None or not parsed:
            text = broken.message if broken is not None else ""
            own = text.startswith(_THEIR_PREFIX)
            self.state = self.read_headers
            yield from self._refuse(400, text.removeprefix(_THEIR_PREFIX) if own else "the request is not valid HTTP")
            return
        yield from results

    def _watch_head(self) -> layer.CommandGenerator[None]:
        """End the connection if a request head takes too long. There is at most one timer."""
        limit = timeouts_of(self.context.options).head
        if self.state != self.read_headers or not self.buf:
            self._head_started = None
            return
        if not limit:
            return
        now = time.monotonic()
        if self._head_started is None:
            self._head_started = now
        left = self._head_started + limit - now
        if left <= 0:
            yield from self._refuse(408, HEAD_LATE)
        elif self._head_timer is None:
            self._head_timer = commands.RequestWakeup(left)
            yield self._head_timer

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a part of a request body."""
        reader = _chunk_reader(self)
        closing: commands.Command | None = None
        for command in super().read_body(event):
            match command:
                case commands.CloseConnection():
                    closing = command
                case ReceiveHttp(event=RequestProtocolError() as broken):
                    closing = None
                    if self.response is None and isinstance(event, events.DataReceived):
                        text = broken.message.removeprefix(_THEIR_PREFIX)
                        yield commands.SendData(self.conn, error_response(400, text))
                    yield command
                    yield from self._close_gently()
                case ReceiveHttp(event=RequestEndOfMessage()) if reader is not None and (
                    trailers := reader.take_trailers()
                ):
                    yield ReceiveHttp(RequestTrailers(self.stream_id, http.Headers(trailers)))
                    yield command
                case _:
                    yield command
        if closing is not None:
            yield closing

    @property
    def has_pipelined_much(self) -> bool:
        """Whether the client has sent much data after a request that has no response yet."""
        return self.state == self.wait and len(self.buf) > HEAD_LIMIT

    def send(self, event: Any) -> layer.CommandGenerator[None]:
        """Send a part of a response."""
        trailers = None
        match event:
            case ResponseTrailers():
                self._trailers = event.trailers
                return
            case ResponseEndOfMessage():
                trailers, self._trailers = self._trailers, None
                if self.response and self.response.status_code in (204, 304):
                    yield from self.mark_done(response=True)
                    return
            case ResponseHeaders() if self.request and self.request.data.http_version == b"HTTP/1.0":
                event = _without_coding(event)
        if self._is_last_response and isinstance(event, ResponseHeaders) and event.response.status_code >= 200:
            response = event.response.copy()
            response.headers["connection"] = "close"
            event = ResponseHeaders(event.stream_id, response, event.end_stream)
        for command in _with_trailers(super().send(event), trailers):
            if isinstance(event, ResponseProtocolError) and isinstance(command, commands.SendData):
                yield commands.SendData(command.connection, error_page(command.data, event))
            elif isinstance(event, ResponseProtocolError) and not self.request_done:
                yield from self._close_gently()
            else:
                yield command
        request_outlives_response = self.response_done and not self.request_done
        if (
            request_outlives_response
            and self.request
            and http1.expected_http_body_size(self.request, self.response) == -1
        ):
            yield from self._close_gently()  # the connection's end ends the response, but the request is incomplete

    def _refuse(self, status: int, text: str) -> layer.CommandGenerator[None]:
        yield commands.SendData(self.conn, error_response(status, text))
        yield from self._close_gently()

    def _close_gently(self) -> layer.CommandGenerator[None]:
        """Close in two steps, RFC 9112 section 9.6: first the writing side, the other when the client has closed."""
        if self.state == self.passthrough:
            yield commands.CloseConnection(self.conn)
        elif self.state != self.linger:
            self.state = self.linger
            yield commands.CloseTcpConnection(self.conn, half_close=True)
            yield commands.RequestWakeup(LINGER_SECONDS)

    def linger(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Discard further data."""
        self.buf = ReceiveBuffer()
        if isinstance(event, events.ConnectionClosed):
            yield commands.CloseConnection(self.conn)


class UpstreamSide(Http1Client):
    """A connection to the upstream."""

    _trailers: http.Headers | None = None
    _interim = 0

    def send(self, event: Any) -> layer.CommandGenerator[None]:
        """Send a part of a request."""
        trailers = None
        match event:
            case RequestTrailers():
                self._trailers = event.trailers
                return
            case RequestHeaders():
                yield from self._send_head(_framed(event))
                return
            case RequestData(data=b""):
                return  # an empty chunk would end the body
            case RequestEndOfMessage():
                trailers, self._trailers = self._trailers, None
        for command in _with_trailers(super().send(event), trailers):
            if not isinstance(command, commands.CloseTcpConnection):  # a request's end does not close the connection
                yield command

    def _send_head(self, event: RequestHeaders) -> layer.CommandGenerator[None]:
        for command in super().send(event):
            if isinstance(command, commands.SendData) and not is_request_head(command.data):
                # Bytes that are not one request head here could be two requests for the upstream.
                yield commands.CloseConnection(self.conn)
                message = "the request is not valid HTTP/1.1"
                yield ReceiveHttp(ResponseProtocolError(event.stream_id, message, RequestProtocolError.code))
                self.state = self.done
                return
            yield command

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head of the final response."""
        if isinstance(event, events.DataReceived) and self.request is not None:
            try:
                ready = yield from self._final_head(self.request)
            except Malformed as problem:
                yield from self._break_off(problem.text)
                return
            if not ready:
                return
        for command in super().read_headers(event):
            if isinstance(command, ReceiveHttp) and isinstance(command.event, ResponseHeaders):
                self._interim = 0
            yield command

    def _final_head(self, request: http.Request) -> layer.CommandGenerator[bool]:
        """Forward interim responses. Return whether a complete final head is at the start of the buffer."""
        while True:
            received = bytes(self.buf)
            end = end_of_response_head(received)
            if end is None:
                return False
            upgradable = received[9:12] == b"101" and "upgrade" in request.headers
            bodiless = request.data.method.upper() == b"HEAD"
            head = read_response(received[:end], upgradable=upgradable, bodiless=bodiless)
            if not is_interim(head):
                if head != received[:end]:
                    self.buf = ReceiveBuffer()
                    self.buf += head + received[end:]
                return True
            self._interim += 1
            if self._interim > INTERIM_LIMIT:
                raise Malformed(502, "the upstream sends one interim answer after the other")
            self.buf.maybe_extract_at_most(end)
            # RFC 9110 section 15.2: a server MUST NOT send a 1xx response to an HTTP/1.0 client. A client that did not
            # ask for a 100 may mistake it for the response.
            is_final = head[9:12] != b"100" or "expect" in request.headers
            if is_final and request.data.http_version == b"HTTP/1.1":
                yield commands.SendData(self.context.client, head)

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a part of a response body."""
        reader = _chunk_reader(self)
        for command in super().read_body(event):
            ends = isinstance(command, ReceiveHttp) and isinstance(command.event, ResponseEndOfMessage)
            if ends and reader is not None and self.stream_id and (trailers := reader.take_trailers()):
                yield ReceiveHttp(ResponseTrailers(self.stream_id, http.Headers(trailers)))
            yield command

    def mark_done(self, *, request: bool = False, response: bool = False) -> layer.CommandGenerator[None]:
        """End a direction. The response may end before the request."""
        yield from super().mark_done(request=request, response=response)
        if self.response_done and not self.request_done:
            self.state = self.request_outlives_response

    def request_outlives_response(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Send the rest of a request whose response is complete, unless the upstream has closed."""
        if isinstance(event, events.ConnectionClosed):
            yield from self._break_off("server closed connection")
        else:
            yield from self._break_off("the upstream's answer is longer than it says")

    def _break_off(self, text: str) -> layer.CommandGenerator[None]:
        yield commands.CloseConnection(self.conn)
        if self.stream_id is not None:
            yield ReceiveHttp(ResponseProtocolError(self.stream_id, text, ResponseProtocolError.code))


def is_interim(start: bytes) -> bool:
    """Whether a response that starts with these 12 bytes is interim: another one follows."""
    return start[:7] == b"HTTP/1." and start[8:10] == b" 1" and start[9:12] != b"101"


def error_page(page: bytes, event: ResponseProtocolError) -> bytes:
    """Replace mitmproxy's HTML error page by one line that does not quote the upstream."""
    status = error_status(int(page[9:12]), event.message)
    return error_response(status, error_text(status, event.message, api_of(event)))


def error_response(status: int, text: str) -> bytes:
    """Return a response of the proxy itself: one line of plain text."""
    headers = http.Headers(((b"Content-Type", ERROR_TYPE), (b"Connection", b"close")))
    response = http.Response.make(status, error_body(text), headers)
    assembled: bytes = http1.assemble_response(response)  # type: ignore[no-untyped-call]  # theirs
    return assembled


def _chunk_reader(side: Http1Client | Http1Server) -> ChunkReader | None:
    """Use our reader for a chunked body. Return None if the body is not chunked."""
    if type(side.body_reader).__name__ == "ChunkedReader":
        side.body_reader = ChunkReader()  # type: ignore[assignment]  # same interface
    return side.body_reader if isinstance(side.body_reader, ChunkReader) else None


def _without_coding(event: ResponseHeaders) -> ResponseHeaders:
    """Return a response head for an HTTP/1.0 client, which does not know chunks: the body ends with the connection."""
    if "transfer-encoding" not in event.response.headers:
        return event
    response = event.response.copy()
    del response.headers["transfer-encoding"]
    return ResponseHeaders(event.stream_id, response, event.end_stream)


def _framed(event: RequestHeaders) -> RequestHeaders:
    """Return a request head with framing, if the request came by HTTP/2 without a length."""
    request = event.request
    if event.end_stream or not (request.is_http2 or request.is_http3) or "content-length" in request.headers:
        return event
    request = request.copy()
    request.headers["transfer-encoding"] = "chunked"
    return RequestHeaders(event.stream_id, request, end_stream=False)


def _with_trailers(
    sent_commands: Iterable[commands.Command], trailers: http.Headers | None
) -> Iterator[commands.Command]:
    """Put trailers behind the last chunk: mitmproxy's own assembly cannot."""
    for command in sent_commands:
        if trailers and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
            yield commands.SendData(command.connection, b"0\r\n" + bytes(trailers) + b"\r\n")
        else:
            yield command


# Chunked bodies for mitmproxy's HTTP/1, in place of h11's reader. h11 0.14, which mitmproxy 11 pins, does not check the
# two bytes after a chunk (CVE-2025-43859): an upstream that interprets them would see another request.

_NO_TRAILERS = frozenset((b"content-length", b"transfer-encoding", b"host", b"trailer"))
"""RFC 9110 section 6.5.1: fields for framing or routing must not be trailers."""


class ChunkReader:
    """Reads a chunked body, and keeps its trailers."""

    def __init__(self) -> None:
        self._left = 0
        """Missing bytes of the current chunk."""
        self._expects_crlf = False
        """Whether the CR LF after a chunk is still missing."""
        self._trailer_section: bytearray | None = None
        """The trailer section, after the last chunk."""
        self._is_complete = False
        self._trailers: list[tuple[bytes, bytes]] = []

    def __call__(self, buffer: Any) -> h11.Data | h11.EndOfMessage | None:
        """Return the data in the buffer, many chunks at once; None if it needs more."""
        parts: list[bytes] = []
        try:
            while not self._is_complete and (part := self._next(buffer)) is not None:
                parts.append(part)
        except Malformed as problem:
            raise h11.RemoteProtocolError(problem.text) from None
        if data := b"".join(parts):
            return h11.Data(data=data)
        return h11.EndOfMessage() if self._is_complete else None

    def _next(self, buffer: Any) -> bytes | None:
        if self._trailer_section is not None:
            return self._end(buffer, self._trailer_section)
        if self._left == 0:
            if self._expects_crlf:
                if len(buffer) < 2:
                    return None
                if buffer.maybe_extract_at_most(2) != b"\r\n":
                    raise Malformed(400, "a chunk does not end where it says")
                self._expects_crlf = False
            line = _line(buffer, CHUNK_LINE_LIMIT)
            if line is None:
                return None
            self._left = chunk_size(line)
            if self._left == 0:
                self._trailer_section = bytearray()
                return self._end(buffer, self._trailer_section)
            self._expects_crlf = True
        data: bytes | None = buffer.maybe_extract_at_most(self._left)
        if data is not None:
            self._left -= len(data)
        return data

    def _end(self, buffer: Any, section: bytearray) -> bytes | None:
        while (line := _line(buffer, HEAD_LIMIT - len(section))) is not None:
            if line:
                section += line + b"\r\n"
                continue
            self._trailers = [field for field in read_trailers(bytes(section)) if field[0].lower() not in _NO_TRAILERS]
            self._is_complete = True
            return b""
        return None

    def read_eof(self) -> NoReturn:
        """Raise, since the body is incomplete."""
        raise h11.RemoteProtocolError("the body broke off before its last chunk")

    def take_trailers(self) -> list[tuple[bytes, bytes]]:
        """Return the trailers, the first time."""
        trailers, self._trailers = self._trailers, []
        return trailers


def _line(buffer: Any, limit: int) -> bytes | None:
    """Return a line without its CR LF; None if it is incomplete."""
    line: bytearray | None = buffer.maybe_extract_next_line()
    if len(buffer if line is None else line) > limit:
        raise Malformed(400, "a line between chunks is too long")
    return bytes(line[:-2]) if line is not None else None
