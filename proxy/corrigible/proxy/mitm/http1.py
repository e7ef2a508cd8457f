"""mitmproxy's HTTP/1, where it would make a working call fail, or answer in a way of its own.

Knows: mitmproxy's protocol layers. Does not know: flows, rules, sockets.

A message that can be read in two ways is refused before any of it goes on. Interim answers and trailers are handed on:
the engine takes the first for the final answer and crashes on the second. Nothing follows the head of a 204 or 304,
and an error page of the engine's own is one line of plain text.
"""

from __future__ import annotations

import time
from typing import Any

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
    HEAD_LIMIT,
    INTERIM_LIMIT,
    Malformed,
    check_request,
    empty_lines,
    end_of_request_head,
    end_of_response_head,
    is_request_head,
    read_response,
)

from .chunked import Chunks
from .commands import TellOfEnd
from .error_page import error_text

HEAD_SECONDS = 60.0
"""For so long the head of a request may take, from its first byte on."""
LINGER_SECONDS = 2.0
"""For so long a client that is hung up on may go on sending: bytes that nobody reads would cost it the answer."""

_LAST_CHUNK = b"0\r\n\r\n"
_THEIR_PREFIX = "HTTP/1 protocol error: "


class ClientSide(Http1Server):
    """Serves the client."""

    _trailers: http.Headers | None = None
    _head_since: float | None = None
    """When the first byte of the head under way came."""
    _clock: commands.RequestWakeup | None = None
    _is_last = False
    """Whether the answer under way is the last one of the connection: the proxy is about to end."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if not isinstance(event, events.Wakeup):
            yield from super()._handle_event(event)
            if isinstance(event, events.Start):
                yield TellOfEnd(closes=False)
        elif isinstance(event.command, TellOfEnd):
            self._is_last = True
        elif event.command is self._clock:
            self._clock = None
            yield from self._watch_head()
        else:
            yield commands.CloseConnection(self.conn)  # it was given its time to hang up itself

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head of a request, once it is whole, and what else has come of it."""
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
        self._head_since = None
        # All at once: where something unsafe has come already, nothing goes on.
        read = list(super().read_headers(event))
        told = [one.event for one in read if isinstance(one, ReceiveHttp)]
        broken = next((one for one in told if isinstance(one, RequestProtocolError)), None)
        if broken is not None or not told:
            text = broken.message if broken is not None else ""
            own = text.startswith(_THEIR_PREFIX)
            self.state = self.read_headers
            yield from self._refuse(400, text.removeprefix(_THEIR_PREFIX) if own else "the request is not valid HTTP")
            return
        yield from read

    def _watch_head(self) -> layer.CommandGenerator[None]:
        """End a connection on which a head takes too long. There is one timer at most."""
        if self.state != self.read_headers or not self.buf:
            self._head_since = None
            return
        now = time.monotonic()
        if self._head_since is None:
            self._head_since = now
        left = self._head_since + HEAD_SECONDS - now
        if left <= 0:
            yield from self._refuse(408, "the head of the request took too long")
        elif self._clock is None:
            self._clock = commands.RequestWakeup(left)
            yield self._clock

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a piece of a request's body."""
        reader = _own_reader(self)
        closing: commands.Command | None = None
        for command in super().read_body(event):
            match command:
                case commands.CloseConnection():
                    closing = command
                case ReceiveHttp(event=RequestProtocolError() as broken):
                    closing = None
                    if self.response is None and isinstance(event, events.DataReceived):
                        text = broken.message.removeprefix(_THEIR_PREFIX)
                        yield commands.SendData(self.conn, error_answer(400, text))
                    yield command
                    yield from self._hang_up()
                case ReceiveHttp(event=RequestEndOfMessage()) if reader is not None and (trailers := reader.taken()):
                    yield ReceiveHttp(RequestTrailers(self.stream_id, http.Headers(trailers)))
                    yield command
                case _:
                    yield command
        if closing is not None:
            yield closing

    @property
    def is_ahead(self) -> bool:
        """Whether the client has sent much behind a request that is not answered yet."""
        return self.state == self.wait and len(self.buf) > HEAD_LIMIT

    def send(self, event: Any) -> layer.CommandGenerator[None]:
        """Send a piece of an answer."""
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
        if self._is_last and isinstance(event, ResponseHeaders) and event.response.status_code >= 200:
            response = event.response.copy()
            response.headers["connection"] = "close"
            event = ResponseHeaders(event.stream_id, response, event.end_stream)
        for command in super().send(event):
            if trailers and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
                yield commands.SendData(command.connection, _last_chunk(trailers))
            elif isinstance(event, ResponseProtocolError) and isinstance(command, commands.SendData):
                yield commands.SendData(command.connection, error_page(command.data, event.message))
            elif isinstance(event, ResponseProtocolError) and not self.request_done:
                yield from self._hang_up()
            else:
                yield command
        overtaken = self.response_done and not self.request_done
        if overtaken and self.request and http1.expected_http_body_size(self.request, self.response) == -1:
            yield from self._hang_up()  # the end of the answer is that of the connection, and the request goes on

    def _refuse(self, status: int, text: str) -> layer.CommandGenerator[None]:
        yield commands.SendData(self.conn, error_answer(status, text))
        yield from self._hang_up()

    def _hang_up(self) -> layer.CommandGenerator[None]:
        """Say no more. RFC 9112 section 9.6: first the writing side, then, once the client has done so, the other."""
        if self.state == self.passthrough:
            yield commands.CloseConnection(self.conn)
        elif self.state != self.linger:
            self.state = self.linger
            yield commands.CloseTcpConnection(self.conn, half_close=True)
            yield commands.RequestWakeup(LINGER_SECONDS)

    def linger(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read what still comes, and throw it away."""
        self.buf = ReceiveBuffer()
        if isinstance(event, events.ConnectionClosed):
            yield commands.CloseConnection(self.conn)


class ServerSide(Http1Client):
    """Talks to the upstream."""

    _trailers: http.Headers | None = None
    _interim = 0

    def send(self, event: Any) -> layer.CommandGenerator[None]:
        """Send a piece of a request."""
        trailers = None
        match event:
            case RequestTrailers():
                self._trailers = event.trailers
                return
            case RequestHeaders():
                yield from self._send_head(_framed(event))
                return
            case RequestData(data=b""):
                return  # in chunks it would end the body
            case RequestEndOfMessage():
                trailers, self._trailers = self._trailers, None
        for command in super().send(event):
            if trailers and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
                yield commands.SendData(command.connection, _last_chunk(trailers))
            elif not isinstance(command, commands.CloseTcpConnection):  # no end of a request is that of its connection
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

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head of an answer, once it is the final one."""
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
        """Hand interim answers on. Returns whether a final head is at the buffer's beginning."""
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
            # RFC 9110 section 15.2: a server MUST NOT send a 1xx response to an HTTP/1.0 client. Who expects none,
            # and gets a 100, may take it for the answer.
            wanted = head[9:12] != b"100" or "expect" in request.headers
            if wanted and request.data.http_version == b"HTTP/1.1":
                yield commands.SendData(self.context.client, head)

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a piece of an answer's body."""
        reader = _own_reader(self)
        for command in super().read_body(event):
            ends = isinstance(command, ReceiveHttp) and isinstance(command.event, ResponseEndOfMessage)
            if ends and reader is not None and self.stream_id and (trailers := reader.taken()):
                yield ReceiveHttp(ResponseTrailers(self.stream_id, http.Headers(trailers)))
            yield command

    def mark_done(self, *, request: bool = False, response: bool = False) -> layer.CommandGenerator[None]:
        """End a direction. The answer may be over before the request is."""
        yield from super().mark_done(request=request, response=response)
        if self.response_done and not self.request_done:
            self.state = self.overtaken

    def overtaken(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Send the rest of a request that is answered already, unless the upstream has hung up."""
        if isinstance(event, events.ConnectionClosed):
            yield from self._break_off("server closed connection")
        else:
            yield from self._break_off("the upstream's answer is longer than it says")

    def _break_off(self, text: str) -> layer.CommandGenerator[None]:
        yield commands.CloseConnection(self.conn)
        if self.stream_id is not None:
            yield ReceiveHttp(ResponseProtocolError(self.stream_id, text, ResponseProtocolError.code))


def is_interim(start: bytes) -> bool:
    """Whether an answer that starts with these 12 bytes is followed by another one to the same request."""
    return start[:7] == b"HTTP/1." and start[8:10] == b" 1" and start[9:12] != b"101"


def error_page(page: bytes, message: str) -> bytes:
    """Replace mitmproxy's HTML page by a line that says who failed at what, without the upstream's own words."""
    status = int(page[9:12])
    return error_answer(status, error_text(status, message))


def error_answer(status: int, text: str) -> bytes:
    """Return an answer of our own, in a line of plain text."""
    headers = http.Headers(((b"Content-Type", b"text/plain; charset=utf-8"), (b"Connection", b"close")))
    answer = http.Response.make(status, f"corrigible: {text}\n".encode(), headers)
    whole: bytes = http1.assemble_response(answer)  # type: ignore[no-untyped-call]  # theirs
    return whole


def _own_reader(side: Http1Client | Http1Server) -> Chunks | None:
    """Have a chunked body read by ours. None where the body is not chunked."""
    if type(side.body_reader).__name__ == "ChunkedReader":
        side.body_reader = Chunks()  # type: ignore[assignment]  # called the same way
    return side.body_reader if isinstance(side.body_reader, Chunks) else None


def _without_coding(event: ResponseHeaders) -> ResponseHeaders:
    """Return an answer's head for a client of HTTP/1.0, which knows no chunks: it ends with the connection."""
    if "transfer-encoding" not in event.response.headers:
        return event
    response = event.response.copy()
    del response.headers["transfer-encoding"]
    return ResponseHeaders(event.stream_id, response, event.end_stream)


def _framed(event: RequestHeaders) -> RequestHeaders:
    """Say where the body of a request ends that HTTP/2 had no need to say it for."""
    request = event.request
    if event.end_stream or not (request.is_http2 or request.is_http3) or "content-length" in request.headers:
        return event
    request = request.copy()
    request.headers["transfer-encoding"] = "chunked"
    return RequestHeaders(event.stream_id, request, end_stream=False)


def _last_chunk(trailers: http.Headers) -> bytes:
    return b"0\r\n" + bytes(trailers) + b"\r\n"
