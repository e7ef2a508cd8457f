"""A program under test that answers requests on stdin: one JSON object per line in, one per line out.

Knows: processes, lines, time-outs, and every way in which an answer can fail to come. Does not know: what is asked.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from corrigible.conformance.model.background import go_on, hold
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.schema.exchange import Json

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
