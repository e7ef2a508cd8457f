"""Packs and descriptions that are loaded anew while calls go on: all of them, or none.

Knows: what can be loaded and taken into use, files that change. Does not know: packs, descriptions, signals.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corrigible.proxy.access_log.recorder import Recorder
from corrigible.proxy.runtime.dispatcher import Dispatcher

PAUSE: Final = 0.5
"""Seconds between two looks at the files."""
_SWITCH_INTERVAL = 0.0005
"""Seconds for which loading may keep traffic waiting."""
_MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class Part:
    """What can be loaded anew."""

    load: Callable[[], Any]
    """Returns what `use` takes. Raises an exception whose text says what is wrong."""
    use: Callable[[Any], None]


def reload_all(parts: Sequence[Part]) -> None:
    """Load everything, then use it. Raises what loading raises; then nothing has changed."""
    loaded = [part.load() for part in parts]
    for part, value in zip(parts, loaded, strict=True):
        part.use(value)


class Reloader:
    """Loads anew when asked to, once at a time."""

    def __init__(
        self, parts: Sequence[Part], files: Callable[[], Iterable[Path]], recorder: Recorder, dispatcher: Dispatcher
    ) -> None:
        """`files` yields what is watched; workers know reloading by the name `reload`."""
        self._parts, self._files, self._recorder, self._dispatcher = parts, files, recorder, dispatcher
        self._task: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_asked = False

    def ask(self) -> None:
        """Load anew soon. Call it on the event loop."""
        self._is_asked = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def watch(self) -> None:
        """Load anew whenever a file changes, from now on."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        before = await asyncio.to_thread(self._times)
        while True:
            await asyncio.sleep(PAUSE)
            now = await asyncio.to_thread(self._times)
            if now == before:
                continue
            while (later := await asyncio.to_thread(self._times)) != now:  # an editor is writing
                now = later
                await asyncio.sleep(PAUSE / 5)
            before = now
            self.ask()

    def _times(self) -> dict[Path, tuple[int, int]]:
        times = {}
        with suppress(OSError):
            for file in self._files():
                with suppress(OSError):  # it may go while we look
                    status = file.stat()
                    times[file] = (status.st_mtime_ns, status.st_size)
        return times

    async def _run(self) -> None:
        while self._is_asked:
            self._is_asked = False
            try:
                with _short_turns():
                    loaded = await asyncio.to_thread(lambda: [part.load() for part in self._parts])
                for part, value in zip(self._parts, loaded, strict=True):
                    part.use(value)
            except Exception as problem:
                self._recorder.statistics.reloads["failed"] += 1
                first, *others = str(problem).splitlines() or [type(problem).__name__]
                self._recorder.say(f"not reloaded, everything stays as it was: {first}")
                for line in others[:_MOST_LINES]:
                    self._recorder.say(line)
                continue
            with suppress(Exception):  # a worker that does not know it is replaced when it is needed
                await self._dispatcher.reload("reload")
            self._recorder.statistics.reloads["done"] += 1
            self._recorder.say("packs and descriptions reloaded")


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let the thread that loads interrupt others often, and be interrupted often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
