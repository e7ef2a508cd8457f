"""A folder for sockets and configuration: nobody else can read it, and it goes with its owner, however that ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SHORT: Final = ("/tmp", "/dev/shm")
"""Where sockets can be if the folder for temporary files has too long a name."""
_LONGEST: Final = 107 - len("/corrigible-xxxxxxxx/corrector-64.sock.4194304")
"""Bytes of a parent: a socket's path has 107 (`sun_path`)."""


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder. Call it while the process has one thread: what removes the folder is forked."""
    folder = _new_folder()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _remove_when_alone(folder, reading)
    os.close(reading)
    try:
        yield folder
    finally:
        os.close(writing)
        os.waitpid(pid, 0)


def _new_folder() -> Path:
    """Return a new folder whose name leaves room for that of a socket. Raises OSError."""
    problem = OSError("no folder for temporary files whose name is short enough for sockets")
    for parent in (tempfile.gettempdir(), *_SHORT):
        if len(os.fsencode(parent)) > _LONGEST:
            continue
        try:
            return Path(tempfile.mkdtemp(prefix="corrigible-", dir=parent))
        except OSError as found:
            problem = found
    raise problem


def _remove_when_alone(folder: Path, reading: int) -> None:
    """Wait for the end of whoever has the other end of a pipe, and remove the folder."""
    try:
        os.setsid()  # no Ctrl-C reaches it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.closerange(3, reading)
        os.closerange(reading + 1, os.sysconf("SC_OPEN_MAX"))
        while os.read(reading, 1):
            pass
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)
