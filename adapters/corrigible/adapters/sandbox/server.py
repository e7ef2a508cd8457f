"""Start a server on 127.0.0.1, wait until it listens, and stop it with everything it started. Run installers."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from corrigible.rules.errors import CorrigibleError

HOST = "127.0.0.1"
_TAIL = 16384


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and where."""

    arguments: Sequence[str]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Server:
    """A kind of server that can be started here."""

    name: str
    title: str
    """Product and version, as in a ready line."""
    deviation: str
    """In one clause, how it differs from the API that it replaces."""
    command: Callable[[int], Command]
    """Installs what is missing and returns the command that listens on this port of 127.0.0.1."""
    seeded: Callable[[Path], Server] | None = None
    """From a seed file to the same server with its contents; None where it starts empty."""
    scheme: str = "http"
    is_ready: Callable[[int], bool] | None = None
    """Polled once the port is open, until it is true; None where an open port is enough."""
    access: Callable[[int], str] | None = None
    """Lines on what a caller needs beside the address: credentials, files."""

    def start(self, port: int = 0, *, seconds: float = 60.0) -> Running:
        """Return when the server listens. Port 0 takes a free one."""
        chosen = port or free_port()
        if not is_free(chosen):
            raise SandboxError(f"{self.title} cannot listen on {HOST}:{chosen}: the port is in use")
        running = Running(self.title, self.command(chosen), chosen, scheme=self.scheme)
        try:
            running.wait_until_listening(seconds, self.is_ready)
        except BaseException:  # Ctrl-C too: no server is left behind
            running.stop()
            raise
        return running


class Running:
    """A server that was started. Leaving the `with` block stops it and all its children."""

    def __init__(self, title: str, command: Command, port: int, *, scheme: str = "http") -> None:
        self.title = title
        self.port = port
        self.url = f"{scheme}://{HOST}:{port}"
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop()
        self.process = subprocess.Popen(
            command.arguments,
            cwd=command.folder,
            env={**os.environ, **command.environment},
            stdin=subprocess.PIPE,  # held open, never written: the lifeline ends the server when we are gone
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a process group of its own, so that stop() reaches its children
        )

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_until_listening(self, seconds: float, is_ready: Callable[[int], bool] | None = None) -> None:
        """Return once the port accepts a connection and the server is ready.

        Raise where it ends first or takes too long.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SandboxError(self.exit_report())
            try:
                socket.create_connection((HOST, self.port), timeout=1).close()
                if is_ready is None or is_ready(self.port):
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise SandboxError(f"{self.title} did not listen within {seconds:g} s:\n{last_lines(self.output())}")

    def exit_report(self) -> str:
        """Return how the server ended, with the end of its output."""
        status = self.process.wait()
        ending = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
        return f"{self.title} ended {ending}:\n{last_lines(self.output())}"

    def output(self) -> str:
        """Return the end of what the server printed so far."""
        if self._log.closed:
            return ""
        number = self._log.fileno()
        size = os.fstat(number).st_size  # read by position: the server shares our offset
        return os.pread(number, _TAIL, max(0, size - _TAIL)).decode(errors="replace")

    def stop(self, grace: float = 5.0) -> int:
        """End the whole process group, with force after `grace` seconds, and return the exit status."""
        self._signal(signal.SIGTERM)
        try:
            self.process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._signal(signal.SIGKILL)  # whatever is left of the group, also behind a leader that is gone
            self.process.wait()
            if self.process.stdin is not None:
                self.process.stdin.close()
            self._log.close()
        return self.process.returncode

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return


def free_port() -> int:
    """Return a free port of 127.0.0.1, outside of the range from which the kernel assigns ports.

    The kernel assigns ports above 32767 to outgoing connections and to port 0.
    """
    for port in random.SystemRandom().sample(range(10_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise SandboxError("no free port: a hundred between 10000 and 32000 were tried")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


class SandboxError(CorrigibleError):
    """A sandbox could not be installed or started; the message tells the user what to do."""


def last_lines(text: str, count: int = 12) -> str:
    """Return the end of a tool's output, indented, as it is shown under an error."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-count:]) or "    (it printed nothing)"


def run_tool(command: Sequence[str], purpose: str, *, folder: Path | None = None) -> None:
    """Run a command; raise with the last lines it printed when it fails."""
    completed = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if completed.returncode != 0:
        raise SandboxError(f"{purpose} failed with exit status {completed.returncode}:\n{last_lines(completed.stdout)}")


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
