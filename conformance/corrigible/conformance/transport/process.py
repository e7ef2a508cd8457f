"""Starts a program under test, waits until it accepts connections, and stops it.

Knows: processes and ports. Does not know: what the program is, checks, reports.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from corrigible.conformance.model.background import go_on, hold, pause
from corrigible.conformance.model.outcome import UsageError, did_you_mean

from .http1 import connected

_ENDING: Final = 0.25
"""Seconds between the last sign of life and the end of a program."""
_LAST: Final = 40
"""Lines of a subject's output that are kept for reports."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody has now, and that no kernel hands out before it is used.

    Those that a kernel picks by itself, for whoever connects or binds to port 0, lie above 32767.
    """
    for port in random.SystemRandom().sample(range(10_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise UsageError("no port is free: a hundred between 10000 and 32000 were tried")


def search_path() -> str:
    """Return where programs are looked for: scripts installed beside the suite need no activated environment."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])


def words(command: str, values: Mapping[str, str]) -> list[str]:
    """Split a command and fill in its {names}, each within its word, so that a value may hold blanks."""
    try:
        return [word.format_map(_Known(values)) for word in shlex.split(command)]
    except (ValueError, IndexError, AttributeError) as problem:
        raise UsageError(f"start: {problem}: in {command!r}") from None


class _Known(dict[str, str]):
    def __missing__(self, name: str) -> str:
        names = ", ".join(f"{{{known_name}}}" for known_name in self)
        raise ValueError(f"{{{name}}} is nothing the suite fills in{did_you_mean(name, self)} (there are {names})")


def accepts(address: str, timeout: float = 1.0) -> str | None:
    """Return why nothing accepts connections at HOST:PORT, or None where something does."""
    host, _, port = address.rpartition(":")
    try:
        with connected((host.strip("[]"), int(port)), timeout):
            return None
    except OSError as problem:
        return problem.strerror or str(problem) or type(problem).__name__
    except (ValueError, OverflowError):
        return "no HOST:PORT"


def _guard(group: int) -> subprocess.Popen[bytes]:
    """Start what ends a group of processes when we are killed ourselves: its stdin ends when we do."""
    script = 'cat; kill -s TERM -- "-$0"; sleep 2; kill -s KILL -- "-$0"'
    return subprocess.Popen(
        ["/bin/sh", "-c", script, str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def completed(command: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. Raises OSError, or TimeoutExpired. It ends with the check that runs it."""
    go_on()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace") as process:
        try:
            output, errors = hold(process, subprocess.Popen.kill).communicate(timeout=timeout)
        finally:
            process.kill()
    go_on()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


class ServerProcess:
    """A program under test. A context manager: whatever happens, the program and its children are gone afterwards."""

    def __init__(
        self,
        command: list[str],
        *,
        address: str,
        wait: float = 30.0,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        grace: float = 5.0,
    ) -> None:
        self.command, self.address = command, address
        self._wait, self._grace = wait, grace
        self._folder, self._env = folder, env or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._kept = ""

    def __enter__(self) -> ServerProcess:
        go_on()
        self._output = tempfile.TemporaryFile()
        path = search_path()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", **self._env},
                start_new_session=True,
                executable=shutil.which(self.command[0], path=path),  # Popen itself looks only in our own PATH
            )
        except (OSError, IndexError) as problem:
            self._output.close()
            reason = getattr(problem, "strerror", None) or "no command"
            raise UsageError(f"the subject could not be started: {reason}: {shlex.join(self.command)}") from None
        try:
            hold(self, ServerProcess.kill)
            self._guard = _guard(self._process.pid)
            self._wait_until_it_accepts()
        except BaseException:  # raised again: Ctrl-C while it starts must not leave a process behind either
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ended(self) -> str | None:
        """Return how the program ended, if it did."""
        status = self._process.poll() if self._process is not None else None
        if status is None:
            return None
        if status < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-status).name}"
        return f"ended with exit status {status}"

    def wait_for_end(self) -> str | None:
        """Return how the program ended, if it did; one that is just about to end is waited for."""
        if self._process is not None:
            # Its connections are closed before its end can be seen, and in no particular order.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING)
        return self.ended()

    def output(self) -> str:
        """Return the end of what the program wrote so far."""
        if self._output is None or self._output.closed:
            return self._kept
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), 16384, max(0, size - 16384)).decode("utf-8", "replace").strip()

    def last_words(self) -> str:
        return "\n".join(self.output().splitlines()[-_LAST:])

    def kill(self) -> None:
        """End the program and whatever it started at once."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the program and whatever it started: politely, then not."""
        if self._guard is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
            self._guard = None
        if self._process is not None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(self._grace)
        if self._output is not None:
            self._kept = self.output()
            self._output.close()

    def _wait_until_it_accepts(self) -> None:
        until = time.monotonic() + self._wait
        while (refusal := accepts(self.address)) is not None:
            if (ending := self.ended()) is not None:
                raise UsageError(self._sentence(f"{ending} before it accepted connections at {self.address}"))
            if time.monotonic() > until:
                raise UsageError(
                    self._sentence(f"does not listen at {self.address} after {self._wait:g} s ({refusal})")
                )
            pause(0.05)

    def _sentence(self, event: str) -> str:
        last_output = self.last_words()
        output = (
            "\n".join(f"    {line}" for line in last_output.splitlines()[-10:])
            if last_output
            else "    (it wrote nothing)"
        )
        return f"the subject {event}: {shlex.join(self.command)}\n{output}"
