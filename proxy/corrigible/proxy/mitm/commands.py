"""What our protocol layers ask of the conversation around them, beside mitmproxy's own commands."""

from __future__ import annotations

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands


class Hold(commands.Command):
    """Read no more from a connection for now: what came from it has not been taken yet."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


class Release(Hold):
    """Read on."""


class TellOfEnd(commands.RequestWakeup):
    """Wake the layer when the proxy is about to end, and not before."""

    def __init__(self, *, closes: bool) -> None:
        super().__init__(0)
        self.closes = closes
        """Whether the layer closes the connection itself, when all is said."""
