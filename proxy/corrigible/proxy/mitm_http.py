"""mitmproxy's HTTP layer with our sides on it: who serves the client, who talks to which upstream connection.

Knows: mitmproxy's protocol layers. Does not know: how either HTTP is written, flows, rules, sockets.
"""

from __future__ import annotations

from mitmproxy.proxy import events, layer, tunnel
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import (  # type: ignore[attr-defined]  # named in no __all__ of theirs
    GetHttpConnection,
    Http1Client,
    Http2Client,
    HttpClient,
    HttpLayer,
    HTTPMode,
    RegisterHttpConnection,
)

from . import mitm_http1, mitm_http2
from .mitm_http2 import Lasting


class Http(HttpLayer):
    """mitmproxy's HTTP with our sides of HTTP/1 and HTTP/2."""

    def __init__(self, context: Context, mode: HTTPMode) -> None:
        super().__init__(context, mode)
        self._lasting: dict[Http2Client, Lasting] = {}

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        client = self.context.client
        if isinstance(event, events.Start) and client not in self.connections and client.alpn != b"h3":
            context = self.context.fork()
            self.connections[client] = (
                mitm_http2.ClientSide(context) if client.alpn == b"h2" else mitm_http1.ClientSide(context)
            )
        yield from super()._handle_event(event)

    def register_connection(self, command: RegisterHttpConnection) -> layer.CommandGenerator[None]:
        """Take an upstream connection into use."""
        client: layer.Layer = self.connections[command.connection]
        while isinstance(client, tunnel.TunnelLayer):
            client = client.child_layer
        if not command.err and isinstance(client, HttpClient) and type(client.child_layer) is Http1Client:
            own = mitm_http1.ServerSide(client.context)
            client.child_layer = own
            client._handle_event = own.handle_event  # as HttpClient does itself
            yield from own.handle_event(events.Start())
        self._adopt()
        yield from super().register_connection(command)

    def get_connection(self, event: GetHttpConnection, *, reuse: bool = True) -> layer.CommandGenerator[None]:
        """Find or open an upstream connection."""
        self._adopt()
        yield from super().get_connection(event, reuse=reuse)

    def _adopt(self) -> None:
        for found in self.connections.values():
            client: layer.Layer | None = found
            while isinstance(client, tunnel.TunnelLayer | HttpClient):
                client = getattr(client, "child_layer", None)
            if isinstance(client, Http2Client) and client not in self._lasting:
                self._lasting[client] = Lasting(client)


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
