"""Child processes of a sandbox's process: they end with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

_GRACE: Final = 3.0
"""Seconds to end in, before force."""


class Children:
    """The processes of one sandbox."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, arguments: Sequence[str], log: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        errors = subprocess.STDOUT if log is not None else None
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=errors)
        self.running.append(process)
        return process


@contextmanager
def children() -> Iterator[Children]:
    """End the processes that are started within, also on SIGTERM."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    children = Children()
    try:
        yield children
    finally:
        for process in children.running:
            process.terminate()
        for process in children.running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
