"""Commands, events and settings of our protocol layers, beside mitmproxy's own."""

from __future__ import annotations

from typing import Any, cast

from mitmproxy import options
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events

from corrigible.proxy.core.limits import Timeouts


class PauseReading(commands.Command):
    """Stop reading from a connection: its data is not taken fast enough by the other side."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


class ResumeReading(PauseReading):
    """Start reading from a connection again."""


class NotifyShutdown(commands.RequestWakeup):
    """Wake the layer when the proxy shuts down, and not before."""

    def __init__(self, *, closes_connection: bool) -> None:
        super().__init__(0)
        self.closes_connection = closes_connection
        """Whether the layer closes the connection itself after its last response."""


class BodyLate(events.Event):
    """The body of a request stands still for too long."""

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id


def timeouts_of(settings: options.Options) -> Timeouts:
    """Return the time limits that stand beside mitmproxy's own options, see `freeze_options`."""
    return cast(Timeouts, cast(Any, settings).timeouts)
