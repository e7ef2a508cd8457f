"""A folder for sockets and configuration: nobody else can read it, and it goes with its owner, however that ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

_SHORT: Final = ("/tmp", "/dev/shm")
"""Where sockets can be if the folder for temporary files has too long a name."""
_MADE: Final = b"made"
_LONGEST: Final = 107 - len("/corrigible-xxxxxxxx/corrector-64.sock.4194304")
"""Bytes of a parent: a socket's path has 107 (`sun_path`)."""


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder. Call it while the process has one thread: what makes and removes the folder is forked.

    Raises OSError.
    """
    told, telling = os.pipe()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _keep(reading, telling)
    os.close(reading)
    os.close(telling)
    folder: Path | None = None
    try:
        with open(told, "rb") as stream:
            kind, _, text = stream.read().partition(b" ")
        if kind != _MADE:
            raise OSError(text.decode() or "no folder for sockets")
        folder = Path(os.fsdecode(text))
        yield folder
    finally:
        os.close(writing)
        os.waitpid(pid, 0)
        if folder is not None:  # whoever was to do it may have ended before
            shutil.rmtree(folder, ignore_errors=True)


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


def _keep(reading: int, telling: int) -> NoReturn:
    """Make a folder, tell its name, wait for the end of whoever has the other end of a pipe, and remove it."""
    folder: Path | None = None
    try:
        os.setsid()  # no Ctrl-C reaches it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        kept = sorted((reading, telling))
        os.closerange(3, kept[0])
        os.closerange(kept[0] + 1, kept[1])
        os.closerange(kept[1] + 1, os.sysconf("SC_OPEN_MAX"))
        try:
            folder = _new_folder()
            os.write(telling, _MADE + b" " + os.fsencode(folder))
        except OSError as problem:
            os.write(telling, b"! " + str(problem).encode())
        os.close(telling)
        while os.read(reading, 1):
            pass
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)
