"""Connections: run mitmproxy's protocol layers over them, and end them in order.

Knows: mitmproxy's layers, commands and hooks, asyncio streams. Does not know: what a hook decides, rules.

mitmproxy starts a task for every hook and walks all addons in it, twice (the hook, then `update`). That is more
than half of what a small exchange costs. Its protocol core is sans-I/O, though: layers take events and yield
commands. So a connection of ours answers hooks on the spot, and starts a task only where one has to wait.
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
from typing import Any, cast

from mitmproxy import connection, exceptions, flow, hooks, options
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events, layer, layers, mode_specs, server, server_hooks

from .commands import Hold, Release, TellOfEnd

logger = logging.getLogger(__name__)

JOIN_LIMIT = 1 << 16
"""Head and body up to this size leave in one write."""

READ_SIZE = 1 << 16
TURN_SECONDS = 0.002
"""A connection whose last piece took longer reads less next time."""
_QUEUE_SECONDS = 0.0005
"""One whose last piece took longer queues with all others of that kind."""
_ROUNDS = 4
"""Rounds of the event loop between two of those: an exchange of somebody else needs some to get through."""
_FIRST, _LEAST = 1 << 14, 1 << 8

IDLE_SECONDS = 600
"""After this long a connection on which nothing happens, and nothing is under way, is closed."""

UPSTREAM_CONNECTIONS = 128
"""For one client, to one upstream."""

_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""After a silent minute the other end is asked; after two it counts as gone."""

_TOP: dict[str, type[layer.Layer]] = {
    "reverse": layers.modes.ReverseProxy,
    "regular": layers.modes.HttpProxy,
    "transparent": layers.modes.TransparentProxy,
}

Handler = Callable[[Any], Awaitable[None] | None]

Answerer = Callable[[hooks.Hook], Awaitable[None] | None]
"""Answers a hook: now (None), or later (an awaitable)."""


class InlineHookLayer:
    """Stands before a connection's layers: answers their hooks at once, and joins successive writes."""

    def __init__(
        self,
        top: layer.Layer,
        client: connection.Client,
        answer: Callable[[commands.StartHook], bool],
        asked: Callable[[Hold | TellOfEnd], None],
    ) -> None:
        self._top = top
        self._client = client
        self._answer = answer
        """Whether the hook is done; False sends it the slow way, as a task."""
        self._asked = asked

    def handle_event(self, event: events.Event) -> Iterator[commands.Command]:
        """Let the layers handle an event, and all that follows without waiting. A crash ends the connection."""
        held: commands.SendData | None = None
        try:
            for command in self._commands(event):
                if isinstance(command, commands.SendData):
                    if command.connection is self._client and not self._client.state & ConnectionState.CAN_WRITE:
                        continue  # we have said our last word, and TLS has one more
                    if held is None:
                        held = command
                    elif held.connection is command.connection and len(held.data) + len(command.data) <= JOIN_LIMIT:
                        held = commands.SendData(held.connection, held.data + command.data)
                    else:
                        yield held
                        held = command
                    continue
                if held is not None:
                    yield held
                    held = None
                yield command
            if held is not None:
                yield held
        except Exception:  # theirs or ours: end this connection, keep the others
            logger.exception("a protocol layer failed")
            if held is not None:
                yield held
            yield commands.CloseConnection(self._client)  # rather than to leave it waiting

    def _commands(self, event: events.Event) -> Iterator[commands.Command]:
        pending = collections.deque((event,))
        while pending:
            for command in self._top.handle_event(pending.popleft()):
                if isinstance(command, commands.StartHook):
                    if not self._answer(command):
                        yield command
                    elif command.blocking:
                        pending.append(events.HookCompleted(command))
                elif isinstance(command, Hold | TellOfEnd):
                    self._asked(command)
                elif not isinstance(command, commands.Log) or command.level >= logging.WARNING:
                    yield command


class Queue:
    """Lets one busy connection read at a time: however many they are, the others wait for one piece and no more."""

    def __init__(self) -> None:
        self._first = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until it is our turn. What is read then is dealt with at once, before the next one's turn."""
        async with self._first:
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)


