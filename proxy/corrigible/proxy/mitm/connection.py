"""Runs mitmproxy's hooks inline, without a task for each.

Knows: mitmproxy's layers, commands and hooks. Does not know: sockets, what a hook does.

mitmproxy starts a task for every hook and calls all addons in it, twice (the hook, then `update`). That is more than
half of the cost of a small exchange. Its protocol core is sans-I/O, though: layers take events and yield commands. So
hooks are run here as the layers yield them, and only a hook that waits gets a task.

One client connection and its upstream connections: runs mitmproxy's protocol layers over them, and ends them.

Knows: mitmproxy's connection handler and its hooks, asyncio streams. Does not know: what a hook does, rules.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import inspect
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol, cast

from mitmproxy import connection, hooks, options
from mitmproxy.connection import Connection, ConnectionState
from mitmproxy.proxy import commands, events, layer, layers, mode_specs, server, server_hooks

from corrigible.proxy.core.limits import Timeouts

from .messages import NotifyShutdown, PauseReading, ResumeReading, timeouts_of

logger = logging.getLogger(__name__)

JOIN_LIMIT = 1 << 16
"""Head and body up to this size are sent in one write."""

Handler = Callable[[Any], Awaitable[None] | None]

HookRunner = Callable[[hooks.Hook], Awaitable[None] | None]
"""Runs a hook. Returns None if it is done, or an awaitable for its rest."""


class InlineHookLayer:
    """Wraps a connection's layers: runs their hooks inline, and joins successive writes."""

    def __init__(
        self,
        top: layer.Layer,
        client: connection.Client,
        run_inline: Callable[[commands.StartHook], bool],
        on_command: Callable[[PauseReading | NotifyShutdown], None],
    ) -> None:
        self._top = top
        self._client = client
        self._run_inline = run_inline
        """Returns whether the hook is done; False if it needs a task."""
        self._on_command = on_command

    def handle_event(self, event: events.Event) -> Iterator[commands.Command]:
        """Let the layers handle an event, and all that follows without waiting. An exception ends the connection."""
        held_data: commands.SendData | None = None
        try:
            for command in self._commands(event):
                if isinstance(command, commands.SendData):
                    if command.connection is self._client and not self._client.state & ConnectionState.CAN_WRITE:
                        continue  # our side is closed, but TLS sends one more record
                    if held_data is None:
                        held_data = command
                    elif (
                        held_data.connection is command.connection
                        and len(held_data.data) + len(command.data) <= JOIN_LIMIT
                    ):
                        held_data = commands.SendData(held_data.connection, held_data.data + command.data)
                    else:
                        yield held_data
                        held_data = command
                    continue
                if held_data is not None:
                    yield held_data
                    held_data = None
                yield command
            if held_data is not None:
                yield held_data
        except Exception:  # mitmproxy's or ours: end this connection, keep the others
            logger.exception("a protocol layer failed")
            if held_data is not None:
                yield held_data
            yield commands.CloseConnection(self._client)  # instead of leaving the client waiting

    def _commands(self, event: events.Event) -> Iterator[commands.Command]:
        pending = collections.deque((event,))
        while pending:
            for command in self._top.handle_event(pending.popleft()):
                if isinstance(command, commands.StartHook):
                    if not self._run_inline(command):
                        yield command
                    elif command.blocking:
                        pending.append(events.HookCompleted(command))
                elif isinstance(command, PauseReading | NotifyShutdown):
                    self._on_command(command)
                elif not isinstance(command, commands.Log) or command.level >= logging.WARNING:
                    yield command


class HookTable:
    """Which addons handle which hook, looked up once per hook. Replaces the addon manager.

    The same addons are called in the same order; an addon that waits makes the later ones wait.
    """

    def __init__(self, addons: Iterable[object]) -> None:
        self._addons = tuple(addons)
        self._table: dict[str, tuple[str, tuple[Handler, ...]]] = {}

    def __call__(self, hook: hooks.Hook) -> Awaitable[None] | None:
        """Call the handlers; return an awaitable if one waits. An exception is logged, not raised."""
        entry = self._table.get(hook.name)
        if entry is None:
            functions = (getattr(addon, hook.name, None) for addon in self._addons)
            entry = self._table[hook.name] = (
                dataclasses.fields(hook)[0].name,  # type: ignore[arg-type]  # each hook is a dataclass
                tuple(function for function in functions if callable(function)),
            )
        member, handlers = entry
        return self._run(hook.name, iter(handlers), getattr(hook, member))

    def _run(self, name: str, functions: Iterator[Handler], subject: Any) -> Awaitable[None] | None:
        for function in functions:
            try:
                waiting = function(subject)
            except Exception:  # a failing addon must not stop the others, as in mitmproxy
                logger.exception("hook %s failed", name)
                continue
            if waiting is not None and inspect.isawaitable(waiting):
                return self._rest(name, waiting, functions, subject)
        return None

    async def _rest(
        self, name: str, waiting: Awaitable[None] | None, functions: Iterator[Handler], subject: Any
    ) -> None:
        while waiting is not None:
            try:
                await waiting
            except Exception:  # a failing addon must not stop the others, as in mitmproxy
                logger.exception("hook %s failed", name)
            waiting = self._run(name, functions, subject)


