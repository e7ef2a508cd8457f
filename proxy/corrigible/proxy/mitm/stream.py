"""One exchange inside mitmproxy: everything is streamed, except a response that may be an error.

Knows: mitmproxy's HTTP stream and its states. Does not know: sockets, rules, which responses are errors.

mitmproxy buffers a request until it is complete, answers `Expect` itself, and loses an incomplete response. Here a
request is copied while it is streamed. A response is buffered only if it is short and arrives at once, or if it may be
an error; if it takes too long or breaks off, it reaches the client as the upstream sent it.
"""

from __future__ import annotations

import time
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

from .error_page import ANSWER_LATE, ApiError

CANDIDATE = "corrigible.candidate"
"""In a flow's metadata: the response may be an error that can be corrected."""
REASON = "corrigible.reason"
"""In a flow's metadata: why a response is not corrected."""
REQUEST_OVER = "corrigible.request_over"
"""In a flow's metadata: the request is too long to be copied."""

API = "corrigible.api"
"""In a flow's metadata: its API, where the proxy has several."""

CALLERS_END = "corrigible.callers_end"
"""In a flow's metadata: the caller broke the exchange off, not the upstream."""


@dataclass
class StopBuffering(HttpEvent):
    """A response has been buffered for long enough."""

    reason: str | None = None


@dataclass
class AnswerLate(HttpEvent):
    """The upstream has not answered for too long."""


@dataclass
class LookupHook(commands.StartHook):  # type: ignore[no-untyped-call]  # theirs
    """An event of an answer waits for look-ups."""

    flow: http.HTTPFlow


