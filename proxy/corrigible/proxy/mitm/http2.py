"""mitmproxy's HTTP/2, where it would make a working call fail, let a malformed one pass, or hold without a bound.

Knows: mitmproxy's protocol layers, the connection of ours below them. Does not know: flows, rules, sockets.

An upstream that is about to close a connection says so (GOAWAY) and finishes what it has begun; mitmproxy would drop
that too. A kube-apiserver says it now and then to spread its clients (`--goaway-chance`), whatever they are doing.
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

from .commands import TellOfEnd
from .error_page import error_text
from .http2_connection import Connection, Goodbye, Malformed, Oversized

REFUSED = "the upstream is closing this connection and has not looked at the request"
GONE = "server closed connection"
MALFORMED = "Cannot parse the HTTP/2 answer"

LINGER = 1.0
"""After a goodbye for cause, what still arrives is read for so long: else the system would take the goodbye back."""

_KEPT = 256
"""So many streams are remembered before those that are over are looked for."""

Congested = Callable[[int], bool]
"""Whether what was received for this stream (of the client's) still waits for the next one to take it."""


class Settle(events.Event):
    """Something may have been taken that was held: the window of its stream may open again."""


class _Side(Http2Connection):
    """What both sides have in common."""

    def __init__(self, congested: Congested) -> None:
        self._congested = congested
        self._connection = Connection(self.h2_conf)
        self.h2_conn: Any = self._connection  # theirs has a buffer without a bound
        self.owed: dict[int, int] = {}
        """Of which stream how much is received and not acknowledged."""
        self._remembered = _KEPT

    def waiting(self, stream_id: int) -> int:
        """Return how much of a stream (of the client's) the other end does not take yet."""
        return self._connection.waiting(stream_id)

    def handle_h2_event(self, event: Any) -> layer.CommandGenerator[bool]:
        """Handle what hyper-h2 made of the frames."""
        match event:
            case h2_events.DataReceived():
                yield from self._data(event)
                return False
            case Malformed():
                if self.streams.pop(event.stream_id, None) is not None:
                    yield ReceiveHttp(self._broken(event.stream_id, f"{MALFORMED}: {event.why}"))
                return False
            case ProtocolError():
                # hyper-h2 has said goodbye, with its own code
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
                yield from self._linger(f"HTTP/2 protocol error: {event}")
                return True
            case h2_events.ConnectionTerminated():
                yield from self.close_connection(GONE)
                return True
            case h2_events.StreamEnded():
                stopped = yield from super().handle_h2_event(event)
                self._forget()
                return stopped
        return (yield from super().handle_h2_event(event))

    def _data(self, event: Any) -> layer.CommandGenerator[None]:
        match self.streams.get(event.stream_id):
            case StreamState.HEADERS_RECEIVED if event.data:  # an empty chunk would be the last one in HTTP/1
                yield ReceiveHttp(self.ReceiveData(event.stream_id, event.data))
            case StreamState.EXPECTING_HEADERS:
                del self.streams[event.stream_id]
                self.h2_conn.reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
                yield ReceiveHttp(self._broken(event.stream_id, f"{MALFORMED}: data before its head"))
        if self._congested(self._theirs(event.stream_id)):
            self.owed[event.stream_id] = self.owed.get(event.stream_id, 0) + event.flow_controlled_length
        else:
            self.h2_conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def _settle(self) -> layer.CommandGenerator[None]:
        for stream_id in tuple(self.owed):
            if not self._congested(self._theirs(stream_id)):
                self.h2_conn.acknowledge_received_data(self.owed.pop(stream_id), stream_id)
        if data := self.h2_conn.data_to_send():
            yield commands.SendData(self.conn, data)

    def _theirs(self, stream_id: int) -> int:
        return stream_id

    def _broken(self, stream_id: int, message: str) -> RequestProtocolError | ResponseProtocolError:
        return self.ReceiveProtocolError(stream_id, message, self.ReceiveProtocolError.code)

    def _linger(self, message: str) -> layer.CommandGenerator[None]:
        """Close the connection for cause."""
        yield from self.close_connection(message)

    def done(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Take no notice: the connection is over."""
        yield from ()

    def _forget(self) -> None:
        """Forget streams that are over, now and then: mitmproxy remembers some for good."""
        if len(self.streams) > self._remembered:
            self._over([stream_id for stream_id in self.streams if self.is_closed(stream_id)])
            self._remembered = max(_KEPT, 2 * len(self.streams))

    def _over(self, stream_ids: list[int]) -> None:
        for stream_id in stream_ids:
            del self.streams[stream_id]


class ClientSide(_Side, Http2Server):
    """Serves the client."""

    def __init__(self, context: Context, congested: Congested) -> None:
        Http2Server.__init__(self, context)
        _Side.__init__(self, congested)
        self._leaving = False

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        match event:
            case Settle():
                yield from self._settle()
            case events.Wakeup():  # the proxy is about to end
                self._connection.say_goodbye()
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
                self._leaving = True
            case ResponseProtocolError() if self._can_answer(event.stream_id):
                yield from self._answer(event)
            case _:
                yield from super()._handle_event(event)
                if isinstance(event, events.Start):
                    yield TellOfEnd(closes=True)
        if self._leaving and not self._connection.open_inbound_streams:
            self._leaving = False
            yield from self.close_connection("all is said")

    def handle_h2_event(self, event: Any) -> layer.CommandGenerator[bool]:
        """Handle what hyper-h2 made of the frames."""
        match event:
            case Goodbye():
                self._leaving = True
                return False
            case Oversized():
                self._say(event.stream_id, 431, "the header list is too long")
                if not self.is_closed(event.stream_id):
                    self.h2_conn.reset_stream(event.stream_id, ErrorCodes.NO_ERROR)
                return False
        return (yield from super().handle_h2_event(event))

    def _answer(self, event: ResponseProtocolError) -> layer.CommandGenerator[None]:
        status = _status(event.code)
        if event.message == REFUSED:
            self.h2_conn.reset_stream(event.stream_id, ErrorCodes.REFUSED_STREAM)  # the client will try again
        elif status is not None:
            self._say(event.stream_id, status, error_text(status, event.message))
        else:
            yield from super()._handle_event(event)
        yield commands.SendData(self.conn, self.h2_conn.data_to_send())

    def _say(self, stream_id: int, status: int, text: str) -> None:
        head = [(b":status", b"%d" % status), (b"content-type", b"text/plain; charset=utf-8")]
        self.h2_conn.send_headers(stream_id, head)
        self.h2_conn.send_data(stream_id, f"corrigible: {text}\n".encode(), end_stream=True)

    def _can_answer(self, stream_id: int) -> bool:
        return self.is_open_for_us(stream_id) and not self.h2_conn.streams[stream_id].state_machine.headers_sent

    def _linger(self, message: str) -> layer.CommandGenerator[None]:
        for command in self.close_connection(message):
            if isinstance(command, commands.CloseConnection):
                yield commands.CloseTcpConnection(self.conn, half_close=True)
                yield commands.RequestWakeup(LINGER)
            else:
                yield command
        self._handle_event = self._lingering  # type: ignore[method-assign]  # as theirs does

    def _lingering(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Wakeup | events.ConnectionClosed):
            yield commands.CloseConnection(self.conn)


class UpstreamSide(_Side, Http2Client):
    """Talks to the upstream. Outlives a polite GOAWAY: open streams go on, new ones go elsewhere."""

    def __init__(self, context: Context, congested: Congested) -> None:
        Http2Client.__init__(self, context)
        _Side.__init__(self, congested)
        self._last: int | None = None
        """The last stream that the upstream will answer, once it has said so."""

    def waiting(self, stream_id: int) -> int:
        """Return how much of a stream (of the client's) the upstream does not take yet."""
        if stream_id in self.stream_queue:
            return 1 << 31
        ours = self.our_stream_id.get(stream_id)
        return self._connection.waiting(ours) if ours is not None else 0

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        match event:
            case Settle():
                yield from self._settle()
            case HttpEvent():
                yield from self._send(event)
            case _:
                yield from self._mapped(event)
        while self.stream_queue and (self._last is not None or self._is_free()):
            queue: list[Any] = self.stream_queue.pop(next(iter(self.stream_queue)))
            for queued in queue:
                yield from self._send(queued)
        if self._last is not None and not self.streams:
            yield commands.CloseConnection(self.conn)

    def _send(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        # Our stream ids are other ones: the client's may come in another order, or be used on several connections.
        stream_id = event.stream_id
        if stream_id not in self.our_stream_id:
            if stream_id in self.stream_queue:
                if isinstance(event, RequestProtocolError):
                    del self.stream_queue[stream_id]
                else:
                    self.stream_queue[stream_id].append(event)
                return
            if not isinstance(event, RequestHeaders):
                return  # it is over
            if self._last is not None:
                yield ReceiveHttp(self._broken(stream_id, REFUSED))
                return
            if not self._is_free():
                self.stream_queue[stream_id].append(event)
                return
            ours = self.h2_conn.get_next_available_stream_id()
            self.our_stream_id[stream_id], self.their_stream_id[ours] = ours, stream_id
        event.stream_id = self.our_stream_id[stream_id]
        yield from self._mapped(event)

    def _mapped(self, event: events.Event) -> layer.CommandGenerator[None]:
        for command in self._handle_event2(event):
            if isinstance(command, ReceiveHttp):
                command.event.stream_id = self.their_stream_id[command.event.stream_id]
            yield command

    def _is_free(self) -> bool:
        limit = self.provisional_max_concurrency or self._connection.remote_settings.max_concurrent_streams
        free: bool = self._connection.open_outbound_streams < limit
        return free

    def handle_h2_event(self, event: Any) -> layer.CommandGenerator[bool]:
        """Handle what hyper-h2 made of the frames."""
        if not isinstance(event, Goodbye):
            return (yield from super().handle_h2_event(event))
        self._last = event.last_stream_id
        self.conn.state &= ~ConnectionState.CAN_WRITE  # half closed: not taken for another request
        for stream_id in [known for known in self.streams if known > event.last_stream_id]:
            del self.streams[stream_id]
            yield ReceiveHttp(self._broken(stream_id, REFUSED))
        return False

    def close_connection(self, msg: str) -> layer.CommandGenerator[None]:
        """Close the connection, and tell all who wait for it."""
        queued, self.stream_queue = tuple(self.stream_queue), type(self.stream_queue)(list)
        yield from super().close_connection(msg)
        for stream_id in queued:
            ours = self.h2_conn.get_next_available_stream_id()
            self.their_stream_id[ours] = stream_id  # this is how the answer is addressed
            yield ReceiveHttp(self._broken(ours, REFUSED))

    def _theirs(self, stream_id: int) -> int:
        return self.their_stream_id.get(stream_id, 0)

    def _over(self, stream_ids: list[int]) -> None:
        super()._over(stream_ids)
        for stream_id in stream_ids:
            self.our_stream_id.pop(self.their_stream_id.pop(stream_id, 0), None)


def _status(code: Any) -> int | None:
    """Return the status to answer with: mitmproxy 11 has it here, 444 meaning none; 12 has a reason that knows it."""
    status: int | None = code.http_status_code() if hasattr(code, "http_status_code") else int(code)
    return None if status == 444 else status
