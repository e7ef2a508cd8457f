"""mitmproxy's HTTP/2, where it would make a working call fail, or answer in a way of its own.

Knows: mitmproxy's protocol layers, hyper-h2. Does not know: flows, rules, sockets.

An upstream that is about to close a connection says so (GOAWAY) and finishes what it has begun; mitmproxy would drop
that too. A kube-apiserver says it now and then to spread its clients (`--goaway-chance`), whatever they are doing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from h2.errors import ErrorCodes  # type: ignore[import-untyped]  # h2 4.1, which mitmproxy 11.0 pins
from hyperframe.frame import GoAwayFrame
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import (  # type: ignore[attr-defined]  # named in no __all__ of theirs
    Http2Server,
    ReceiveHttp,
    RequestHeaders,
    ResponseProtocolError,
)

from .mitm_error import error_text

REFUSED = "the upstream is closing this connection and has not looked at the request"


class ClientSide(Http2Server):
    """Serves the client."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, ResponseProtocolError) and self._can_answer(event.stream_id):
            status = _status(event.code)
            if event.message == REFUSED:
                self.h2_conn.reset_stream(event.stream_id, ErrorCodes.REFUSED_STREAM)  # the client will try again
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
                return
            if status is not None:
                text = f"corrigible: {error_text(status, event.message)}\n".encode()
                head = [(b":status", b"%d" % status), (b"content-type", b"text/plain; charset=utf-8")]
                self.h2_conn.send_headers(event.stream_id, head)
                self.h2_conn.send_data(event.stream_id, text, end_stream=True)
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
                return
        yield from super()._handle_event(event)

    def _can_answer(self, stream_id: int) -> bool:
        return self.is_open_for_us(stream_id) and not self.h2_conn.streams[stream_id].state_machine.headers_sent


class Lasting:
    """Lets a connection to the upstream outlive a polite GOAWAY: open streams go on, new ones go elsewhere."""

    def __init__(self, client: Any) -> None:
        self._client = client  # an Http2Client, reached into where it has no door
        self._last: int | None = None
        """The last stream that the upstream will answer, once it has said so."""
        table = self._client.h2_conn._frame_dispatch_table
        self._drop: Callable[[GoAwayFrame], Any] = table[GoAwayFrame]
        table[GoAwayFrame] = self._goaway
        self._inner: Callable[[events.Event], layer.CommandGenerator[None]] = self._client._handle_event
        self._client._handle_event = self._handle

    def _goaway(self, frame: GoAwayFrame) -> Any:
        if frame.error_code != ErrorCodes.NO_ERROR:
            return self._drop(frame)
        self._last = frame.last_stream_id
        self._client.conn.state &= ~ConnectionState.CAN_WRITE  # half closed: not taken for another request
        return [], []

    def _handle(self, event: events.Event) -> layer.CommandGenerator[None]:
        if self._last is not None and isinstance(event, RequestHeaders):
            yield self._refusal(event.stream_id)
            return
        yield from self._inner(event)
        if self._last is not None:
            for stream_id in [known for known in self._client.streams if known > self._last]:
                del self._client.streams[stream_id]
                yield self._refusal(self._client.their_stream_id[stream_id])

    def _refusal(self, stream_id: int) -> commands.Command:
        return ReceiveHttp(ResponseProtocolError(stream_id, REFUSED, ResponseProtocolError.code))


def _status(code: Any) -> int | None:
    """Return the status to answer with: mitmproxy 11 has it here, 444 meaning none; 12 has a reason that knows it."""
    status: int | None = code.http_status_code() if hasattr(code, "http_status_code") else int(code)
    return None if status == 444 else status
