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
from itertools import accumulate
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
        self._torn = False
        """Whether the file ends inside of a line: the disk was full."""
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
                said, lines = self._next_batch()
            batch = b"".join(lines)
            written = _write(self._descriptor, batch)
            if written:
                self._torn = batch[written - 1 : written] != b"\n"
            if written < len(batch):
                with self._changed:
                    self._missed(said, lines, written)

    def _missed(self, said: int, lines: list[bytes], written: int) -> None:
        """Count the lines that are not whole in the file; the first one may be ours, about so many others.

        One that lacks only its end gets that with the next one.
        """
        missing = [end - 1 > written for end in accumulate(map(len, lines))]
        if said:
            self._unsaid += said if missing.pop(0) else 0
        self._drop(sum(missing))

    def _next_batch(self) -> tuple[int, list[bytes]]:
        """Take lines for one write. The first one is about as many others that are missing, if any are."""
        lines: list[bytes] = []
        size = 0
        while self._waiting and size < _BATCH:
            chunk = self._waiting[0]
            if isinstance(chunk, int):
                if lines:
                    break
                os.close(self._descriptor)
                self._descriptor, self._torn = chunk, False
            else:
                lines.append(chunk)
                size += len(chunk)
            self._waiting.popleft()
        self._size -= size
        said = 0
        if self._unsaid and lines:
            said, self._unsaid = self._unsaid, 0
            lines.insert(0, self._lost(said))
        if self._torn and lines:
            lines[0] = b"\n" + lines[0]
        return said, lines


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


def _write(descriptor: int, data: bytes) -> int:
    """Write, and return how many bytes: fewer where the disk is full."""
    written = 0
    with contextlib.suppress(OSError):
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])
    return written
