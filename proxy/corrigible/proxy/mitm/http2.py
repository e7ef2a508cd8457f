"""One HTTP/2 connection as frames: incoming ones are checked and counted, outgoing data waits for the peer's windows.

Knows: hyper-h2 and its frames. Does not know: mitmproxy's layers, flows, which side is the caller.

hyper-h2 decodes, and keeps the states of connection and streams. Added here: a malformed message ends only its stream
(RFC 9113 section 8.1.1), frames without content use up a budget, and a window opens again only when the other side of
the proxy has taken the data.

HTTP/2 on both sides of the proxy: mitmproxy's layers, changed where they break calls or buffer without a limit.

Knows: mitmproxy's protocol layers, our `FrameConnection` below them. Does not know: flows, rules, sockets.

An upstream that is going to close a connection sends GOAWAY and finishes its open streams; mitmproxy would drop them. A
kube-apiserver sends it at random to distribute its clients (`--goaway-chance`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from h2 import events as h2_events  # type: ignore[import-untyped]  # h2 4.1, which mitmproxy 11.0 pins
from h2.config import H2Configuration  # type: ignore[import-untyped]
from h2.connection import (  # type: ignore[import-untyped]
    AllowedStreamIDs,
    ConnectionInputs,
    H2Connection,
    _decode_headers,
)
from h2.errors import ErrorCodes  # type: ignore[import-untyped]
from h2.exceptions import DenialOfServiceError, InvalidBodyLengthError, ProtocolError  # type: ignore[import-untyped]
from h2.frame_buffer import FrameBuffer  # type: ignore[import-untyped]
from h2.settings import SettingCodes  # type: ignore[import-untyped]
from h2.stream import StreamInputs  # type: ignore[import-untyped]
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
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

from corrigible.proxy.http import message_head as head

from .error_page import BODY_LATE, ERROR_TYPE, api_of, error_body, error_status, error_text
from .messages import BodyLate, NotifyShutdown

STREAM_WINDOW = 1 << 18
"""Bytes of a stream in transit to us or buffered here."""

CONNECTION_WINDOW = 1 << 24
"""The same for all streams of a connection."""

FRAME_SIZE = 1 << 17
STREAMS = 100
"""Further concurrent streams are refused; the client may send them again."""

HEADER_LIST_SIZE = 1 << 16
"""A request with a longer header list gets a 431."""

_HEADERS_DECODED = 4 * HEADER_LIST_SIZE
"""A longer header block ends the connection: undecoded fields would corrupt the HPACK state."""

_CONTINUATIONS = 32
_RESET_COST = 4.0
"""Units of the budget: a reset stream costs more than a frame."""
_SETTINGS_COST = 10.0
_UNLIMITED = 1 << 31


@dataclass(frozen=True, slots=True)
class MalformedStream:
    """A stream was reset because its message is malformed."""

    stream_id: int
    why: str


@dataclass(frozen=True, slots=True)
class OversizedHeaders:
    """The header list of a request is longer than the announced limit."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class GracefulGoAway:
    """The peer accepts no new streams on this connection; it answers those up to this one."""

    last_stream_id: int


@dataclass(slots=True)
class _PendingData:
    """Data that the peer's windows hold back."""

    data: bytearray
    ends: bool = False
    trailers: list[tuple[bytes, bytes]] = field(default_factory=list)


class _Frames(FrameBuffer):  # type: ignore[misc]  # theirs is untyped
    """Assembles frames; limits the size of a header block in several frames."""

    _pieces = 0
    _size = 0

    def _update_header_buffer(self, f: Any) -> Any:
        if isinstance(f, ContinuationFrame):
            self._pieces += 1
            self._size += len(f.data)
            if self._pieces > _CONTINUATIONS or self._size > _HEADERS_DECODED:
                raise DenialOfServiceError("a header block without end")
        else:
            self._pieces = self._size = 0
        return super()._update_header_buffer(f)


