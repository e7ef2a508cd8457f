"""Packs and descriptions that are loaded anew while calls go on: all of them, or none.

Knows: what can be loaded and taken into use, files that change. Does not know: packs, descriptions, signals.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Protocol

from corrigible.proxy.access_log.statistics import Recorder

PAUSE: Final = 0.5
"""Seconds between two looks at the files."""
_SWITCH_INTERVAL = 0.0005
"""Seconds for which loading may keep traffic waiting."""
_MOST_LINES = 8


class Reloaded(Protocol):
    """Who has what was loaded in other processes, too."""

    async def reload(self, name: str, *, forget: bool) -> None:
        """Have them load it anew by this name. `forget` ends all loops."""


@dataclass(frozen=True, slots=True)
class Part:
    """What can be loaded anew."""

    load: Callable[[], tuple[Any, Sequence[str]]]
    """Returns what `use` takes, and lines for the operator. Raises an exception whose text says what is wrong."""
    use: Callable[[Any], None]


def reload_all(parts: Sequence[Part]) -> None:
    """Load everything, then use it. Raises what loading raises; then nothing has changed."""
    loaded = [part.load() for part in parts]
    for part, (value, _lines) in zip(parts, loaded, strict=True):
        part.use(value)


class Reloader:
    """Loads anew when asked to, once at a time."""

    def __init__(
        self,
        parts: Callable[[], Sequence[Part]],
        files: Callable[[], Iterable[Path]],
        recorder: Recorder,
        dispatcher: Reloaded,
        pending: Callable[[], str] = str,
    ) -> None:
        """`parts` says each time what there is to load, or raises what is wrong. `files` yields what is watched.

        Workers know reloading by the name `reload`. `pending` says what has changed and needs a restart.
        """
        self._parts, self._files, self._recorder, self._dispatcher = parts, files, recorder, dispatcher
        self._pending, self._told = pending, ""
        self._digests = _digests(files())
        """Of what is loaded."""
        self._failure: tuple[str, object] | None = None
        """The last one that was told, and the files that had it."""
        self._task: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_asked = False

    def ask(self) -> None:
        """Load anew soon, and tell what comes of it even if it is as before. Call it on the event loop."""
        self._failure = None
        self._start()

    def _start(self) -> None:
        self._is_asked = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def watch(self) -> None:
        """Load anew whenever a file changes, from now on."""
        self._watching = asyncio.get_running_loop().create_task(self._watch(self._times()))

    async def _watch(self, before: dict[Path, tuple[int, int]]) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            now = await asyncio.to_thread(self._times)
            if now == before:
                continue
            await asyncio.sleep(PAUSE / 5)
            while (later := await asyncio.to_thread(self._times)) != now:  # an editor is writing
                now = later
                await asyncio.sleep(PAUSE / 5)
            self._start()
            if self._task is not None:
                await self._task
            later = await asyncio.to_thread(self._times)
            # What is listed since counts from now on, and what changed meanwhile has changed.
            before = {file: now.get(file, times) for file, times in later.items()}

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
            digests = await asyncio.to_thread(lambda: _digests(self._files()))
            try:
                with _short_turns():
                    digests, loaded = await asyncio.to_thread(self._load)
                for part, value, _lines in loaded:
                    part.use(value)
            except Exception as problem:
                self._recorder.statistics.reloads["failed"] += 1
                self._tell_failure(str(problem) or type(problem).__name__, digests)
                continue
            changed = sorted(
                file for file in {*self._digests, *digests} if self._digests.get(file) != digests.get(file)
            )
            self._digests, self._failure = digests, None
            with suppress(Exception):  # a worker that does not know it is replaced when it is needed
                # Whoever mended a description wants to see it work: what was repeated before counts no more.
                await self._dispatcher.reload("reload", forget=bool(changed))
            self._recorder.statistics.reloads["done"] += 1
            for line in (line for _, _, lines in loaded for line in lines if changed):
                self._recorder.say(line)
            self._recorder.say(f"packs and descriptions reloaded{_listed(changed)}")
            self._tell_pending()

    def _load(self) -> tuple[dict[Path, bytes], list[tuple[Part, Any, Sequence[str]]]]:
        """Load all parts; return also what tells the files apart, which may be others than before."""
        parts = self._parts()
        return _digests(self._files()), [(part, *part.load()) for part in parts]

    def _tell_failure(self, failure: str, digests: object) -> None:
        """Tell it once for the same files, however often they are looked at."""
        if self._failure == (failure, digests):
            return
        self._failure = failure, digests
        first, *others = failure.splitlines()
        self._recorder.say(f"not reloaded, everything stays as it was: {first}")
        for line in others[:_MOST_LINES]:
            self._recorder.say(line)

    def _tell_pending(self) -> None:
        pending = self._pending()
        if pending and pending != self._told:
            self._recorder.say(f"restart to apply what else has changed: {pending}")
        self._told = pending


def _digests(files: Iterable[Path]) -> dict[Path, bytes]:
    """Return what tells contents of files apart; those that cannot be read are left out."""
    digests = {}
    with suppress(OSError):
        for file in files:
            with suppress(OSError):
                digests[file] = blake2b(file.read_bytes(), digest_size=16).digest()
    return digests


def _listed(files: Sequence[Path]) -> str:
    names = ", ".join(map(str, files[:_MOST_LINES]))
    more = f" and {len(files) - _MOST_LINES} more" if len(files) > _MOST_LINES else ""
    return f": {names}{more}" if names else ""


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let the thread that loads interrupt others often, and be interrupted often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
