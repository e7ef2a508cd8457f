"""One exchange inside mitmproxy: what comes flows on at once, and only a possible refusal is held back.

Knows: mitmproxy's HTTP stream and its states. Does not know: sockets, rules, what makes a refusal.

mitmproxy holds a request until it is whole, answers `Expect` itself, and loses an answer that breaks off. Here a
request is copied while it flows on. An answer is held only while it is known to be short and comes at once, or while
it may be a refusal; what takes longer than that, or breaks off, arrives natively.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, cast

from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import (  # type: ignore[attr-defined]  # named in no __all__ of theirs
    HttpEvent,
    HttpRequestHeadersHook,
    HttpStream,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    SendHttp,
)

CANDIDATE = "corrigible.candidate"
"""In a flow's metadata: the answer may be a refusal."""
REASON = "corrigible.reason"
"""In a flow's metadata: why an answer is not looked at."""
REQUEST_OVER = "corrigible.request_over"
"""In a flow's metadata: the request is too long for a copy of it."""


@dataclass
class LetGo(HttpEvent):
    """Says that an answer has been held back for long enough."""

    reason: str | None = None


class Stream(HttpStream):
    """An exchange. `withheld` names those whose answer is held back at the moment."""

    def __init__(self, context: Context, stream_id: int, withheld: dict[Stream, float], limit: int) -> None:
        super().__init__(context, stream_id)
        self._withheld = withheld
        self._limit = limit
        self._copy: bytearray | None = None
        """The body of the request as far as it came."""
        self._expecting: tuple[tuple[bytes, bytes], ...] | None = None
        """The fields of a request that waits for a 100, or a refusal, from the upstream."""
        self._whole: ResponseEndOfMessage | None = None
        """The end of an answer that came before that of its request."""
        self._ended = False
        """Whether the client has been told that the answer is over."""

    @property
    def is_held(self) -> bool:
        """Whether the answer is held back."""
        state: Any = self.server_state
        return bool(state == self.state_consume_response_body)

    @property
    def may_be_refusal(self) -> bool:
        """Whether somebody wants to read the answer before it goes on."""
        return CANDIDATE in self.flow.metadata

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, LetGo):
            self._withheld.pop(self, None)
            if self.is_held:
                yield from self._release(event.reason)
            return
        if isinstance(event, ResponseProtocolError) and self.is_held:
            yield from self._release("the answer broke off")
        yield from super()._handle_event(event)

    def state_wait_for_request_headers(self, event: RequestHeaders) -> layer.CommandGenerator[None]:
        """Start an exchange. What expects a 100 expects it from the upstream."""
        request = event.request
        if request.data.authority and request.data.method != b"CONNECT" and not request.is_http2:
            # RFC 9112 section 3.2.2: a proxy MUST replace the Host by the host of an absolute-form target.
            request.headers["Host"] = request.data.authority.decode("ascii", "surrogateescape")
            request.data.authority = b""
        inner = cast("Generator[commands.Command, Any, None]", super().state_wait_for_request_headers(event))
        reply: Any = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                return
            if _is_continue(command) and not self._is_http2:
                self._expecting = self.flow.request.headers.fields  # before the engine drops the field
                reply = None
                continue
            reply = yield command
            if isinstance(command, HttpRequestHeadersHook) and self.flow.response is not None:
                self.flow.request.stream = False  # it goes nowhere

    @property
    def _is_http2(self) -> bool:
        return self.flow.request.is_http2 or self.flow.request.is_http3

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:
        """Have every request flow on as it comes; an answer where it is too long to be held back."""
        if not request:
            return (yield from super().check_body_size(request))
        if self.flow.response is not None:
            self.request_body_buf.clear()  # type: ignore[no-untyped-call]  # h11's  # answered by ourselves: nobody reads it
            return False
        self.flow.request.stream = True
        length = self.flow.request.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limit:
            self.flow.metadata[REQUEST_OVER] = True
        else:
            self._copy = bytearray()
        return False

    def make_server_connection(self) -> layer.CommandGenerator[bool]:
        """Find or open the upstream connection, unless the request has broken off in the meantime."""
        if self._expecting is not None:
            self.flow.request.headers.fields = self._expecting
        made: bool = yield from super().make_server_connection()
        if made and (yield from self.check_killed(True)):
            # For a client of HTTP/2, a connection with HTTP/1 serves this request or none.
            over = RequestProtocolError(self.stream_id, "the request broke off", RequestProtocolError.code)
            yield SendHttp(over, self.context.server)
            return False
        return made

    def state_stream_request_body(self, event: Any) -> layer.CommandGenerator[None]:
        """Hand a piece of the request on, and keep a copy."""
        ends = isinstance(event, RequestEndOfMessage)
        if isinstance(event, RequestData) and self._copy is not None:
            self._copy += event.data
            if len(self._copy) > self._limit:
                self._copy = None
                self.flow.metadata[REQUEST_OVER] = True
        elif ends and self._copy is not None:
            self.flow.request.data.content = bytes(self._copy)
            self._copy = None
        yield from super().state_stream_request_body(event)
        if ends and self._whole is not None and self.is_held:
            yield from super().state_consume_response_body(self._whole)

    def state_wait_for_response_headers(self, event: ResponseHeaders) -> layer.CommandGenerator[None]:
        """Take the head of an answer."""
        yield from super().state_wait_for_response_headers(event)
        if self.is_held:
            self._withheld[self] = 0.0

    def state_consume_response_body(self, event: Any) -> layer.CommandGenerator[None]:
        """Hold a piece of the answer back. A refusal is judged by its whole request."""
        state: Any = self.client_state
        if isinstance(event, ResponseEndOfMessage) and self.may_be_refusal and state == self.state_stream_request_body:
            self._whole = event
            if self._expecting is not None and not self._copy:
                yield from self._release("the upstream did not want the request's body")  # and nobody will send it
            return
        yield from super().state_consume_response_body(event)

    def _release(self, reason: str | None) -> layer.CommandGenerator[None]:
        """Let the answer go as far as it came; the rest will follow as it comes."""
        response = self.flow.response
        assert response is not None
        if reason is not None and self.may_be_refusal:
            self.flow.metadata[REASON] = reason
        self._withheld.pop(self, None)
        response.stream = True
        body = bytes(self.response_body_buf)
        self.response_body_buf.clear()  # type: ignore[no-untyped-call]  # h11's
        yield from self.start_response_stream()
        if body:
            yield from self.state_stream_response_body(ResponseData(self.stream_id, body))
        if self._whole is not None:
            yield from self.state_stream_response_body(self._whole)

    def send_response(self, already_streamed: bool = False) -> layer.CommandGenerator[None]:
        """Send the answer, or what is left of it; it ends where it ends, also before its request does."""
        self._withheld.pop(self, None)
        yield from super().send_response(already_streamed)
        state: Any = self.client_state
        response: http.Response | None = self.flow.response
        if state == self.state_stream_request_body and response is not None and response.status_code != 101:
            self._ended = True
            yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def flow_done(self) -> layer.CommandGenerator[None]:
        """Forget the exchange."""
        for command in super().flow_done():
            if self._ended and isinstance(command, SendHttp) and isinstance(command.event, ResponseEndOfMessage):
                continue
            yield command

    def handle_protocol_error(self, event: Any) -> layer.CommandGenerator[None]:
        """End an exchange that one side broke off. A request that was overtaken by its answer ends as well."""
        client: Any = self.client_state
        server: Any = self.server_state
        self._withheld.pop(self, None)
        if (
            isinstance(event, RequestProtocolError)
            and client == self.state_stream_request_body
            and server == self.state_done
        ):
            yield SendHttp(event, self.context.server)
        yield from super().handle_protocol_error(event)


def _is_continue(command: commands.Command) -> bool:
    """Whether this sends the engine's own 100."""
    if not isinstance(command, SendHttp) or not isinstance(command.event, ResponseHeaders):
        return False
    return bool(command.event.response.status_code == 100)