UPSTREAM_CONNECTIONS = 128
"""For one client, to one upstream."""

_NEVER = 1 << 30
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A peer that sends nothing is probed after a minute, and counts as gone after two."""

_TOP: dict[str, type[layer.Layer]] = {
    "reverse": layers.modes.ReverseProxy,
    "regular": layers.modes.HttpProxy,
    "transparent": layers.modes.TransparentProxy,
}


class ClientConnection(server.LiveConnectionHandler):
    """One client connection, and the upstream connections it needs."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        settings: options.Options,
        mode: mode_specs.ProxyMode,
        run_hook: HookRunner,
        *,
        on_idle: Callable[[ClientConnection], None],
        queue: ReadQueue,
    ) -> None:
        super().__init__(reader, writer, settings, mode)
        # A connection without activity and without an active exchange is closed after this time.
        self.timeout_watchdog.timeout = cast(int, timeouts_of(settings).idle or _NEVER)
        self.writer = writer
        self.context = self.layer.context
        self._run_hook = run_hook
        self._on_idle = on_idle
        self.queue = queue
        # Each stream of an HTTP/2 client has its own HTTP/1 connection; mitmproxy's limit of 5 would block the sixth.
        self.max_conns = collections.defaultdict(lambda: asyncio.Semaphore(UPSTREAM_CONNECTIONS))
        self._waiting_hooks: dict[hooks.Hook, Awaitable[None]] = {}
        self._rejected: set[connection.Connection] = set()
        self._has_request = False
        self._active: set[str] = set()
        self._upgraded: set[str] = set()
        self.gates: dict[connection.Connection, asyncio.Event] = {}
        """Connections that are not read from, each with the event that ends the pause."""
        self._shutdown_listeners: list[NotifyShutdown] = []
        self._notifications: set[asyncio.Task[None]] = set()
        self._closes_itself = False
        self.last_duration = 0.0
        """Seconds of CPU time for the last event."""
        _enable_keepalive(writer)
        self._read_fairly(self.client)
        top = _TOP[mode.type_name](self.context)
        self.layer = cast(layer.Layer, InlineHookLayer(top, self.client, self._run_inline, self._on_command))

    def _on_command(self, command: PauseReading | NotifyShutdown) -> None:
        match command:
            case NotifyShutdown():
                self._shutdown_listeners.append(command)
            case ResumeReading():
                self.gates.pop(command.connection).set()
            case _:
                self.gates[command.connection] = asyncio.Event()

    def _read_fairly(self, connection: connection.Connection) -> None:
        transport = self.transports[connection]
        transport.reader = cast(Any, FairReader(cast(asyncio.StreamReader, transport.reader), self, connection))

    async def server_event(self, event: events.Event) -> None:
        """Let the layers handle an event. A connection that a hook rejected counts as never opened."""
        if isinstance(event, events.ConnectionEvent) and event.connection in self._rejected:
            return
        if isinstance(event, events.OpenConnectionCompleted) and event.reply is None:
            opened = event.command.connection
            if opened.error is not None and opened in self.transports:
                self._rejected.add(opened)
                opened.state = connection.ConnectionState.CLOSED
                cast(Any, self.transports[opened].writer).transport.abort()
                event = events.OpenConnectionCompleted(event.command, f"Connection killed: {opened.error}")
        start = time.thread_time()
        await super().server_event(event)
        self.last_duration = time.thread_time() - start

    def _run_inline(self, hook: commands.StartHook) -> bool:
        waiting = self._run_hook(hook)
        if waiting is not None:
            self._waiting_hooks[hook] = waiting
            return False
        self._track(hook)
        return True

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Run a hook to its end."""
        if isinstance(hook, server_hooks.ServerConnectedHook):
            _enable_keepalive(self.transports[hook.data.server].writer)
            self._read_fairly(hook.data.server)
        waiting = self._waiting_hooks.pop(hook, None) or self._run_hook(hook)
        if waiting is not None:
            with self.timeout_watchdog.disarm():
                await waiting

    async def hook_task(self, hook: commands.StartHook) -> None:
        """Run a hook, then let the layers continue."""
        await super().hook_task(hook)
        self._track(hook)

    def _track(self, hook: commands.StartHook) -> None:
        if hook.name in ("requestheaders", "http_connect", "tcp_start"):
            self._has_request = True
        if hook.name == "requestheaders":
            self._active.add(hook.flow.id)  # type: ignore[attr-defined]  # this hook and the next two have one
        elif hook.name in ("response", "error"):
            self._active.discard(hook.flow.id)  # type: ignore[attr-defined]
            if not self._active:
                self._on_idle(self)
        elif hook.name == "tcp_start":
            self._upgraded.add(hook.flow.id)  # type: ignore[attr-defined]
        elif hook.name in ("tcp_end", "tcp_error"):
            self._upgraded.discard(hook.flow.id)  # type: ignore[attr-defined]

    async def on_timeout(self) -> None:
        """Close an idle connection. A watch or a terminal session may send nothing for long and is kept."""
        watchdog = self.timeout_watchdog
        while (idle := time.time() - watchdog.last_activity) < watchdog.timeout or self._active or self._upgraded:
            await asyncio.sleep(max(watchdog.timeout - idle, watchdog.timeout / 10))
        await super().on_timeout()

    def shut_down(self) -> None:
        """Let the HTTP layers announce the end to the client, and close the connection unless it is in use."""
        listeners, self._shutdown_listeners = self._shutdown_listeners, []
        for command in listeners:
            self._closes_itself = self._closes_itself or command.closes_connection
            notification = asyncio.create_task(self.server_event(events.Wakeup(command)))
            self._notifications.add(notification)
            notification.add_done_callback(self._notifications.discard)
        self.close_if_idle()

    def close_if_idle(self) -> None:
        """Close the connection unless an exchange is active. Written data still arrives."""
        if self._active or self._closes_itself or self.client not in self.transports:
            return
        self.close()

    @property
    def is_idle(self) -> bool:
        """Whether no exchange and no upgraded connection is active."""
        return not self._active and not self._upgraded

    def close(self) -> None:
        """Close the connection. Written data still arrives."""
        if self.client not in self.transports or self.transports[self.client].handler is None:
            self.writer.close()
        else:
            self.close_connection(self.client)

    def close_if_no_request(self) -> None:
        """Close a connection that has had no request."""
        if not self._has_request:
            self.close()

    def abort(self) -> None:
        """Close the connection now."""
        self.writer.transport.abort()


def _enable_keepalive(writer: Any) -> None:
    """Let the system detect a peer that is gone: an exchange may transfer nothing for hours."""
    connection: socket.socket | None = writer.get_extra_info("socket")
    if connection is None:
        return
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def freeze_options(settings: options.Options, timeouts: Timeouts) -> options.Options:
    """Return the options as plain attributes, and ours: mitmproxy's own make a deep copy at each access."""
    values = {name: getattr(settings, name) for name, _ in settings.items()}  # type: ignore[no-untyped-call]  # theirs
    return cast(options.Options, SimpleNamespace(**values, timeouts=timeouts))