class Stream(HttpStream):
    """An exchange. `buffered` has those whose response is being buffered."""

    def __init__(self, context: Context, stream_id: int, buffered: dict[Stream, float], limit: int) -> None:
        super().__init__(context, stream_id)
        self._buffered = buffered
        self._limit = limit
        self.moved_at = time.monotonic()
        """When something of the request came."""
        self._request_copy: bytearray | None = None
        """The request body so far."""
        self._expect_fields: tuple[tuple[bytes, bytes], ...] | None = None
        """The header fields of a request with `Expect`; the upstream answers that itself."""
        self._response_end: ResponseEndOfMessage | None = None
        """The end of a response that is complete before its request."""
        self._response_ended = False
        """Whether the end of the response has been sent to the client."""

    @property
    def is_buffering(self) -> bool:
        """Whether the response is being buffered."""
        state: Any = self.server_state
        return bool(state == self.state_consume_response_body)

    @property
    def may_be_error(self) -> bool:
        """Whether the response is a candidate for a correction."""
        return CANDIDATE in self.flow.metadata

    @property
    def waits_for_body(self) -> bool:
        """Whether the caller has to send more of its request. An upstream that answers meanwhile may need no more."""
        client: Any = self.client_state
        server: Any = self.server_state
        is_awaited = self._expect_fields is not None and not self._request_copy  # by the upstream, with a 100
        is_flowing = server == self.state_stream_response_body
        is_due = client in (self.state_stream_request_body, self.state_consume_request_body)
        return is_due and not is_flowing and not is_awaited

    @property
    def waits_for_answer(self) -> bool:
        """Whether the upstream has the whole request, and has to answer."""
        client: Any = self.client_state
        server: Any = self.server_state
        return bool(client == self.state_done and server == self.state_wait_for_response_headers)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, AnswerLate):
            over = RequestProtocolError(self.stream_id, ANSWER_LATE, RequestProtocolError.code)
            yield SendHttp(over, self.context.server)
            event = ResponseProtocolError(self.stream_id, ANSWER_LATE, ResponseProtocolError.code)
        if isinstance(event, StopBuffering):
            self._buffered.pop(self, None)
            if self.is_buffering:
                yield from self._stream_rest(event.reason)
            return
        if isinstance(event, ResponseProtocolError) and self.is_buffering:
            yield from self._stream_rest("the answer broke off")
        yield from super()._handle_event(event)

    def state_wait_for_request_headers(self, event: RequestHeaders) -> layer.CommandGenerator[None]:
        """Start an exchange. A 100 (Continue) is left to the upstream."""
        request = event.request
        if request.data.authority and request.data.method != b"CONNECT" and not request.is_http2:
            # RFC 9112 section 3.2.2: a proxy MUST replace the Host by the host of an absolute-form target.
            request.headers["Host"] = request.data.authority.decode("ascii", "surrogateescape")
            request.data.authority = b""
        inner = cast("Generator[commands.Command, Any, None]", super().state_wait_for_request_headers(event))
        response: Any = None
        while True:
            try:
                command = inner.send(response)
            except StopIteration:
                return
            if _is_continue(command) and not self._is_http2:
                self._expect_fields = self.flow.request.headers.fields  # mitmproxy drops the field next
                response = None
                continue
            response = yield command
            if isinstance(command, HttpRequestHeadersHook) and self.flow.response is not None:
                self.flow.request.stream = False  # the proxy itself answers: nothing is forwarded

    @property
    def _is_http2(self) -> bool:
        return self.flow.request.is_http2 or self.flow.request.is_http3

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:
        """Stream every request, and each response that is too long to be buffered."""
        if not request:
            return (yield from super().check_body_size(request))
        length = self.flow.request.headers.get("content-length", "")
        if self._is_http2 and length.strip("0") == "" != length:
            return False  # over HTTP/1.1 its head would be a whole request, though a body may follow that makes it none
        if self.flow.response is not None:
            self.request_body_buf.clear()  # type: ignore[no-untyped-call]  # h11's  # the proxy itself answers
            return False
        self.flow.request.stream = True
        if length.isdigit() and int(length) > self._limit:
            self.flow.metadata[REQUEST_OVER] = True
        else:
            self._request_copy = bytearray()
        return False

    def make_server_connection(self) -> layer.CommandGenerator[bool]:
        """Find or open the upstream connection, unless the request has broken off."""
        if self._expect_fields is not None:
            self.flow.request.headers.fields = self._expect_fields
        connected: bool = yield from super().make_server_connection()
        if connected and (yield from self.check_killed(True)):
            # For an HTTP/2 client, an HTTP/1 connection serves only this request.
            over = RequestProtocolError(self.stream_id, "the request broke off", RequestProtocolError.code)
            yield SendHttp(over, self.context.server)
            return False
        return connected

    def state_stream_request_body(self, event: Any) -> layer.CommandGenerator[None]:
        """Forward a part of the request body, and keep a copy."""
        self.moved_at = time.monotonic()
        ends = isinstance(event, RequestEndOfMessage)
        if isinstance(event, RequestData) and self._request_copy is not None:
            self._request_copy += event.data
            if len(self._request_copy) > self._limit:
                self._request_copy = None
                self.flow.metadata[REQUEST_OVER] = True
        elif ends and self._request_copy is not None:
            self.flow.request.data.content = bytes(self._request_copy)
            self._request_copy = None
        yield from super().state_stream_request_body(event)
        if ends and self._response_end is not None and self.is_buffering:
            yield from super().state_consume_response_body(self._response_end)

    def state_wait_for_response_headers(self, event: ResponseHeaders) -> layer.CommandGenerator[None]:
        """Handle the head of a response."""
        yield from super().state_wait_for_response_headers(event)
        if self.is_buffering:
            self._buffered[self] = 0.0

    def state_consume_response_body(self, event: Any) -> layer.CommandGenerator[None]:
        """Buffer a part of the response body. An error is corrected when its request is complete."""
        state: Any = self.client_state
        if isinstance(event, ResponseEndOfMessage) and self.may_be_error and state == self.state_stream_request_body:
            self._response_end = event
            if self._expect_fields is not None and not self._request_copy:
                yield from self._stream_rest(
                    "the upstream did not want the request's body"
                )  # and the client will not send it
            return
        yield from super().state_consume_response_body(event)

    def state_stream_response_body(self, event: Any) -> layer.CommandGenerator[None]:
        """Forward a part of the response body. What follows an event that waits for look-ups waits, too."""
        yield from super().state_stream_response_body(event)
        stream: Any = self.flow.response and self.flow.response.stream
        if isinstance(event, ResponseData) and getattr(stream, "waiting", False):
            yield LookupHook(self.flow)
            yield SendHttp(ResponseData(self.stream_id, stream.waiting), self.context.client)
            stream.waiting = b""

    def _stream_rest(self, reason: str | None) -> layer.CommandGenerator[None]:
        """Send the buffered part of the response, and stream the rest."""
        response = self.flow.response
        assert response is not None
        if reason is not None and self.may_be_error:
            self.flow.metadata[REASON] = reason
        self._buffered.pop(self, None)
        response.stream = True
        body = bytes(self.response_body_buf)
        self.response_body_buf.clear()  # type: ignore[no-untyped-call]  # h11's
        yield from self.start_response_stream()
        if body:
            yield from self.state_stream_response_body(ResponseData(self.stream_id, body))
        if self._response_end is not None:
            yield from self.state_stream_response_body(self._response_end)

    def send_response(self, already_streamed: bool = False) -> layer.CommandGenerator[None]:
        """Send the response, or the rest of it. It may end before its request."""
        self._buffered.pop(self, None)
        yield from super().send_response(already_streamed)
        state: Any = self.client_state
        response: http.Response | None = self.flow.response
        if state == self.state_stream_request_body and response is not None and response.status_code != 101:
            self._response_ended = True
            yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def flow_done(self) -> layer.CommandGenerator[None]:
        """End the exchange."""
        for command in super().flow_done():
            if (
                self._response_ended
                and isinstance(command, SendHttp)
                and isinstance(command.event, ResponseEndOfMessage)
            ):
                continue
            yield command

    def handle_protocol_error(self, event: Any) -> layer.CommandGenerator[None]:
        """End an exchange that one side broke off, also one whose response is complete."""
        if isinstance(event, RequestProtocolError):
            self.flow.metadata[CALLERS_END] = True
        client: Any = self.client_state
        server: Any = self.server_state
        self._buffered.pop(self, None)
        if (
            isinstance(event, RequestProtocolError)
            and client == self.state_stream_request_body
            and server == self.state_done
        ):
            yield SendHttp(event, self.context.server)
        api = self.flow.metadata.get(API)
        if isinstance(event, ResponseProtocolError) and api is not None:
            event = ApiError(event, api.name)
        yield from super().handle_protocol_error(event)


def _is_continue(command: commands.Command) -> bool:
    """Whether this command sends mitmproxy's own 100."""
    if not isinstance(command, SendHttp) or not isinstance(command.event, ResponseHeaders):
        return False
    return bool(command.event.response.status_code == 100)
