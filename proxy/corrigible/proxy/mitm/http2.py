"""HTTP/2 on both sides of the proxy: mitmproxy's layers, changed where they break calls or buffer without a limit.

Knows: mitmproxy's protocol layers, our `FrameConnection` below them. Does not know: flows, rules, sockets.

An upstream that is going to close a connection sends GOAWAY and finishes its open streams; mitmproxy would drop them. A
kube-apiserver sends it at random to distribute its clients (`--goaway-chance`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from h2 import events as h2_events  # type: ignore[import-untyped]  # h2 4.1, which mitmproxy 11.0 pins
from h2.errors import ErrorCodes  # type: ignore[import-untyped]
from h2.exceptions import ProtocolError  # type: ignore[import-untyped]
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import (  # type: ignore[attr-defined]  # named in no __all__ of theirs
    Http2Client,
    Http2Server,
    ReceiveHttp,
    RequestHeaders,
    RequestProtocolError,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._http2 import Http2Connection, StreamState

from .error_page import BODY_LATE, ERROR_TYPE, api_of, error_body, error_status, error_text
from .http2_connection import FrameConnection, GracefulGoAway, MalformedStream, OversizedHeaders
from .messages import BodyLate, NotifyShutdown

REFUSED = "the upstream is closing this connection and has not looked at the request"
GONE = "server closed connection"
MALFORMED = "Cannot parse the HTTP/2 answer"

LINGER_SECONDS = 1.0
"""How long data is read after a GOAWAY for an error: else a TCP reset could destroy the GOAWAY."""

_CLEANUP_AT_LEAST = 256
"""Closed streams are dropped when this many are remembered."""

IsCongested = Callable[[int], bool]
"""Whether the data received for this client stream waits for the other side to take it."""


class DataConsumed(events.Event):
    """The other side may have taken data, so stream windows may open again."""


class _Http2Side(Http2Connection):
    """What both sides share."""

    def __init__(self, is_congested: IsCongested) -> None:
        self._is_congested = is_congested
        self._connection = FrameConnection(self.h2_conf)
        self.h2_conn: Any = self._connection  # mitmproxy's own buffers without a limit
        self.unacknowledged: dict[int, int] = {}
        """Per stream: received bytes that are not acknowledged yet."""
        self._cleanup_at = _CLEANUP_AT_LEAST

    def pending(self, stream_id: int) -> int:
        """Return how many bytes of a client stream the peer's windows hold back."""
        return self._connection.pending(stream_id)

    def handle_h2_event(self, event: Any) -> layer.CommandGenerator[bool]:
        """Handle an event of hyper-h2."""
        match event:
            case h2_events.DataReceived():
                yield from self._data(event)
                return False
            case MalformedStream():
                if self.streams.pop(event.stream_id, None) is not None:
                    yield ReceiveHttp(self._protocol_error(event.stream_id, f"{MALFORMED}: {event.why}"))
                return False
            case ProtocolError():
                # hyper-h2 has sent GOAWAY, with its own code
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
                yield from self._linger(f"HTTP/2 protocol error: {event}")
                return True
            case h2_events.ConnectionTerminated():
                yield from self.close_connection(GONE)
                return True
            case h2_events.StreamEnded():
                stopped = yield from super().handle_h2_event(event)
                self._drop_closed()
                return stopped
        return (yield from super().handle_h2_event(event))

    def _data(self, event: Any) -> layer.CommandGenerator[None]:
        match self.streams.get(event.stream_id):
            case StreamState.HEADERS_RECEIVED if event.data:  # in HTTP/1 an empty chunk would end the body
                yield ReceiveHttp(self.ReceiveData(event.stream_id, event.data))
            case StreamState.EXPECTING_HEADERS:
                del self.streams[event.stream_id]
                self.h2_conn.reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
                yield ReceiveHttp(self._protocol_error(event.stream_id, f"{MALFORMED}: data before its head"))
        if self._is_congested(self._client_stream(event.stream_id)):
            self.unacknowledged[event.stream_id] = (
                self.unacknowledged.get(event.stream_id, 0) + event.flow_controlled_length
            )
        else:
            self.h2_conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def _acknowledge(self) -> layer.CommandGenerator[None]:
        for stream_id in tuple(self.unacknowledged):
            if not self._is_congested(self._client_stream(stream_id)):
                self.h2_conn.acknowledge_received_data(self.unacknowledged.pop(stream_id), stream_id)
        if data := self.h2_conn.data_to_send():
            yield commands.SendData(self.conn, data)

    def _client_stream(self, stream_id: int) -> int:
        return stream_id

    def _protocol_error(self, stream_id: int, message: str) -> RequestProtocolError | ResponseProtocolError:
        return self.ReceiveProtocolError(stream_id, message, self.ReceiveProtocolError.code)

    def _linger(self, message: str) -> layer.CommandGenerator[None]:
        """Close the connection after an error."""
        yield from self.close_connection(message)

    def done(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Ignore events: the connection is closed."""
        yield from ()

    def _drop_closed(self) -> None:
        """Drop closed streams from time to time: mitmproxy keeps some forever."""
        if len(self.streams) > self._cleanup_at:
            self._drop([stream_id for stream_id in self.streams if self.is_closed(stream_id)])
            self._cleanup_at = max(_CLEANUP_AT_LEAST, 2 * len(self.streams))

    def _drop(self, stream_ids: list[int]) -> None:
        for stream_id in stream_ids:
            del self.streams[stream_id]


class ClientSide(_Http2Side, Http2Server):
    """The connection to the client."""

    def __init__(self, context: Context, is_congested: IsCongested) -> None:
        Http2Server.__init__(self, context)
        _Http2Side.__init__(self, is_congested)
        self._is_going_away = False

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        match event:
            case DataConsumed():
                yield from self._acknowledge()
            case events.Wakeup():  # the proxy shuts down
                self._connection.send_graceful_goaway()
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
                self._is_going_away = True
            case BodyLate():
                yield from self._give_up(event.stream_id)
            case ResponseProtocolError() if self._can_answer(event.stream_id):
                yield from self._send_error(event)
            case _:
                yield from super()._handle_event(event)
                if isinstance(event, events.Start):
                    yield NotifyShutdown(closes_connection=True)
        if self._is_going_away and not self._connection.open_inbound_streams:
            self._is_going_away = False
            yield from self.close_connection("the proxy shuts down")

    def handle_h2_event(self, event: Any) -> layer.CommandGenerator[bool]:
        """Handle an event of hyper-h2."""
        match event:
            case GracefulGoAway():
                self._is_going_away = True
                return False
            case OversizedHeaders():
                self._send_text(event.stream_id, 431, "the header list is too long")
                if not self.is_closed(event.stream_id):
                    self.h2_conn.reset_stream(event.stream_id, ErrorCodes.NO_ERROR)
                return False
        return (yield from super().handle_h2_event(event))

    def _give_up(self, stream_id: int) -> layer.CommandGenerator[None]:
        """End a stream whose request does not go on."""
        if self._can_answer(stream_id):
            self._send_text(stream_id, 408, BODY_LATE)
        if not self.is_closed(stream_id):
            self.h2_conn.reset_stream(stream_id, ErrorCodes.NO_ERROR)
        yield commands.SendData(self.conn, self.h2_conn.data_to_send())
        if self.streams.pop(stream_id, None) is not None:
            yield ReceiveHttp(self._protocol_error(stream_id, BODY_LATE))

    def _send_error(self, event: ResponseProtocolError) -> layer.CommandGenerator[None]:
        status = _status(event.code)
        if event.message == REFUSED:
            self.h2_conn.reset_stream(event.stream_id, ErrorCodes.REFUSED_STREAM)  # the client will retry
        elif status is not None:
            status = error_status(status, event.message)
            self._send_text(event.stream_id, status, error_text(status, event.message, api_of(event)))
        else:
            yield from super()._handle_event(event)
        yield commands.SendData(self.conn, self.h2_conn.data_to_send())

    def _send_text(self, stream_id: int, status: int, text: str) -> None:
        head = [(b":status", b"%d" % status), (b"content-type", ERROR_TYPE)]
        self.h2_conn.send_headers(stream_id, head)
        self.h2_conn.send_data(stream_id, error_body(text), end_stream=True)

    def _can_answer(self, stream_id: int) -> bool:
        return self.is_open_for_us(stream_id) and not self.h2_conn.streams[stream_id].state_machine.headers_sent

    def _linger(self, message: str) -> layer.CommandGenerator[None]:
        for command in self.close_connection(message):
            if isinstance(command, commands.CloseConnection):
                yield commands.CloseTcpConnection(self.conn, half_close=True)
                yield commands.RequestWakeup(LINGER_SECONDS)
            else:
                yield command
        self._handle_event = self._lingering  # type: ignore[method-assign]  # as mitmproxy does

    def _lingering(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Wakeup | events.ConnectionClosed):
            yield commands.CloseConnection(self.conn)


class UpstreamSide(_Http2Side, Http2Client):
    """A connection to the upstream. After a graceful GOAWAY its open streams finish; new ones go elsewhere."""

    def __init__(self, context: Context, is_congested: IsCongested) -> None:
        Http2Client.__init__(self, context)
        _Http2Side.__init__(self, is_congested)
        self._last_accepted: int | None = None
        """The last stream that the upstream will answer, after its GOAWAY."""

    def pending(self, stream_id: int) -> int:
        """Return how many bytes of a client stream the upstream's windows hold back."""
        if stream_id in self.stream_queue:
            return 1 << 31
        upstream_id = self.our_stream_id.get(stream_id)
        return self._connection.pending(upstream_id) if upstream_id is not None else 0

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        match event:
            case DataConsumed():
                yield from self._acknowledge()
            case HttpEvent():
                yield from self._send(event)
            case _:
                yield from self._translate_ids(event)
        while self.stream_queue and (self._last_accepted is not None or self._is_free()):
            queue: list[Any] = self.stream_queue.pop(next(iter(self.stream_queue)))
            for queued in queue:
                yield from self._send(queued)
        if self._last_accepted is not None and not self.streams:
            yield commands.CloseConnection(self.conn)

    def _send(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        # Stream ids differ here: the client's streams may arrive in another order or use several connections.
        stream_id = event.stream_id
        if stream_id not in self.our_stream_id:
            if stream_id in self.stream_queue:
                if isinstance(event, RequestProtocolError):
                    del self.stream_queue[stream_id]
                else:
                    self.stream_queue[stream_id].append(event)
                return
            if not isinstance(event, RequestHeaders):
                return  # the stream is closed
            if self._last_accepted is not None:
                yield ReceiveHttp(self._protocol_error(stream_id, REFUSED))
                return
            if not self._is_free():
                self.stream_queue[stream_id].append(event)
                return
            upstream_id = self.h2_conn.get_next_available_stream_id()
            self.our_stream_id[stream_id], self.their_stream_id[upstream_id] = upstream_id, stream_id
        event.stream_id = self.our_stream_id[stream_id]
        yield from self._translate_ids(event)

    def _translate_ids(self, event: events.Event) -> layer.CommandGenerator[None]:
        for command in self._handle_event2(event):
            if isinstance(command, ReceiveHttp):
                command.event.stream_id = self.their_stream_id[command.event.stream_id]
            yield command

    def _is_free(self) -> bool:
        limit = self.provisional_max_concurrency or self._connection.remote_settings.max_concurrent_streams
        free: bool = self._connection.open_outbound_streams < limit
        return free

    def handle_h2_event(self, event: Any) -> layer.CommandGenerator[bool]:
        """Handle an event of hyper-h2."""
        if not isinstance(event, GracefulGoAway):
            return (yield from super().handle_h2_event(event))
        self._last_accepted = event.last_stream_id
        self.conn.state &= ~ConnectionState.CAN_WRITE  # half closed: not used for another request
        for stream_id in [stream_id for stream_id in self.streams if stream_id > event.last_stream_id]:
            del self.streams[stream_id]
            yield ReceiveHttp(self._protocol_error(stream_id, REFUSED))
        return False

    def close_connection(self, msg: str) -> layer.CommandGenerator[None]:
        """Close the connection, and fail the requests that are queued for it."""
        queued, self.stream_queue = tuple(self.stream_queue), type(self.stream_queue)(list)
        yield from super().close_connection(msg)
        for stream_id in queued:
            upstream_id = self.h2_conn.get_next_available_stream_id()
            self.their_stream_id[upstream_id] = stream_id  # the response is addressed by it
            yield ReceiveHttp(self._protocol_error(upstream_id, REFUSED))

    def _client_stream(self, stream_id: int) -> int:
        return self.their_stream_id.get(stream_id, 0)

    def _drop(self, stream_ids: list[int]) -> None:
        super()._drop(stream_ids)
        for stream_id in stream_ids:
            self.our_stream_id.pop(self.their_stream_id.pop(stream_id, 0), None)


def _status(code: Any) -> int | None:
    """Return the status for an error, if any: in mitmproxy 11 the code itself, or 444; in 12 a method has it."""
    status: int | None = code.http_status_code() if hasattr(code, "http_status_code") else int(code)
    return None if status == 444 else status