# Reading from many connections in turns, so that busy ones do not delay the others.

READ_SIZE = 1 << 16
TURN_SECONDS = 0.002
"""A connection whose last read took longer to process reads less next time."""
_QUEUE_SECONDS = 0.0005
"""A connection whose last read took longer to process waits for its turn among the busy ones."""
_ROUNDS = 4
"""Rounds of the event loop between two turns, so that an exchange on another connection can finish."""
_FIRST_READ, _SMALLEST_READ = 1 << 14, 1 << 8


class ReadQueue:
    """Lets one busy connection read at a time, so that the others wait for one read at most."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def turn(self) -> None:
        """Wait for the turn. What is read next is processed before the next turn."""
        async with self._lock:
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)


class Owner(Protocol):
    """The client connection that reads."""

    gates: dict[Connection, asyncio.Event]
    last_duration: float
    queue: ReadQueue


class FairReader:
    """Reads as much at a time as is processed quickly, and gives other connections a turn in between.

    Many small frames cost most: 64 KB of HTTP/2 frames with one byte each are 6,000 frames.
    """

    def __init__(self, reader: asyncio.StreamReader, owner: Owner, connection: Connection) -> None:
        self._reader = reader
        self._owner = owner
        self._connection = connection
        self._size = _FIRST_READ
        self._has_more = False

    async def read(self, limit: int) -> bytes:
        """Wait for the turn, then read."""
        if self._connection in self._owner.gates:
            await self._owner.gates[self._connection].wait()
        if self._owner.last_duration > TURN_SECONDS:
            self._size = max(self._size // 2, _SMALLEST_READ)
        elif self._size < READ_SIZE:
            self._size *= 2
        if self._owner.last_duration > _QUEUE_SECONDS:
            await self._owner.queue.turn()
        elif self._has_more:
            await asyncio.sleep(0)
        data = await self._reader.read(min(limit, self._size))
        self._has_more = len(data) == self._size
        return data
