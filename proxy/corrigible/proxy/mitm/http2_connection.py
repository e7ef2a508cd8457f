"""One HTTP/2 connection as frames: what comes in is checked and counted, what goes out waits for the other's window.

Knows: hyper-h2 and its frames. Does not know: mitmproxy's layers, flows, which side is the caller.

hyper-h2 decodes, and keeps the states of connection and streams. Here a malformed message ends its stream and nothing
else (RFC 9113 section 8.1.1), frames that carry nothing come out of a budget, and windows are of a size that we are
ready to hold: they are opened again only where somebody has taken the data.
"""

from __future__ import annotations

from collections.abc import Iterable
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

from .frame_budget import Budget

STREAM_WINDOW = 1 << 18
"""So much of a stream may be under way to us, or lie here until the next one takes it."""

CONNECTION_WINDOW = 1 << 24
"""The same for all streams of a connection together."""

FRAME_SIZE = 1 << 17
STREAMS = 100
"""More at once are refused: the caller may send them again."""

HEADERS = 1 << 16
"""Longer header lists are refused, one by one."""

_HEADERS_DECODED = 4 * HEADERS
"""Decoding stops here, and with it the connection: what was left out would be missed in the next one."""

_CONTINUATIONS = 32
_UNASKED = 4.0
"""A stream that is given up costs us more than a frame."""
_SETTINGS = 10.0
_ALL = 1 << 31


@dataclass(frozen=True, slots=True)
class Malformed:
    """A stream was ended, since its message is not one."""

    stream_id: int
    why: str


@dataclass(frozen=True, slots=True)
class Oversized:
    """The header list of a request is longer than we said that we take."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The other end starts nothing new on this connection, and answers streams up to this one."""

    last_stream_id: int


@dataclass(slots=True)
class _Waiting:
    """What the other end's windows do not let out yet."""

    data: bytearray
    ends: bool = False
    trailers: list[tuple[bytes, bytes]] = field(default_factory=list)


class _Frames(FrameBuffer):  # type: ignore[misc]  # theirs is untyped
    """Puts frames together; a header block in pieces only up to a size."""

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