class _Turns:
    """Reads from a connection so much at a time as is dealt with soon, and lets others have their turn in between.

    What costs most is many small things: 64 KB of HTTP/2 frames with a byte each are 6,000 of them.
    """

    def __init__(
        self, reader: asyncio.StreamReader, conversation: ClientConnection, connection: connection.Connection
    ) -> None:
        self._reader = reader
        self._conversation = conversation
        self._connection = connection
        self._size = _FIRST
        self._more = False

    async def read(self, most: int) -> bytes:
        """Read something, once it is our turn."""
        if self._connection in self._conversation.gates:
            await self._conversation.gates[self._connection].wait()
        if self._conversation.took > TURN_SECONDS:
            self._size = max(self._size // 2, _LEAST)
        elif self._size < READ_SIZE:
            self._size *= 2
        if self._conversation.took > _QUEUE_SECONDS:
            await self._conversation.queue.turn()
        elif self._more:
            await asyncio.sleep(0)
        data = await self._reader.read(min(most, self._size))
        self._more = len(data) == self._size
        return data


class ClientConnection(server.LiveConnectionHandler):
    """One client connection, and the upstream connections it needs."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        settings: options.Options,
        mode: mode_specs.ProxyMode,
        answer: Answerer,
        *,
        fell_idle: Callable[[ClientConnection], None],
        queue: Queue,
    ) -> None:
        super().__init__(reader, writer, settings, mode)
        self.timeout_watchdog.timeout = IDLE_SECONDS
        self.writer = writer
        self.context = self.layer.context
        self._answer = answer
        self._fell_idle = fell_idle
        self.queue = queue
        # In front of HTTP/1 each request of an HTTP/2 client has a connection; the next one would wait for ever.
        self.max_conns = collections.defaultdict(lambda: asyncio.Semaphore(UPSTREAM_CONNECTIONS))
        self._later: dict[hooks.Hook, Awaitable[None]] = {}
        self._refused: set[connection.Connection] = set()
        self._has_asked = False
        self._under_way: set[str] = set()
        self._upgraded: set[str] = set()
        self.gates: dict[connection.Connection, asyncio.Event] = {}
        """What is not read from for now, and when that is over."""
        self._to_tell: list[TellOfEnd] = []
        self._telling: set[asyncio.Task[None]] = set()
        self._closes_itself = False
        self.took = 0.0
        """How long what was read last has kept us busy."""
        _probe(writer)
        self._read_in_turns(self.client)
        top = _TOP[mode.type_name](self.context)
        self.layer = cast(layer.Layer, InlineHookLayer(top, self.client, self._at_once, self._asked))

    def _asked(self, command: Hold | TellOfEnd) -> None:
        match command:
            case TellOfEnd():
                self._to_tell.append(command)
            case Release():
                self.gates.pop(command.connection).set()
            case _:
                self.gates[command.connection] = asyncio.Event()

    def _read_in_turns(self, connection: connection.Connection) -> None:
        transport = self.transports[connection]
        transport.reader = cast(Any, _Turns(cast(asyncio.StreamReader, transport.reader), self, connection))

    async def server_event(self, event: events.Event) -> None:
        """Let the layers handle an event. A connection that a hook found fault with has never been made."""
        if isinstance(event, events.ConnectionEvent) and event.connection in self._refused:
            return
        if isinstance(event, events.OpenConnectionCompleted) and event.reply is None:
            opened = event.command.connection
            if opened.error is not None and opened in self.transports:
                self._refused.add(opened)
                opened.state = connection.ConnectionState.CLOSED
                cast(Any, self.transports[opened].writer).transport.abort()
                event = events.OpenConnectionCompleted(event.command, f"Connection killed: {opened.error}")
        start = time.thread_time()
        await super().server_event(event)
        self.took = time.thread_time() - start

    def _at_once(self, hook: commands.StartHook) -> bool:
        later = self._answer(hook)
        if later is not None:
            self._later[hook] = later
            return False
        self._count(hook)
        return True

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Answer a hook, waiting for it where it takes time."""
        if isinstance(hook, server_hooks.ServerConnectedHook):
            _probe(self.transports[hook.data.server].writer)
            self._read_in_turns(hook.data.server)
        later = self._later.pop(hook, None) or self._answer(hook)
        if later is not None:
            with self.timeout_watchdog.disarm():
                await later

    async def hook_task(self, hook: commands.StartHook) -> None:
        """Answer a hook and let the layers go on."""
        await super().hook_task(hook)
        self._count(hook)

    def _count(self, hook: commands.StartHook) -> None:
        if hook.name in ("requestheaders", "http_connect", "tcp_start"):
            self._has_asked = True
        if hook.name == "requestheaders":
            self._under_way.add(hook.flow.id)  # type: ignore[attr-defined]  # this hook and the next two have one
        elif hook.name in ("response", "error"):
            self._under_way.discard(hook.flow.id)  # type: ignore[attr-defined]
            if not self._under_way:
                self._fell_idle(self)
        elif hook.name == "tcp_start":
            self._upgraded.add(hook.flow.id)  # type: ignore[attr-defined]
        elif hook.name in ("tcp_end", "tcp_error"):
            self._upgraded.discard(hook.flow.id)  # type: ignore[attr-defined]

    async def on_timeout(self) -> None:
        """Close a connection on which nothing has happened for long. A watch or a terminal may well be silent."""
        watchdog = self.timeout_watchdog
        while (quiet := time.time() - watchdog.last_activity) < watchdog.timeout or self._under_way or self._upgraded:
            await asyncio.sleep(max(watchdog.timeout - quiet, watchdog.timeout / 10))
        await super().on_timeout()

    def end(self) -> None:
        """Tell those who can say so to the client that it ends, and close the connection unless it is in use."""
        told, self._to_tell = self._to_tell, []
        for command in told:
            self._closes_itself = self._closes_itself or command.closes
            telling = asyncio.create_task(self.server_event(events.Wakeup(command)))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        self.end_if_idle()

    def end_if_idle(self) -> None:
        """Close the connection, unless an exchange is under way. What was written still arrives."""
        if self._under_way or self._closes_itself or self.client not in self.transports:
            return
        self.dismiss()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._under_way and not self._upgraded

    def dismiss(self) -> None:
        """Close the connection. What was written still arrives."""
        if self.client not in self.transports or self.transports[self.client].handler is None:
            self.writer.close()
        else:
            self.close_connection(self.client)

    def dismiss_if_silent(self) -> None:
        """Close a connection on which nothing has been asked for."""
        if not self._has_asked:
            self.dismiss()

    def abort(self) -> None:
        """Close the connection now."""
        self.writer.transport.abort()


class HookTable:
    """Which addons care about which hook, found out once per hook. Replaces the addon manager's walk.

    Every addon is asked that would be asked there, in the same order; a hook that waits makes the later ones wait.
    """

    def __init__(self, addons: Iterable[object]) -> None:
        self._addons = tuple(addons)
        self._table: dict[str, tuple[str, tuple[Handler, ...]]] = {}

    def __call__(self, hook: hooks.Hook) -> Awaitable[None] | None:
        """Run all that can be run now; return what has to be waited for. A mistake is logged, not raised."""
        found = self._table.get(hook.name)
        if found is None:
            functions = (getattr(addon, hook.name, None) for addon in self._addons)
            found = self._table[hook.name] = (
                dataclasses.fields(hook)[0].name,  # type: ignore[arg-type]  # each hook is a dataclass
                tuple(function for function in functions if callable(function)),
            )
        member, cared_for = found
        return self._run(hook.name, iter(cared_for), getattr(hook, member))

    def _run(self, name: str, functions: Iterator[Handler], subject: Any) -> Awaitable[None] | None:
        for function in functions:
            try:
                later = function(subject)
            except exceptions.AddonHalt:
                break
            except Exception:  # one addon's mistake must not stop the others, as in mitmproxy
                logger.exception("hook %s failed", name)
                continue
            if later is not None and inspect.isawaitable(later):
                return self._rest(name, later, functions, subject)
        if isinstance(subject, flow.Flow) and subject.intercepted:
            resumed: Awaitable[None] = subject.wait_for_resume()  # type: ignore[no-untyped-call]  # theirs
            return resumed
        return None

    async def _rest(self, name: str, later: Awaitable[None] | None, functions: Iterator[Handler], subject: Any) -> None:
        while later is not None:
            try:
                await later
            except exceptions.AddonHalt:
                return
            except Exception:  # one addon's mistake must not stop the others, as in mitmproxy
                logger.exception("hook %s failed", name)
            later = self._run(name, functions, subject)


def _probe(writer: Any) -> None:
    """Have the system find out whether the other end is still there: an exchange may be silent for hours."""
    connection: socket.socket | None = writer.get_extra_info("socket")
    if connection is None:
        return
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _PROBES.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def frozen(settings: options.Options) -> options.Options:
    """Return the options as plain attributes: the originals copy deeply each time a layer looks at one."""
    values = {name: getattr(settings, name) for name, _ in settings.items()}  # type: ignore[no-untyped-call]  # theirs
    return cast(options.Options, SimpleNamespace(**values))
