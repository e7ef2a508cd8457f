"""A process that does one thing for another one: it ends with it, and takes neither all time nor all memory."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Final

_SECONDS: Final = 120
_BYTES: Final = 4 << 30


def run_child(command: Sequence[str], option: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command that calls `confine` with what `option` names: a pipe, open as long as this process lives."""
    write_end, read_end = os.pipe()
    try:
        return subprocess.run(
            [*command, option, str(write_end)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            pass_fds=[write_end],
            check=False,
        )
    finally:
        os.close(write_end)
        os.close(read_end)


def confine(pipe: int) -> None:
    """End this process when the other end of a pipe is closed, and limit its time and memory."""
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    try:
        import resource
    except ImportError:  # no POSIX
        return
    for limit, most in ((resource.RLIMIT_CPU, _SECONDS), (resource.RLIMIT_AS, _BYTES)):
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)
    os._exit(1)