class Connection(H2Connection):  # type: ignore[misc]  # theirs is untyped
    """hyper-h2's connection, with checks, a budget, and buffers behind the windows of the other end."""

    MAX_CLOSED_STREAMS = 1 << 12

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.local_settings.initial_window_size = STREAM_WINDOW
        self.local_settings.max_frame_size = self.max_inbound_frame_size = FRAME_SIZE
        self.local_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = STREAMS
        self.local_settings[SettingCodes.MAX_HEADER_LIST_SIZE] = HEADERS
        if config.client_side:
            self.local_settings.enable_push = 0
        self.local_settings.acknowledge()  # else hyper-h2 would send the settings from before
        self.decoder.max_header_list_size = _HEADERS_DECODED
        self.incoming_buffer = _Frames(server=not config.client_side)
        self._budget = Budget()
        self._waiting: dict[int, _Waiting] = {}
        self._receiving = self._leaving = False

    def initiate_connection(self) -> None:
        """Say hello."""
        super().initiate_connection()
        self.increment_flow_control_window(CONNECTION_WINDOW - self.inbound_flow_control_window)

    def say_goodbye(self) -> None:
        """Announce that no new stream will be served. Those under way go on: hyper-h2's own way would end them."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        self._prepare_for_sending([frame])
        self._leaving = True

    def receive_data(self, data: bytes) -> list[Any]:
        """Take what has arrived; return what it means. Raises ProtocolError where the connection is over."""
        self._receiving = True
        try:
            events: list[Any] = super().receive_data(data)
        finally:
            self._receiving = False
        kept: list[Any] = []
        for event in events:
            match event:
                case DataReceived():
                    before = kept[-1] if kept else None
                    if isinstance(before, DataReceived) and before.stream_id == event.stream_id:
                        before.data += event.data  # what comes in crumbs costs less in pieces
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
                case StreamReset() | Malformed():
                    self._waiting.pop(event.stream_id, None)
            kept.append(event)
        return kept

    # Out

    def waiting(self, stream_id: int) -> int:
        """Return how much of a stream is held back by the other end's windows."""
        waiting = self._waiting.get(stream_id)
        return len(waiting.data) if waiting is not None else 0

    def send_data(self, stream_id: int, data: bytes, end_stream: bool = False, pad_length: None = None) -> None:
        """Send what the windows let out; the rest follows when they open."""
        if stream_id in self._waiting:
            waiting = self._waiting[stream_id]
            waiting.data += data
            waiting.ends = waiting.ends or end_stream
            return
        if not data:
            if end_stream:
                super().end_stream(stream_id)
            return
        sent = self._send(stream_id, data, ends=end_stream)
        self._budget.earn(max(2, sent / 1024))  # each frame of it may well be answered by two WINDOW_UPDATEs
        if sent < len(data):
            self._waiting[stream_id] = _Waiting(bytearray(memoryview(data)[sent:]), end_stream)

    def send_trailers(self, stream_id: int, trailers: list[tuple[bytes, bytes]]) -> None:
        """Send trailers, after all data."""
        if stream_id in self._waiting:
            self._waiting[stream_id].trailers = trailers
        else:
            self.send_headers(stream_id, trailers, end_stream=True)

    def end_stream(self, stream_id: int) -> None:
        """End our direction of a stream, after all data."""
        waiting = self._waiting.get(stream_id)
        if waiting is None:
            super().end_stream(stream_id)
        elif not waiting.trailers:
            waiting.ends = True

    def reset_stream(self, stream_id: int, error_code: int = 0) -> None:
        """Give a stream up."""
        self._waiting.pop(stream_id, None)
        super().reset_stream(stream_id, error_code)

    def _send(self, stream_id: int, data: bytes | bytearray, *, ends: bool, most: int = _ALL) -> int:
        """Send what may be sent now, up to `most`; return how much that was."""
        sent, whole = 0, len(data)
        while True:
            window: int = self.local_flow_control_window(stream_id)
            size: int = min(window, self.max_outbound_frame_size, whole - sent, most)
            if size <= 0:
                return sent
            piece = bytes(data) if size == whole else bytes(memoryview(data)[sent : sent + size])
            sent += size
            super().send_data(stream_id, piece, end_stream=ends and sent == whole)
            if sent == whole or sent >= most:
                return sent

    def _flush(self, stream_id: int, *, most: int = _ALL) -> bool:
        waiting = self._waiting.get(stream_id)
        if waiting is None:
            return False
        stream = self.streams.get(stream_id)
        if stream is None or stream.closed:
            del self._waiting[stream_id]
            return False
        sent = self._send(stream_id, waiting.data, ends=waiting.ends and not waiting.trailers, most=most)
        del waiting.data[:sent]
        self._budget.earn(sent / 1024)
        if not waiting.data:
            del self._waiting[stream_id]
            if waiting.trailers:
                self.send_headers(stream_id, waiting.trailers, end_stream=True)
        return bool(sent)

    def _flush_all(self) -> None:
        """Let the streams take turns."""
        moving = True
        while moving and self.outbound_flow_control_window > 0:
            moving = False
            for stream_id in tuple(self._waiting):
                moving |= self._flush(stream_id, most=self.max_outbound_frame_size)

    def _prepare_for_sending(self, frames: Iterable[Frame]) -> None:
        if self._receiving and any(isinstance(frame, RstStreamFrame) for frame in frames):
            self._spend(_UNASKED)
        super()._prepare_for_sending(frames)

    # In

    def _spend(self, amount: float) -> None:
        if not self._budget.spend(amount):
            raise DenialOfServiceError("too many frames that carry nothing")

    def _receive_frame(self, frame: Frame) -> list[Event]:
        match frame:
            case DataFrame():
                if not frame.data and "END_STREAM" not in frame.flags:
                    self._spend(1)
                else:
                    self._budget.earn(min(1.0, len(frame.data) / 64))  # data may well be answered by a PING
            case HeadersFrame():
                pass
            case SettingsFrame():
                self._spend(_SETTINGS + len(frame.settings))
            case RstStreamFrame():
                stream = self.streams.get(frame.stream_id)
                self._spend(_UNASKED if stream is not None and not stream.closed else 1)
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
        crowded = server and fresh and (self._leaving or self.open_inbound_streams >= STREAMS)
        stream = self._get_or_create_stream(frame.stream_id, AllowedStreamIDs(server))
        if stream.closed:  # hyper-h2 knows what that means
            return stream.receive_headers(block, "END_STREAM" in frame.flags, None)  # type: ignore[no-any-return]
        if crowded:
            return self._given_up(stream, ErrorCodes.REFUSED_STREAM), events
        trailers = bool(stream.state_machine.headers_received)
        if server and not trailers and head.size(block) > HEADERS:
            stream.receive_headers([], "END_STREAM" in frame.flags, None)
            return [], [*events, Oversized(frame.stream_id)]
        fault = self._fault(stream, block, trailers=trailers, ended="END_STREAM" in frame.flags)
        if fault is not None:
            return self._given_up(stream, ErrorCodes.PROTOCOL_ERROR), [*events, Malformed(frame.stream_id, fault)]
        if not server:
            block = head.without_blanks(block)
        frames, more = stream.receive_headers(block, "END_STREAM" in frame.flags, None)
        return frames, events + more

    def _given_up(self, stream: Any, code: int) -> list[Frame]:
        stream.state_machine.process_input(StreamInputs.RECV_HEADERS)
        frames: list[Frame] = stream.reset_stream(code)
        return frames

    def _fault(self, stream: Any, block: head.Fields, *, trailers: bool, ended: bool) -> str | None:
        if trailers:
            fault = head.trailer_fault(block, ended=ended)
            if fault is None and stream._expected_content_length not in (None, stream._actual_content_length):
                fault = "content-length"
            return fault
        if not self.config.client_side:
            return head.request_fault(block, ended=ended)
        return head.response_fault(block, ended=ended, bodiless=stream.request_method == b"HEAD")

    def _receive_data_frame(self, frame: DataFrame) -> tuple[list[Frame], list[Any]]:
        try:
            received: tuple[list[Frame], list[Any]] = super()._receive_data_frame(frame)
            return received
        except InvalidBodyLengthError:
            # hyper-h2 would end the connection. The data was counted there, and nobody is going to take it.
            frames = self.streams[frame.stream_id].reset_stream(ErrorCodes.PROTOCOL_ERROR)
            increment = self._inbound_flow_control_window_manager.process_bytes(frame.flow_controlled_length)
            if increment:
                update = WindowUpdateFrame(0)
                update.window_increment = increment
                frames.append(update)
            return frames, [Malformed(frame.stream_id, "content-length")]

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Any]]:
        if frame.error_code != ErrorCodes.NO_ERROR:
            received: tuple[list[Frame], list[Any]] = super()._receive_goaway_frame(frame)
            return received
        return [], [Goodbye(frame.last_stream_id)]
