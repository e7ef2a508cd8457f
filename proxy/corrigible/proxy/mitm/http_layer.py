"""mitmproxy's HTTP layer with our parts in it: who serves the client, who talks to which upstream connection.

Knows: mitmproxy's protocol layers. Does not know: how either HTTP is written, flows, rules, sockets.

Nobody holds what the next one does not take. Where that is HTTP/2, which takes what its windows let pass, the one
before it is told to wait: HTTP/2 by windows that stay shut, HTTP/1 by not reading from it.
"""

from __future__ import annotations

import time

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

from . import http1 as mitm_http1
from . import http2 as mitm_http2
from .commands import Hold, Release
from .stream import LetGo, Stream

HOLD_SECONDS = 2.0
"""For so long an answer that may be a refusal is waited for. Then it goes on as it comes."""

HELD = 1 << 17
"""So much of a stream may wait for the next one to take it before no more is asked for."""

_EVENTS = 16
"""So many events may wait for a stream that cannot go on."""

UpstreamSide = mitm_http1.ServerSide | mitm_http2.UpstreamSide


class Http(HttpLayer):
    """mitmproxy's HTTP with our sides of HTTP/1 and HTTP/2."""

    def __init__(self, context: Context, mode: HTTPMode) -> None:
        super().__init__(context, mode)
        self._client: mitm_http1.ClientSide | mitm_http2.ClientSide | None = None
        self._upstream: dict[Connection, UpstreamSide] = {}
        self._held: set[Connection] = set()
        self._speaks_http2 = False
        """Whether one of the sides does."""
        self._withheld: dict[Stream, float] = {}
        """Exchanges whose answer is held back, and since when; 0 is since now."""
        self._clock: commands.RequestWakeup | None = None
        self._copied = int(context.options.stream_large_bodies or 0)
        """So much of a request is kept for the case that it is refused."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        client = self.context.client
        if isinstance(event, events.Start):
            if client not in self.connections and client.alpn != b"h3":
                context = self.context.fork()
                if client.alpn == b"h2":
                    self._client = mitm_http2.ClientSide(context, self._is_request_congested)
                    self._speaks_http2 = True
                else:
                    self._client = mitm_http1.ClientSide(context)
                self.connections[client] = self._client
        elif isinstance(event, events.ConnectionEvent) and event.connection not in self.connections:
            if event.connection != self.context.server:
                return  # forgotten
            if isinstance(event, events.DataReceived):  # HTTP/2 begins to speak before it is asked
                side = self.connections[event.connection] = self._side(self.context.fork())
                yield from self.event_to_child(side, events.Start())
        if isinstance(event, events.Wakeup) and event.command is self._clock:
            self._clock = None
        else:
            yield from super()._handle_event(event)
        if self._withheld:
            yield from self._look_at_withheld()
        if (
            isinstance(event, events.DataReceived)
            and event.connection not in self._held
            and self._is_congested(event.connection)
        ):
            self._held.add(event.connection)
            yield Hold(event.connection)
        if self._held:
            yield from self._release()
        if self._speaks_http2:
            yield from self._settle()

    def _side(self, context: Context) -> UpstreamSide:
        side: UpstreamSide
        if context.server.alpn == b"h2":
            side = mitm_http2.UpstreamSide(context, self._is_response_congested)
            self._speaks_http2 = True
        else:
            side = mitm_http1.ServerSide(context)
        self._upstream[context.server] = side
        return side

    # Exchanges

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        """Begin an exchange."""
        stream = self.streams[stream_id] = Stream(self.context.fork(), stream_id, self._withheld, self._copied)
        yield from self.event_to_child(stream, events.Start())

    def _look_at_withheld(self) -> layer.CommandGenerator[None]:
        """Let go what has not come at once. A possible refusal gets its time, by one timer for all of them."""
        now = time.monotonic()
        for stream, since in tuple(self._withheld.items()):
            if not stream.may_be_refusal:
                yield from self.event_to_child(stream, LetGo(stream.stream_id))
            elif not since:
                self._withheld[stream] = now
            elif now - since >= HOLD_SECONDS:
                yield from self.event_to_child(stream, LetGo(stream.stream_id, "the answer came too slowly"))
        if self._withheld and self._clock is None:
            self._clock = commands.RequestWakeup(max(0.0, HOLD_SECONDS + min(self._withheld.values()) - now))
            yield self._clock

    # Connections to the upstream

    def get_connection(self, event: GetHttpConnection, *, reuse: bool = True) -> layer.CommandGenerator[None]:
        """Find or open an upstream connection. One that failed before says nothing about the next."""
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
            # HTTP/1 carries one exchange at a time, so for an HTTP/2 client each has a connection of its own
            if connection.connected and (self.context.client.alpn != b"h2" or connection.alpn == b"h2"):
                stream = self.command_sources.pop(event)
                yield from self.event_to_child(stream, GetHttpConnectionCompleted(event, (connection, None)))
                return
        context = self.context.fork()
        stack = tunnel.LayerStack()
        known = self.context.server
        if not (known.connected and known not in self.connections and event.connection_spec_matches(known)):
            context.server = Server(address=event.address, transport_protocol="tcp")
            if event.tls:
                same = self.mode is HTTPMode.transparent and event.address == known.address
                context.server.sni = (same and (known.sni or self.context.client.sni)) or event.address[0]
                stack /= ServerTLSLayer(context)
        stack /= _Opening(context, self)
        self.connections[context.server] = stack[0]
        self.waiting_for_establishment[context.server].append(event)
        yield from self.event_to_child(stack[0], events.Start())

    def _forget(self) -> None:
        """Forget upstream connections that are over and that no exchange has to do with."""
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
                    self._held.discard(connection)

    # Holding back

    def _is_request_congested(self, stream_id: int) -> bool:
        stream = self.streams.get(stream_id)
        if stream is None:
            return False
        if len(stream._paused_event_queue) > _EVENTS:
            return True
        side = self._upstream.get(stream.context.server)
        return isinstance(side, mitm_http2.UpstreamSide) and side.waiting(stream_id) > HELD

    def _is_response_congested(self, stream_id: int) -> bool:
        stream = self.streams.get(stream_id)
        if stream is not None and len(stream._paused_event_queue) > _EVENTS:
            return True
        # The stream may be over here while its last bytes wait there, so it is not asked first.
        return isinstance(self._client, mitm_http2.ClientSide) and self._client.waiting(stream_id) > HELD

    def _is_congested(self, connection: Connection) -> bool:
        """Whether what came from an HTTP/1 connection still waits."""
        if connection == self.context.client:
            if isinstance(self._client, mitm_http1.ClientSide):
                return self._client.is_ahead or self._is_request_congested(self._client.stream_id)
            return False
        side = self._upstream.get(connection)
        if isinstance(side, mitm_http1.ServerSide) and side.stream_id is not None:
            return self._is_response_congested(side.stream_id)
        return False

    def _release(self) -> layer.CommandGenerator[None]:
        for connection in tuple(self._held):
            if not self._is_congested(connection):
                self._held.discard(connection)
                yield Release(connection)

    def _settle(self) -> layer.CommandGenerator[None]:
        if isinstance(self._client, mitm_http2.ClientSide) and self._client.owed:
            yield from self.event_to_child(self._client, mitm_http2.Settle())
        for connection, side in tuple(self._upstream.items()):
            if isinstance(side, mitm_http2.UpstreamSide) and side.owed and connection in self.connections:
                yield from self.event_to_child(self.connections[connection], mitm_http2.Settle())


class _Opening(HttpClient):
    """Opens an upstream connection, then is the side that was agreed on."""

    def __init__(self, context: Context, http: Http) -> None:
        super().__init__(context)
        self._http = http

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        failure: str | None = None
        if not self.context.server.connected:
            failure = yield commands.OpenConnection(self.context.server)
        if failure is None:
            side = self.child_layer = self._http._side(self.context)
            self._handle_event = side.handle_event  # type: ignore[method-assign]  # as theirs does
            yield from side.handle_event(event)
        yield RegisterHttpConnection(self.context.server, failure)


def use_own_http(nextlayer: layer.NextLayer) -> None:
    """Where the next layer of a connection is to be HTTP, or TLS with HTTP inside, make that ours."""
    outer: tunnel.TunnelLayer | None = None
    inner = nextlayer.layer
    while isinstance(inner, tunnel.TunnelLayer):
        outer, inner = inner, inner.child_layer
    if type(inner) is not HttpLayer:
        return
    inner.context.layers.remove(inner)
    own = Http(inner.context, inner.mode)
    if outer is None:
        nextlayer.layer = own
    else:
        outer.child_layer = own
