"""A folder for sockets and configuration: nobody else can read it, and it goes with its owner, however that ended.

Envoy as a process: started, asked by its admin socket, drained and stopped. It lives no longer than this process.

Knows: processes, Envoy's admin interface. Does not know: what its configuration is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from corrigible.proxy.http.lookup_client import Answered, HttpClient, Place

from . import CannotStart, envoy_path
from .bootstrap import WATCHED

_SHORT: Final = ("/tmp", "/dev/shm")
"""Where sockets can be if the folder for temporary files has too long a name."""
_FOLDER_PAUSE: Final = 0.2
_NONE: Final = subprocess.DEVNULL
_TRIES: Final = 3
KEEPING: Final = """
trap '' INT TERM HUP PIPE
printf corrigible-dir > /proc/$$/comm
if [ "$1" = new ]; then mkdir -m 700 -- "$0" || exit; echo made; fi
while read -r _; do :; done
rm -rf -- "$0"
"""
"""Makes a folder, and removes it once there is no more input. As Python it would take 2 MB."""
_LONGEST: Final = 107 - len("/corrigible-xxxxxxxx/corrector-64.sock.4194304")
"""Bytes of a parent: a socket's path has 107 (`sun_path`)."""


class PrivateFolder:
    """A folder, and the process that removes it when this one is gone."""

    def __init__(self) -> None:
        """Make the folder. Raises OSError."""
        self._keeper: subprocess.Popen[bytes] | None = None
        self.path = self._new_folder()

    def _new_folder(self) -> Path:
        """Return a new folder whose name leaves room for that of a socket.

        Who removes it makes it: it goes, too, where this process ends at that moment.
        """
        problem = OSError("no folder for temporary files whose name is short enough for sockets")
        parents = [one for one in (tempfile.gettempdir(), *_SHORT) if len(os.fsencode(one)) <= _LONGEST]
        for parent in (one for one in parents for _ in range(_TRIES)):
            path = Path(parent, f"corrigible-{secrets.token_hex(4)}")
            keeper = self._start_keeper(path, "new")
            if keeper is not None and keeper.stdout is not None and keeper.stdout.readline() == b"made\n":
                return path
            self._end_keeper()
            with contextlib.suppress(OSError):
                path.rmdir()  # it made the folder, and was ended before it said so
            try:
                path.mkdir(0o700)
            except OSError as found:
                problem = found
            else:
                return path
        raise problem

    def _start_keeper(self, path: Path, *kind: str) -> subprocess.Popen[bytes] | None:
        words = ("/bin/sh", "-c", KEEPING, str(path), *kind)
        told = subprocess.PIPE if kind else _NONE
        with contextlib.suppress(OSError):  # there is no shell, or no room
            self._keeper = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=told, stderr=_NONE, start_new_session=True
            )
        return self._keeper

    async def stay_kept(self) -> None:
        """Have another keeper whenever there is none any more."""
        while True:
            await asyncio.sleep(_FOLDER_PAUSE)
            if self._keeper is None or self._keeper.poll() is not None:
                self._end_keeper()
                self._start_keeper(self.path)

    def _end_keeper(self) -> None:
        if self._keeper is not None:
            self._keeper.communicate()
            self._keeper = None

    def close(self) -> None:
        """Remove the folder."""
        self._end_keeper()
        shutil.rmtree(self.path, ignore_errors=True)  # whoever was to do it may have ended before


ADMIN: Final = "admin.sock"
"""In the folder of a process."""
PRESSURE: Final = "pressure"
"""In the same folder, says which part of the connections is in use."""
_CONFIG: Final = "envoy.json"
DRAIN_SECONDS: Final = 5.0
_FAREWELL: Final = 2.0
"""Seconds that idle connections get for their end, of these."""
_READY_SECONDS: Final = 60.0
_PAUSE: Final = 0.02
_DYING: Final = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
_WATCHED_AGAIN: Final = 60.0
"""Seconds after which Envoy is told again to watch successes: whoever ends the watching may have done so."""
_LARGEST_LINE: Final = 1 << 20
_TAIL: Final = 20
_TAKEN: Final = re.compile(r"cannot bind '[^']*': (?P<reason>[^\n.]*)")


def configure(config: Mapping[str, Any], folder: Path) -> None:
    """Write what Envoy is to read in this folder. Raises OSError."""
    _tell(folder, 0.0)
    (folder / _CONFIG).write_text(json.dumps(config), "utf-8")


