"""Lines into an append-only file, from a thread of their own: a slow disk or a full pipe is nobody else's trouble.

Knows: files, a bounded queue. Does not know: what the lines say.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

MOST_WAITING: Final = 8 << 20
"""Bytes of lines that wait to be written; what comes then is dropped."""
_BATCH: Final = 64 << 10
"""Bytes of one write, all whole lines: several processes may share a file."""
_PAUSE: Final = 0.01
"""Seconds for which lines are gathered."""


class LogFile:
    """Writes lines in their order. What cannot be written is dropped and counted."""

    def __init__(
        self, path: str | Path | int, describe_lost: Callable[[int], bytes], *, most: int = MOST_WAITING
    ) -> None:
        """Open the file for appending; `describe_lost` makes the line that says how many are missing.

        A number instead of a path is the descriptor of an open file: it becomes this object's own, and is never
        reopened. Raises OSError where the file cannot be opened: now, not on live traffic. The thread begins with the
        first line.
        """
        self.dropped = 0
        self._path, self._lost, self._most = path, describe_lost, most
        self._unsaid = 0
        """Lines that were dropped since that was said last."""
        self._descriptor = path if isinstance(path, int) else _opened(path)
        self._waiting: deque[bytes | int] = deque()
        """Lines; a descriptor is of the file that those behind it go to."""
        self._size = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._ending = threading.Event()

    def write(self, line: bytes) -> None:
        """Have a line written soon. Never waits."""
        with self._changed:
            if self._closed or self._size + len(line) > self._most:
                self._drop(1)
                return
            self._waiting.append(line)
            self._size += len(line)
            self._wake()

    def reopen(self) -> None:
        """Go on in a file opened anew: the other one was moved away. Raises OSError; then the old one stays."""
        if isinstance(self._path, int):
            return
        descriptor = _opened(self._path, os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        with self._changed:
            if self._closed:
                os.close(descriptor)
                return
            self._waiting.append(descriptor)
            self._wake()

    def close(self, seconds: float = 2.0) -> None:
        """Write what waits, for so long at most. Later lines are dropped."""
        with self._changed:
            self._closed = True
            self._ending.set()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                with self._changed:
                    self._drop(sum(isinstance(chunk, bytes) for chunk in self._waiting))
                    self._waiting.clear()
                return  # it hangs in a write, and ends with the process
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _drop(self, count: int) -> None:
        self.dropped += count
        self._unsaid += count

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="log", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
            self._ending.wait(_PAUSE)  # others follow: fewer switches between threads
            with self._changed:
                batch, count = self._next_batch()
            try:
                _write(self._descriptor, batch)
            except OSError:
                with self._changed:
                    self._drop(count)

    def _next_batch(self) -> tuple[bytes, int]:
        """Take lines for one write, and how many they are."""
        lines: list[bytes] = []
        size = 0
        while self._waiting and size < _BATCH:
            chunk = self._waiting[0]
            if isinstance(chunk, int):
                if lines:
                    break
                os.close(self._descriptor)
                self._descriptor = chunk
            else:
                lines.append(chunk)
                size += len(chunk)
            self._waiting.popleft()
        self._size -= size
        count = len(lines)
        if self._unsaid and lines:
            lines.insert(0, self._lost(self._unsaid))
            self._unsaid = 0
        return b"".join(lines), count


def _opened(path: str | Path, more: int = 0) -> int:
    flags = os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | more
    if stat.S_ISFIFO(_mode(path)):
        # Who opens a pipe for reading as well waits for no reader, and does not fail when the last one goes.
        with contextlib.suppress(PermissionError):
            return os.open(path, os.O_RDWR | flags, 0o600)
    return os.open(path, os.O_WRONLY | flags, 0o600)


def _mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
