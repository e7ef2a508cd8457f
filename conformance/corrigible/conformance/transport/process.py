"""Starts a program under test, waits until it accepts connections, and stops it.

Knows: processes and ports. Does not know: what the program is, checks, reports.

A program under test that answers requests on stdin: one JSON object per line in, one per line out.

Knows: processes, lines, time-outs, and every way in which an answer can fail to come. Does not know: what is asked.
"""

from __future__ import annotations

import json
import os
import queue
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from corrigible.conformance.model.background import go_on, hold, pause
from corrigible.conformance.model.outcome import CouldNotTell, UsageError, did_you_mean
from corrigible.schema.exchange import Json

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


TIMEOUT: Final = 10.0
_LONGEST: Final = 8 * 1024 * 1024
"""Bytes of one answer."""
_SHOWN: Final = 200
_GRACE: Final = 0.5


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """What came instead of an answer, as the rest of a sentence about the program."""

    message: str


class StdioProgram:
    """One program under test. A context manager: the program and its children are gone afterwards.

    After anything but an answer the program is started again, since nobody knows which question its next line is for.
    """

    def __init__(self, command: Sequence[str], *, timeout: float = TIMEOUT, folder: Path | None = None) -> None:
        self.command = tuple(command)
        self._timeout = timeout
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: threading.Thread | None = None
        self._errors: IO[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, question: Mapping[str, Json]) -> Mapping[str, Json] | NoAnswer:
        """Return the answer to one question; a question has an `id`."""
        go_on()
        if self._process is None:
            self._start()
        reply = self._exchange(question)
        go_on()
        if isinstance(reply, NoAnswer):
            self._stop()
        return reply

    def _exchange(self, question: Mapping[str, Json]) -> Mapping[str, Json] | NoAnswer:
        line = json.dumps(question).encode() + b"\n"
        self._writer = threading.Thread(target=self._write, args=(line, self._process), daemon=True)
        self._writer.start()  # a program that does not read must not stop us
        try:
            raw_line = self._lines.get(timeout=self._timeout)
        except queue.Empty:
            return NoAnswer(
                f"did not answer within {self._timeout:g} seconds; each line is to be answered, and the answer "
                "flushed, before the next one comes"
            )
        if raw_line is None:
            return NoAnswer(self._ending())
        return _read(raw_line, question["id"])

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=self._folder,
                start_new_session=True,
            )
        except OSError as problem:
            self._errors.close()
            raise CouldNotTell(f"{shlex.join(self.command)} cannot be started: {problem.strerror}") from None
        self._process = process
        hold(self, StdioProgram.kill)
        self._lines = queue.SimpleQueue()
        threading.Thread(target=_read_lines, args=(process, self._lines), daemon=True).start()

    def kill(self) -> None:
        """End the program and whatever it started at once; whoever waits for its answer hears of its end."""
        if (process := self._process) is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if self._writer is None or not self._writer.is_alive():  # else it holds stdin until the process is gone
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if self._writer is not None:
            self._writer.join()
        for stream in (process.stdin, process.stdout, self._errors):
            with suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()

    @staticmethod
    def _write(line: bytes, process: subprocess.Popen[bytes] | None) -> None:
        with suppress(OSError, ValueError):  # it ended: the lines say so
            if process is not None and process.stdin is not None:
                process.stdin.write(line)
                process.stdin.flush()

    def _ending(self) -> str:
        """Say how the program ended."""
        status = None
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                status = self._process.wait(_GRACE)
        match status:
            case None:
                ending = "closed its output without an answer, and runs on"
            case int() if status < 0:
                ending = f"was ended by {signal.Signals(-status).name} instead of answering"
            case _:
                ending = f"ended with status {status} instead of answering"
        words = self._last_words()
        return f"{ending}; it said last: {words}" if words else ending

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 4096))
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        return next((_cut(line.strip()) for line in reversed(lines) if line.strip()), "")


def _read_lines(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with suppress(OSError, ValueError):
        while process.stdout is not None and (line := process.stdout.readline(_LONGEST)):
            lines.put(line)
    lines.put(None)


def _read(raw: bytes, id: Json) -> Mapping[str, Json] | NoAnswer:
    """Return the answer that a line holds."""
    line = raw.decode("utf-8", "replace")
    if not line.endswith("\n"):
        return NoAnswer(f"left its answer without an end of line: {_cut(line)}")
    try:
        document = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NoAnswer(f"answered with a line that is no JSON: {_cut(line.strip())}")
    if not isinstance(document, dict):
        return NoAnswer(f"answered with JSON that is no object: {_cut(line.strip())}")
    if document.get("id") != id:
        return NoAnswer(f"answered with the id {json.dumps(document.get('id'))} when it was asked {json.dumps(id)}")
    return document


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
