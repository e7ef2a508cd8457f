"""The HTTP layer of a client connection: owns the side to the client, the sides to upstreams, and the exchanges.

Knows: mitmproxy's protocol layers. Does not know: the format of HTTP/1 or HTTP/2, flows, rules, sockets.

No side buffers more than the other side takes. If the receiving side is HTTP/2 and its windows are closed, the sending
side has to wait: in HTTP/2 its own windows stay closed, in HTTP/1 the connection is not read.
"""

from __future__ import annotations

import time
from typing import cast

from mitmproxy.connection import Connection, Server
from mitmproxy.proxy import commands, events, layer, tunnel
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import (
    GetHttpConnection,
    GetHttpConnectionCompleted,
    HttpClient,
    HttpLayer,
    HTTPMode,
    RegisterHttpConnection,
)
from mitmproxy.proxy.layers.tls import ServerTLSLayer

from . import http1, http2
from .messages import BodyLate, PauseReading, ResumeReading, timeouts_of
from .stream import AnswerLate, StopBuffering, Stream

BUFFER_SECONDS = 2.0
"""How long a response that may be an error is buffered. After that it is streamed."""

BACKLOG = 1 << 17
"""Bytes of a stream that may wait for the other side before reading pauses."""

_EVENTS = 16
"""Events that may wait for a blocked stream before reading pauses."""

UpstreamSide = http1.UpstreamSide | http2.UpstreamSide


