"""Where front ends report what became of each exchange. All that shows it gets the same facts from here.

Knows: the log, the terminal, the statistics, and who else listens. Does not know: HTTP, gRPC, rules.
Nothing here waits, and nothing raises: live traffic matters more than its record.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from .entry import AccessLog, Entry
from .statistics import Statistics
from .terminal import Terminal


class Listener(Protocol):
    """Hears of every exchange."""

    def write(self, entry: Entry) -> None:
        """Take an exchange that ended."""

    def close(self) -> None:
        """Finish, in a moment at most."""


class Recorder:
    """Records what front ends report."""

    def __init__(
        self,
        access_log: AccessLog | None = None,
        terminal: Terminal | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.statistics = Statistics()
        self.access_log, self.terminal = access_log, terminal
        self.refresh: Callable[[], Awaitable[None]] | None = None
        """Brings the statistics up to date, where somebody else counts successes."""
        self.is_draining = False
        """Whether the front end takes no more connections: requests that are under way end."""
        self.is_cutting = False
        """Whether it ends what is under way: an exchange that breaks off now does so because of us."""
        self._listeners: tuple[Listener, ...] = (*([access_log] if access_log is not None else ()), *listeners)

    def listen(self, listener: Listener) -> None:
        """Have somebody hear of every exchange from now on."""
        self._listeners = (*self._listeners, listener)

    @property
    def wants_successes(self) -> bool:
        """Whether somebody wants to know more of a success than that there was one."""
        return bool(self._listeners)

    def count_success(self, api: str, operation: str, status: int, seconds: float) -> None:
        """Count a success that nobody wants to know more of. `operation` is empty where it is not known anyway."""
        with suppress(Exception):
            self.statistics.count_success(api, operation, status, seconds)

    def write(self, entry: Entry) -> None:
        """Record an exchange."""
        if self.is_cutting and entry.outcome == "failed" and entry.failure is None:
            entry = replace(entry, error="the proxy was stopped")
        with suppress(Exception):
            self.statistics.write(entry)
        if self.terminal is not None:
            with suppress(Exception):
                self.terminal.write(entry)
        for listener in self._listeners:
            with suppress(Exception):
                listener.write(entry)

    def say(self, text: str) -> None:
        """Write one line on the terminal, about no exchange."""
        if self.terminal is not None:
            self.terminal.say(text)

    async def snapshot(self) -> Statistics:
        """Return the numbers as they are now."""
        if self.refresh is not None:
            with suppress(Exception):
                await self.refresh()
        return self.statistics.copy()

    def reopen(self) -> None:
        """Go on in a new log file of the same name, or say why not."""
        try:
            if self.access_log is not None:
                self.access_log.reopen()
        except OSError as problem:
            self.say(f"the log goes on where it was: {(problem.strerror or str(problem)).lower()}")

    def close(self, further: Sequence[str] = ()) -> None:
        """Finish everything, each in a moment at most, and write the summary with further lines."""
        for listener in self._listeners:
            with suppress(Exception):
                listener.close()
        if self.terminal is None:
            return
        self.terminal.settle()
        for line in () if self.terminal.quiet else self.statistics.summary():
            self.say(line)
        for line in further:
            self.say(line)
        if self.access_log is not None and self.access_log.dropped:
            self.say(f"{self.access_log.dropped} log lines could not be written")
        self.terminal.close()


def on_hangup(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Have SIGHUP do something, as those who rotate logs expect; without this it would end the process."""
    if sys.platform != "win32":
        loop.add_signal_handler(signal.SIGHUP, act)
