"""Ends the servers of a run that was killed: a process of its own, which outlives us by a moment.

Knows: process groups. Does not know: what the servers are.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

_CODE: Final = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGTERM)
    except OSError:
        pass
"""


class ProcessReaper:
    """Hears of every process group that starts and ends; when we are gone, ends those that are left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def started(self, group: int) -> None:
        self._say(f"+{group}\n")

    def ended(self, group: int) -> None:
        self._say(f"-{group}\n")

    def _say(self, line: str) -> None:
        with self._lock, suppress(OSError):
            if self._process is None:
                # A session of its own: Ctrl-C is for us.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _CODE], stdin=subprocess.PIPE, start_new_session=True, text=True
                )
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def close(self) -> None:
        """Let it end. What was not said to have ended is ended by it."""
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()
                self._process.wait()
                self._process = None