class ProxyHttpLayer(HttpLayer):
    """mitmproxy's HTTP layer with our sides for HTTP/1 and HTTP/2."""

    def __init__(self, context: Context, mode: HTTPMode) -> None:
        super().__init__(context, mode)
        self._client: http1.ClientSide | http2.ClientSide | None = None
        self._upstream: dict[Connection, UpstreamSide] = {}
        self._paused_connections: set[Connection] = set()
        self._has_http2 = False
        """Whether one of the sides uses HTTP/2."""
        self._buffered: dict[Stream, float] = {}
        """Exchanges whose response is buffered, and since when; 0 means since now."""
        self._buffer_timer: commands.RequestWakeup | None = None
        self._timeouts = timeouts_of(context.options)
        self._late_timer: commands.RequestWakeup | None = None
        self._request_limit = int(context.options.stream_large_bodies or 0)
        """Bytes of a request body that are kept in case it is rejected."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        client = self.context.client
        if isinstance(event, events.Start):
            if client not in self.connections and client.alpn != b"h3":
                context = self.context.fork()
                if client.alpn == b"h2":
                    self._client = http2.ClientSide(context, self._is_request_congested)
                    self._has_http2 = True
                else:
                    self._client = http1.ClientSide(context)
                self.connections[client] = self._client
        elif isinstance(event, events.ConnectionEvent) and event.connection not in self.connections:
            if event.connection != self.context.server:
                return  # dropped before
            if isinstance(event, events.DataReceived):  # an HTTP/2 server sends its SETTINGS first
                side = self.connections[event.connection] = self._make_side(self.context.fork())
                yield from self.event_to_child(side, events.Start())
        if isinstance(event, events.Wakeup) and event.command is self._buffer_timer:
            self._buffer_timer = None
        elif isinstance(event, events.Wakeup) and event.command is self._late_timer:
            self._late_timer = None
            yield from self._check_late()
        else:
            yield from super()._handle_event(event)
        if self.streams and self._late_timer is None:
            yield from self._watch_late(time.monotonic())
        if self._buffered:
            yield from self._check_buffered()
        if (
            isinstance(event, events.DataReceived)
            and event.connection not in self._paused_connections
            and self._is_congested(event.connection)
        ):
            self._paused_connections.add(event.connection)
            yield PauseReading(event.connection)
        if self._paused_connections:
            yield from self._resume()
        if self._has_http2:
            yield from self._acknowledge()

    def _make_side(self, context: Context) -> UpstreamSide:
        side: UpstreamSide
        if context.server.alpn == b"h2":
            side = http2.UpstreamSide(context, self._is_response_congested)
            self._has_http2 = True
        else:
            side = http1.UpstreamSide(context)
        self._upstream[context.server] = side
        return side

    # Exchanges

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        """Start an exchange."""
        stream = self.streams[stream_id] = Stream(self.context.fork(), stream_id, self._buffered, self._request_limit)
        yield from self.event_to_child(stream, events.Start())

    def _check_buffered(self) -> layer.CommandGenerator[None]:
        """Stream small responses that did not arrive at once. One timer serves all possible errors."""
        now = time.monotonic()
        for stream, since in tuple(self._buffered.items()):
            if not stream.may_be_error:
                yield from self.event_to_child(stream, StopBuffering(stream.stream_id))
            elif not since:
                self._buffered[stream] = now
            elif now - since >= BUFFER_SECONDS:
                yield from self.event_to_child(stream, StopBuffering(stream.stream_id, "the answer came too slowly"))
        if self._buffered and self._buffer_timer is None:
            self._buffer_timer = commands.RequestWakeup(max(0.0, BUFFER_SECONDS + min(self._buffered.values()) - now))
            yield self._buffer_timer

    def _watch_late(self, now: float) -> layer.CommandGenerator[None]:
        """Look at the exchanges again when one of them may be late. One timer serves all."""
        limits = [limit for limit in (self._timeouts.idle, self._timeouts.answer) if limit]
        if limits:
            waiting = [now - cast(Stream, each).moved_at for each in self.streams.values()]
            left = [limit - late for limit in limits for late in waiting if late < limit]
            # Exchanges that begin later have the shorter limit before them, too.
            self._late_timer = commands.RequestWakeup(min([*left, *limits]) + 0.01)
            yield self._late_timer

    def _check_late(self) -> layer.CommandGenerator[None]:
        """Give up exchanges whose caller or upstream keeps the other side waiting for too long."""
        now = time.monotonic()
        for stream_id, stream in cast("dict[int, Stream]", dict(self.streams)).items():
            late = now - stream.moved_at
            if stream.waits_for_body and self._is_request_congested(stream_id):
                stream.moved_at = now  # it is the upstream that takes nothing
            elif stream.waits_for_body and 0 < self._timeouts.idle <= late and self._client is not None:
                yield from self.event_to_child(self._client, BodyLate(stream_id))
            elif stream.waits_for_answer and 0 < self._timeouts.answer <= late:
                yield from self.event_to_child(stream, AnswerLate(stream_id))

    # Connections to the upstream

    def get_connection(self, event: GetHttpConnection, *, reuse: bool = True) -> layer.CommandGenerator[None]:
        """Find or open an upstream connection. An earlier failure does not matter."""
        if event.via or event.transport_protocol != "tcp":
            yield from super().get_connection(event, reuse=reuse)
            return
        self._forget()
        for connection in tuple(self.connections) if reuse else ():
            if not event.connection_spec_matches(connection):
                continue
            if connection in self.waiting_for_establishment:
                self.waiting_for_establishment[connection].append(event)
                return
            # HTTP/1 carries one exchange at a time, so each stream of an HTTP/2 client has its own connection
            if connection.connected and (self.context.client.alpn != b"h2" or connection.alpn == b"h2"):
                stream = self.command_sources.pop(event)
                yield from self.event_to_child(stream, GetHttpConnectionCompleted(event, (connection, None)))
                return
        context = self.context.fork()
        stack = tunnel.LayerStack()
        eager = self.context.server
        if not (eager.connected and eager not in self.connections and event.connection_spec_matches(eager)):
            context.server = Server(address=event.address, transport_protocol="tcp")
            if event.tls:
                is_same = self.mode is HTTPMode.transparent and event.address == eager.address
                context.server.sni = (is_same and (eager.sni or self.context.client.sni)) or event.address[0]
                stack /= ServerTLSLayer(context)
        stack /= _UpstreamOpening(context, self)
        self.connections[context.server] = stack[0]
        self.waiting_for_establishment[context.server].append(event)
        yield from self.event_to_child(stack[0], events.Start())

    def _forget(self) -> None:
        """Drop closed upstream connections that no exchange uses."""
        over = [
            connection
            for connection in self.connections
            if isinstance(connection, Server)
            and not connection.state
            and connection not in self.waiting_for_establishment
        ]
        if over:
            used = {stream.context.server for stream in self.streams.values()}
            for connection in over:
                if connection not in used:
                    del self.connections[connection]
                    self._upstream.pop(connection, None)
                    self._paused_connections.discard(connection)

    # Flow control

    def _is_request_congested(self, stream_id: int) -> bool:
        stream = self.streams.get(stream_id)
        if stream is None:
            return False
        if len(stream._paused_event_queue) > _EVENTS:
            return True
        side = self._upstream.get(stream.context.server)
        return isinstance(side, http2.UpstreamSide) and side.pending(stream_id) > BACKLOG

    def _is_response_congested(self, stream_id: int) -> bool:
        stream = self.streams.get(stream_id)
        if stream is not None and len(stream._paused_event_queue) > _EVENTS:
            return True
        # Its last bytes may wait there after the stream ended here, so both are checked.
        return isinstance(self._client, http2.ClientSide) and self._client.pending(stream_id) > BACKLOG

    def _is_congested(self, connection: Connection) -> bool:
        """Whether data from an HTTP/1 connection waits for the other side."""
        if connection == self.context.client:
            if isinstance(self._client, http1.ClientSide):
                return self._client.has_pipelined_much or self._is_request_congested(self._client.stream_id)
            return False
        side = self._upstream.get(connection)
        if isinstance(side, http1.UpstreamSide) and side.stream_id is not None:
            return self._is_response_congested(side.stream_id)
        return False

    def _resume(self) -> layer.CommandGenerator[None]:
        for connection in tuple(self._paused_connections):
            if not self._is_congested(connection):
                self._paused_connections.discard(connection)
                yield ResumeReading(connection)

    def _acknowledge(self) -> layer.CommandGenerator[None]:
        if isinstance(self._client, http2.ClientSide) and self._client.unacknowledged:
            yield from self.event_to_child(self._client, http2.DataConsumed())
        for connection, side in tuple(self._upstream.items()):
            if isinstance(side, http2.UpstreamSide) and side.unacknowledged and connection in self.connections:
                yield from self.event_to_child(self.connections[connection], http2.DataConsumed())


class _UpstreamOpening(HttpClient):
    """Opens an upstream connection, then becomes the side for the negotiated protocol."""

    def __init__(self, context: Context, http: ProxyHttpLayer) -> None:
        super().__init__(context)
        self._http = http

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        failure: str | None = None
        if not self.context.server.connected:
            failure = yield commands.OpenConnection(self.context.server)
        if failure is None:
            side = self.child_layer = self._http._make_side(self.context)
            self._handle_event = side.handle_event  # type: ignore[method-assign]  # as mitmproxy does
            yield from side.handle_event(event)
        yield RegisterHttpConnection(self.context.server, failure)


def replace_http_layer(nextlayer: layer.NextLayer) -> None:
    """If the next layer of a connection is mitmproxy's HTTP layer (perhaps inside TLS), put ours in its place."""
    outer: tunnel.TunnelLayer | None = None
    inner = nextlayer.layer
    while isinstance(inner, tunnel.TunnelLayer):
        outer, inner = inner, inner.child_layer
    if type(inner) is not HttpLayer:
        return
    inner.context.layers.remove(inner)
    own = ProxyHttpLayer(inner.context, inner.mode)
    if outer is None:
        nextlayer.layer = own
    else:
        outer.child_layer = own