class FrameConnection(H2Connection):  # type: ignore[misc]  # theirs is untyped
    """hyper-h2's connection, with checks, a budget, and buffers for data that the peer's windows hold back."""

    MAX_CLOSED_STREAMS = 1 << 12

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.local_settings.initial_window_size = STREAM_WINDOW
        self.local_settings.max_frame_size = self.max_inbound_frame_size = FRAME_SIZE
        self.local_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = STREAMS
        self.local_settings[SettingCodes.MAX_HEADER_LIST_SIZE] = HEADER_LIST_SIZE
        if config.client_side:
            self.local_settings.enable_push = 0
        self.local_settings.acknowledge()  # else hyper-h2 would send its default settings
        self.decoder.max_header_list_size = _HEADERS_DECODED
        self.incoming_buffer = _Frames(server=not config.client_side)
        self._budget = FrameBudget()
        self._pending: dict[int, _PendingData] = {}
        self._is_receiving = self._is_going_away = False

    def initiate_connection(self) -> None:
        """Send the connection preface."""
        super().initiate_connection()
        self.increment_flow_control_window(CONNECTION_WINDOW - self.inbound_flow_control_window)

    def send_graceful_goaway(self) -> None:
        """Send GOAWAY: no new stream is accepted. Open ones finish; hyper-h2's own method would end them."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        self._prepare_for_sending([frame])
        self._is_going_away = True

    def receive_data(self, data: bytes) -> list[Any]:
        """Process received bytes; return the events. Raises ProtocolError if the connection must end."""
        self._is_receiving = True
        try:
            events: list[Any] = super().receive_data(data)
        finally:
            self._is_receiving = False
        results: list[Any] = []
        for event in events:
            match event:
                case h2_events.DataReceived():
                    before = results[-1] if results else None
                    if isinstance(before, h2_events.DataReceived) and before.stream_id == event.stream_id:
                        before.data += event.data  # many small frames cost less as one event
                        before.flow_controlled_length += event.flow_controlled_length
                        continue
                case h2_events.WindowUpdated(stream_id=0):
                    self._flush_all()
                    continue
                case h2_events.WindowUpdated():
                    self._flush(event.stream_id)
                    continue
                case h2_events.RemoteSettingsChanged():
                    if SettingCodes.INITIAL_WINDOW_SIZE in event.changed_settings:
                        self._flush_all()
                case h2_events.StreamReset() | MalformedStream():
                    self._pending.pop(event.stream_id, None)
            results.append(event)
        return results

    # Sending

    def pending(self, stream_id: int) -> int:
        """Return how many bytes of a stream the peer's windows hold back."""
        pending = self._pending.get(stream_id)
        return len(pending.data) if pending is not None else 0

    def send_data(self, stream_id: int, data: bytes, end_stream: bool = False, pad_length: None = None) -> None:
        """Send as much as the windows allow; the rest follows when they open."""
        if stream_id in self._pending:
            pending = self._pending[stream_id]
            pending.data += data
            pending.ends = pending.ends or end_stream
            return
        if not data:
            if end_stream:
                super().end_stream(stream_id)
            return
        count = self._send(stream_id, data, ends=end_stream)
        self._budget.earn(max(2, count / 1024))  # the peer may answer each frame with two WINDOW_UPDATEs
        if count < len(data):
            self._pending[stream_id] = _PendingData(bytearray(memoryview(data)[count:]), end_stream)

    def send_trailers(self, stream_id: int, trailers: list[tuple[bytes, bytes]]) -> None:
        """Send trailers, after all data."""
        if stream_id in self._pending:
            self._pending[stream_id].trailers = trailers
        else:
            self.send_headers(stream_id, trailers, end_stream=True)

    def end_stream(self, stream_id: int) -> None:
        """End our direction of a stream, after all data."""
        pending = self._pending.get(stream_id)
        if pending is None:
            super().end_stream(stream_id)
        elif not pending.trailers:
            pending.ends = True

    def reset_stream(self, stream_id: int, error_code: int = 0) -> None:
        """Reset a stream, and drop its data."""
        self._pending.pop(stream_id, None)
        super().reset_stream(stream_id, error_code)

    def _send(self, stream_id: int, data: bytes | bytearray, *, ends: bool, limit: int = _UNLIMITED) -> int:
        """Send what the windows allow, at most `limit` bytes; return how many were sent."""
        sent_size, whole = 0, len(data)
        while True:
            window: int = self.local_flow_control_window(stream_id)
            size: int = min(window, self.max_outbound_frame_size, whole - sent_size, limit)
            if size <= 0:
                return sent_size
            piece = bytes(data) if size == whole else bytes(memoryview(data)[sent_size : sent_size + size])
            sent_size += size
            super().send_data(stream_id, piece, end_stream=ends and sent_size == whole)
            if sent_size == whole or sent_size >= limit:
                return sent_size

    def _flush(self, stream_id: int, *, limit: int = _UNLIMITED) -> bool:
        pending = self._pending.get(stream_id)
        if pending is None:
            return False
        stream = self.streams.get(stream_id)
        if stream is None or stream.closed:
            del self._pending[stream_id]
            return False
        count = self._send(stream_id, pending.data, ends=pending.ends and not pending.trailers, limit=limit)
        del pending.data[:count]
        self._budget.earn(count / 1024)
        if not pending.data:
            del self._pending[stream_id]
            if pending.trailers:
                self.send_headers(stream_id, pending.trailers, end_stream=True)
        return bool(count)

    def _flush_all(self) -> None:
        """Send held-back data of all streams, in turns."""
        moving = True
        while moving and self.outbound_flow_control_window > 0:
            moving = False
            for stream_id in tuple(self._pending):
                moving |= self._flush(stream_id, limit=self.max_outbound_frame_size)

    def _prepare_for_sending(self, frames: Iterable[Frame]) -> None:
        if self._is_receiving and any(isinstance(frame, RstStreamFrame) for frame in frames):
            self._spend(_RESET_COST)
        super()._prepare_for_sending(frames)

    # Receiving

    def _spend(self, amount: float) -> None:
        if not self._budget.spend(amount):
            raise DenialOfServiceError("too many frames without content")

    def _receive_frame(self, frame: Frame) -> list[h2_events.Event]:
        match frame:
            case DataFrame():
                if not frame.data and "END_STREAM" not in frame.flags:
                    self._spend(1)
                else:
                    self._budget.earn(min(1.0, len(frame.data) / 64))  # the peer may send a PING for data
            case HeadersFrame():
                pass
            case SettingsFrame():
                self._spend(_SETTINGS_COST + len(frame.settings))
            case RstStreamFrame():
                stream = self.streams.get(frame.stream_id)
                self._spend(_RESET_COST if stream is not None and not stream.closed else 1)
            case _:
                self._spend(1)
        events: list[h2_events.Event] = super()._receive_frame(frame)
        return events

    def _receive_headers_frame(self, frame: HeadersFrame) -> tuple[list[Frame], list[Any]]:
        if len(frame.data) > _HEADERS_DECODED:
            raise DenialOfServiceError("an oversized header block")
        block = [(bytes(name), bytes(value)) for name, value in _decode_headers(self.decoder, frame.data)]
        events = self.state_machine.process_input(ConnectionInputs.RECV_HEADERS)
        server = not self.config.client_side
        fresh = frame.stream_id not in self.streams
        too_many = server and fresh and (self._is_going_away or self.open_inbound_streams >= STREAMS)
        stream = self._get_or_create_stream(frame.stream_id, AllowedStreamIDs(server))
        if stream.closed:  # hyper-h2 handles that
            return stream.receive_headers(block, "END_STREAM" in frame.flags, None)  # type: ignore[no-any-return]
        if too_many:
            return self._reset(stream, ErrorCodes.REFUSED_STREAM), events
        trailers = bool(stream.state_machine.headers_received)
        if server and not trailers and head.size(block) > HEADER_LIST_SIZE:
            stream.receive_headers([], "END_STREAM" in frame.flags, None)
            return [], [*events, OversizedHeaders(frame.stream_id)]
        fault = self._find_fault(stream, block, trailers=trailers, ends_stream="END_STREAM" in frame.flags)
        if fault is not None:
            return self._reset(stream, ErrorCodes.PROTOCOL_ERROR), [*events, MalformedStream(frame.stream_id, fault)]
        if not server:
            block = head.without_blanks(block)
        frames, more = stream.receive_headers(block, "END_STREAM" in frame.flags, None)
        return frames, events + more

    def _reset(self, stream: Any, code: int) -> list[Frame]:
        stream.state_machine.process_input(StreamInputs.RECV_HEADERS)
        frames: list[Frame] = stream.reset_stream(code)
        return frames

    def _find_fault(self, stream: Any, block: head.Fields, *, trailers: bool, ends_stream: bool) -> str | None:
        if trailers:
            fault = head.trailer_fault(block, ends_stream=ends_stream)
            if fault is None and stream._expected_content_length not in (None, stream._actual_content_length):
                fault = "content-length"
            return fault
        if not self.config.client_side:
            return head.request_fault(block, ends_stream=ends_stream)
        return head.response_fault(block, ends_stream=ends_stream, bodiless=stream.request_method == b"HEAD")

    def _receive_data_frame(self, frame: DataFrame) -> tuple[list[Frame], list[Any]]:
        try:
            received: tuple[list[Frame], list[Any]] = super()._receive_data_frame(frame)
            return received
        except InvalidBodyLengthError:
            # hyper-h2 would end the connection. It has counted the data, which is dropped: the window opens again.
            frames = self.streams[frame.stream_id].reset_stream(ErrorCodes.PROTOCOL_ERROR)
            increment = self._inbound_flow_control_window_manager.process_bytes(frame.flow_controlled_length)
            if increment:
                update = WindowUpdateFrame(0)
                update.window_increment = increment
                frames.append(update)
            return frames, [MalformedStream(frame.stream_id, "content-length")]

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Any]]:
        if frame.error_code != ErrorCodes.NO_ERROR:
            received: tuple[list[Frame], list[Any]] = super()._receive_goaway_frame(frame)
            return received
        return [], [GracefulGoAway(frame.last_stream_id)]


# How many frames without content a peer may send before its connection ends with ENHANCE_YOUR_CALM.

BURST = 1000.0
"""Units at once: at one unit per frame some 50 ms of CPU time."""

RATE = 200.0
"""Units that are added each second."""


class FrameBudget:
    """A token bucket that fills with time and with transferred data."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = BURST
        self._at = clock()

    def earn(self, amount: float) -> None:
        """Add units, for data whose transfer needs such frames."""
        self._left = min(BURST, self._left + amount)

    def spend(self, amount: float) -> bool:
        """Subtract units. Return False if too few are left."""
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * RATE) - amount
        self._at = now
        return self._left >= 0


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
