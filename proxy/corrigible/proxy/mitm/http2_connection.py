"""One HTTP/2 connection as frames: incoming ones are checked and counted, outgoing data waits for the peer's windows.

Knows: hyper-h2 and its frames. Does not know: mitmproxy's layers, flows, which side is the caller.

hyper-h2 decodes, and keeps the states of connection and streams. Added here: a malformed message ends only its stream
(RFC 9113 section 8.1.1), frames without content use up a budget, and a window opens again only when the other side of
the proxy has taken the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from h2.config import H2Configuration  # type: ignore[import-untyped]  # h2 4.1, which mitmproxy 11.0 pins
from h2.connection import (  # type: ignore[import-untyped]
    AllowedStreamIDs,
    ConnectionInputs,
    H2Connection,
    _decode_headers,
)
from h2.errors import ErrorCodes  # type: ignore[import-untyped]
from h2.events import (  # type: ignore[import-untyped]
    DataReceived,
    Event,
    RemoteSettingsChanged,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import DenialOfServiceError, InvalidBodyLengthError  # type: ignore[import-untyped]
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

from corrigible.proxy.http import message_head as head

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
                case DataReceived():
                    before = results[-1] if results else None
                    if isinstance(before, DataReceived) and before.stream_id == event.stream_id:
                        before.data += event.data  # many small frames cost less as one event
                        before.flow_controlled_length += event.flow_controlled_length
                        continue
                case WindowUpdated(stream_id=0):
                    self._flush_all()
                    continue
                case WindowUpdated():
                    self._flush(event.stream_id)
                    continue
                case RemoteSettingsChanged():
                    if SettingCodes.INITIAL_WINDOW_SIZE in event.changed_settings:
                        self._flush_all()
                case StreamReset() | MalformedStream():
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

    def _receive_frame(self, frame: Frame) -> list[Event]:
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
        events: list[Event] = super()._receive_frame(frame)
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