class EnvoyProcess:
    """A running Envoy."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path, on_line: Callable[[bytes], object]) -> None:
        self._process, self._on_line = process, on_line
        self._admin = _Admin(folder / ADMIN, 2.0)
        self._folder = folder
        self._errors: list[str] = []
        self._readers = [asyncio.create_task(self._read_log()), asyncio.create_task(self._read_errors())]

    @classmethod
    async def start(cls, folder: Path, on_line: Callable[[bytes], object], *, threads: int) -> EnvoyProcess:
        """Start Envoy, and return once it listens. `on_line` gets the lines of its access log.

        `folder` is private: the configuration is there, and the admin socket. Raises CannotStart.
        """
        process = await asyncio.create_subprocess_exec(
            *_dying_with(os.getpid()),
            envoy_path(),
            *("--config-path", str(folder / _CONFIG), "--disable-hot-restart", "--concurrency", str(threads)),
            *("--log-level", "error", "--log-format", "%v", "--file-flush-interval-msec", "50"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LARGEST_LINE,
            # Ctrl-C is for this process: Envoy drains first. No session of its own: Linux would give that half of a
            # processor that correctors need, and no more (autogroups), however nice these are.
            process_group=0,
        )
        envoy = cls(process, folder, on_line)
        try:
            await envoy._until_ready()
        except BaseException:
            await envoy.kill()
            raise
        return envoy

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _until_ready(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _READY_SECONDS
        while loop.time() < end:
            if self._process.returncode is not None:
                await asyncio.gather(*self._readers)
                raise CannotStart(self.ending())
            with contextlib.suppress(OSError):
                if (await self._admin.ask("/ready")).status == 200:
                    return
            await asyncio.sleep(_PAUSE)
        raise CannotStart(f"Envoy was not ready within {_READY_SECONDS:g} s")

    def ending(self) -> str:
        """Return how it ended, in one line."""
        text = "\n".join(self._errors)
        taken = _TAKEN.search(text)
        if taken is not None:
            return taken["reason"].lower()
        last = next((line for line in reversed(self._errors) if line.strip()), "")
        return f"Envoy ended with exit status {self._process.returncode}: {last[:500]}"

    async def port(self) -> int:
        """Return the port that it listens on."""
        answer = await self._admin.ask("/listeners", format="json")
        [status] = json.loads(answer.body)["listener_statuses"]
        return int(status["local_address"]["socket_address"]["port_value"])

    async def counter(self, name: str) -> int:
        """Return a counter or gauge, 0 if there is none of that name."""
        answer = await self._admin.ask("/stats", filter=f"^{re.escape(name)}$", format="json")
        stats = json.loads(answer.body)["stats"]
        return next((int(one["value"]) for one in stats if one.get("name") == name), 0)

    async def page(self, pattern: str) -> str:
        """Return the numbers whose names match, as Prometheus reads them. Raises OSError."""
        return (await self._admin.ask("/stats/prometheus", filter=pattern)).body.decode()

    async def set_runtime(self, key: str, value: str) -> None:
        """Set a key of the runtime. Raises OSError."""
        await self._admin.ask("/runtime_modify", "POST", **{key: value})

    async def wait(self) -> int:
        """Return its exit status, once it has ended."""
        status = await self._process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)
        return status

    def press(self, pressure: float) -> None:
        """Have idle connections closed the earlier, the nearer this is to 1."""
        _tell(self._folder, pressure)

    async def drain(self, requests: str, connections: str, force: asyncio.Event) -> bool:
        """Stop listening, say goodbye to callers, and wait until nothing is under way: whether it came to that.

        The gauges `requests` and `connections` say what is. Answers to callers over HTTP/1 get `Connection: close`,
        those over HTTP/2 come with a GOAWAY, and idle connections end.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            await self._admin.ask("/healthcheck/fail", "POST")  # which has each answer end its connection
            self.press(1.0)
            await self._admin.ask("/drain_listeners", "POST")
            while (is_busy := await self.counter(requests)) or await self.counter(connections):
                if force.is_set() or loop.time() - start > (DRAIN_SECONDS if is_busy else _FAREWELL):
                    return not is_busy
                await asyncio.sleep(_PAUSE)
        except (OSError, ValueError):  # it is gone
            return False
        return True

    async def stop(self) -> None:
        """End it, with what it has still to log."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.wait()
        except TimeoutError:
            await self.kill()
        self._admin.close()

    async def kill(self) -> None:
        """End it at once."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self.wait()
        self._admin.close()

    async def _read_log(self) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # longer than the limit: what was read of it is gone
                continue
            if not line:
                return
            self._on_line(line)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._errors = [*self._errors, line.decode("utf-8", "replace").rstrip()][-_TAIL:]


class SuccessWatch:
    """Has one Envoy look for the successes of callers with a loop, while there may be any: else none is looked at."""

    def __init__(self, admin: Path) -> None:
        """`admin` is the socket of its admin interface."""
        self._admin = _Admin(admin, 1.0)
        self._told: float | None = None

    async def begin(self) -> None:
        """Have successes watched from now on."""
        now = asyncio.get_running_loop().time()
        if self._told is not None and now - self._told < _WATCHED_AGAIN:
            return
        with contextlib.suppress(OSError):  # the loop ends later then
            await self._admin.ask("/runtime_modify", "POST", **{WATCHED: "100"})
            self._told = now

    def close(self) -> None:
        self._admin.close()


class _Admin(HttpClient):
    """Envoy's admin interface."""

    def __init__(self, socket: Path, seconds: float) -> None:
        super().__init__(seconds)
        self._place = Place(str(socket))

    async def ask(self, path: str, method: str = "GET", **parameters: str) -> Answered:
        """Return an answer. Raises OSError without one."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        return await self.send(self._place, method, target.encode(), [(b"host", b"envoy")])


def _tell(folder: Path, pressure: float) -> None:
    """Write the pressure: Envoy sees a file that takes another one's place."""
    new = folder / f"{PRESSURE}.new"
    new.write_text(f"{min(1.0, pressure):.3f}")
    new.replace(folder / PRESSURE)


def _dying_with(parent: int) -> tuple[str, ...]:
    """Return the words before a command that ends with its parent, whatever that ends by.

    No `preexec_fn`: it would run in a fork of a process that may have threads, such as those of gRPC.
    """
    return (sys.executable, "-I", "-S", "-c", _DYING, str(parent))
