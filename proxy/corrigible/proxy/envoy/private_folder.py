"""A folder for sockets and configuration: nobody else can read it, and it goes with its owner, however that ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NoReturn

from corrigible.proxy.runtime.fork_server import name_process

_SHORT: Final = ("/tmp", "/dev/shm")
"""Where sockets can be if the folder for temporary files has too long a name."""
_MADE: Final = b"made"
_TRIES: Final = 3
_PAUSE: Final = 0.2
_NONE: Final = subprocess.DEVNULL
_KEEPING: Final = """
import os, shutil, signal, sys
with open("/proc/self/comm", "w") as comm:
    comm.write("corrigible-dir")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while os.read(0, 1):
    pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
_LONGEST: Final = 107 - len("/corrigible-xxxxxxxx/corrector-64.sock.4194304")
"""Bytes of a parent: a socket's path has 107 (`sun_path`)."""


class PrivateFolder:
    """A folder, and the process that removes it when this one is gone."""

    def __init__(self) -> None:
        """Make the folder. Call it while the process has one thread: its keeper is forked. Raises OSError."""
        for tried in range(1, _TRIES + 1):
            try:
                self.path, self._keeper, self._pipe = _made()
                return
            except _KeeperLost:  # by whoever ended it: the folder went with it, or was not made
                if tried == _TRIES:
                    raise

    async def stay_kept(self) -> None:
        """Have another keeper whenever there is none any more."""
        while True:
            await _end_of(self._keeper)
            with contextlib.suppress(OSError):
                self._replace_keeper()
            await asyncio.sleep(_PAUSE)

    def _replace_keeper(self) -> None:
        """Start one: no fork, since this process may have threads by now."""
        reading, writing = os.pipe()
        try:
            words = (sys.executable, "-I", "-S", "-c", _KEEPING, str(self.path))
            keeper = subprocess.Popen(words, stdin=reading, stdout=_NONE, stderr=_NONE, start_new_session=True)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        _forget(self._keeper)
        os.close(self._pipe)
        self._keeper, self._pipe = keeper.pid, writing
        keeper.returncode = 0  # its end is waited for here

    def close(self) -> None:
        """Remove the folder."""
        os.close(self._pipe)
        _forget(self._keeper)
        shutil.rmtree(self.path, ignore_errors=True)  # whoever was to do it may have ended before


class _KeeperLost(OSError):
    """It ended before it had told the name of a folder."""


def _made() -> tuple[Path, int, int]:
    """Return a new folder, who keeps it, and the end of a pipe with which that waits for the end of this process."""
    told, telling = os.pipe()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _keep(reading, telling)
    os.close(reading)
    os.close(telling)
    with open(told, "rb") as stream:
        kind, _, text = stream.read().partition(b" ")
    if kind == _MADE:
        return Path(os.fsdecode(text)), pid, writing
    os.close(writing)
    _forget(pid)
    raise OSError(text.decode()) if text else _KeeperLost("no folder for sockets")


def _forget(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


async def _end_of(pid: int) -> None:
    """Wait until a process has ended."""
    ended = asyncio.Event()
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


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
        name_process("corrigible-dir")
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
