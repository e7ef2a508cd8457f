"""Runs mitmproxy's hooks inline, without a task for each.

Knows: mitmproxy's layers, commands and hooks. Does not know: sockets, what a hook does.

mitmproxy starts a task for every hook and calls all addons in it, twice (the hook, then `update`). That is more than
half of the cost of a small exchange. Its protocol core is sans-I/O, though: layers take events and yield commands. So
hooks are run here as the layers yield them, and only a hook that waits gets a task.
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from mitmproxy import connection, hooks
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events, layer

from .messages import NotifyShutdown, PauseReading

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
