"""The terminal: one line for each refusal, and for each kind of failure of the API's, as a person reads them.

Knows: entries, the descriptor of a stream. Does not know: HTTP, rules, counts. It never waits for whoever reads the
stream: lines go through `LogFile`, and a storm of refusals is told by its beginning and a number.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from corrigible.schema.printable import printable

from .entry import TOOL, Entry, LogFile, Verdict, redact, redact_target

MOST_PER_SECOND: Final = 50
"""Lines about refusals."""
REPEAT_SECONDS: Final = 10.0
"""A failure that repeats is told once in this time."""
_CLOCK_WAS_SET = 60
"""Seconds. An exchange that began longer before the last one was not slow: the clock was set."""
_MOST_WAITING = 1 << 18
_MOST_FAILURES = 64
_LONGEST_PATH = 80
_LONGEST = 400


@dataclass(slots=True)
class _Repeated:
    """A failure that was told, and how often it came since."""

    told: float
    count: int = 0


class Terminal:
    """Writes lines for people. Nothing that goes wrong with the stream concerns anybody else."""

    def __init__(self, descriptor: int, *, quiet: bool = False, program: str = "corrigible proxy") -> None:
        """Write to a stream that is open, and stays so. `quiet` leaves out the lines about exchanges."""
        self._file = LogFile(os.dup(descriptor), self._lost, most=_MOST_WAITING)
        self.quiet = quiet
        self._program = program
        self._second = 0
        self._lines = 0
        """About refusals in that second, shown or not."""
        self._failures: dict[str, _Repeated] = {}

    def say(self, text: str) -> None:
        """Write one line that is about no exchange."""
        self._write(f"{self._program}: {text}")

    def write(self, entry: Entry) -> None:
        """Write the line of an exchange, if it is a refusal or failed."""
        verdict = entry.verdict
        if self.quiet or verdict in (Verdict.SUCCESS, Verdict.GONE):
            return
        if verdict is Verdict.FAILED:
            self._failed(entry)
            return
        # Exchanges end in another order than they began: what began earlier counts for the current second.
        second = int(entry.time)
        if second > self._second or second < self._second - _CLOCK_WAS_SET:
            self._tell_hidden()
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines <= MOST_PER_SECOND:
            self._write(refusal_line(entry))

    def settle(self) -> None:
        """Tell what was left out so far."""
        self._tell_hidden()
        for failure, repeated in self._failures.items():
            if repeated.count:
                self._write(f"{self._program}: no answer from the API, {repeated.count:,} more: {failure}")
        self._failures.clear()

    def close(self) -> None:
        """Write what waits, for a moment at most."""
        self.settle()
        self._file.close()

    def _lost(self, count: int) -> bytes:
        return f"{self._program}: {count} lines could not be written here\n".encode()

    def _tell_hidden(self) -> None:
        if self._lines > MOST_PER_SECOND:
            more = self._lines - MOST_PER_SECOND
            self._write(f"{self._program}: {more:,} more refusals in that second (--log FILE writes all)")
            self._lines = 0

    def _failed(self, entry: Entry) -> None:
        failure = _shortened(redact(entry.failure or ""))
        repeated = self._failures.get(failure)
        if repeated is None:
            if len(self._failures) >= _MOST_FAILURES:
                self._failures.clear()
            self._failures[failure] = _Repeated(entry.time)
        elif -_CLOCK_WAS_SET < entry.time - repeated.told < REPEAT_SECONDS:
            repeated.count += 1
            return
        more = f" ({repeated.count:,} more since then)" if repeated is not None and repeated.count else ""
        self._failures[failure] = _Repeated(entry.time)
        self._write(f"{_clock(entry)} {_status(entry)} {_target(entry)} no answer from the API: {failure}{more}")

    def _write(self, line: str) -> None:
        with contextlib.suppress(Exception):  # whatever it is, the exchange that it describes must not suffer
            self._file.write(printable(line.replace("\n", " ")).encode("utf-8", "backslashreplace") + b"\n")


def standard_error(*, quiet: bool = False, program: str = "corrigible proxy") -> Terminal | None:
    """Return the terminal of this process; None where its standard error is closed."""
    try:
        return Terminal(sys.stderr.fileno(), quiet=quiet, program=program)
    except (AttributeError, OSError, ValueError):  # no stream, a closed one, one of a test
        return None


def refusal_line(entry: Entry) -> str:
    """Return the line of a refusal: when, status, operation, what was said or why nothing was, how long that took."""
    return f"{_clock(entry)} {_status(entry)} {_target(entry)} {_shortened(_told(entry))}{_effort(entry)}"


def _told(entry: Entry) -> str:
    feedback: Any = entry.feedback or {}
    actions = ", ".join(dict.fromkeys(str(one.get("action")) for one in feedback.get("suggestions") or ()))
    by = f" ({', '.join(dict.fromkeys(entry.rules))})" if entry.rules else ""
    match entry.verdict:
        case Verdict.CORRECTED:
            confirmation = ", to be confirmed" if _needs_confirmation(feedback) else ""
            return f"corrected: {actions}{confirmation}{by}"
        case Verdict.ASKED:
            if feedback.get("type") == "confidence_signal":
                return f"no correction{_attempt(feedback)}, the caller has to read the answer: {actions}{by}"
            asked = "a choice" if feedback.get("type") == "intent_disambiguation" else "a value"
            return f"asks for {asked}: {actions}{by}"
        case Verdict.WAIT:
            seconds = (feedback.get("retry") or {}).get("after_seconds")
            return f"try again {'later' if seconds is None else f'in {seconds:g} s'}: {actions}{by}"
        case Verdict.FINAL:
            return f"no retry helps{_attempt(feedback)}: {actions}{by}"
        case Verdict.DIAGNOSED:
            return f"{entry.outcome}{by}"
    if entry.error and entry.error != entry.reason:
        return f"unchanged, an error of Corrigible: {redact(entry.error)}"
    return f"unchanged: {redact(entry.reason) if entry.reason else 'no reason is known'}{by}"


def _attempt(feedback: Any) -> str:
    attempt = (feedback.get("loop") or {}).get("attempt")
    return f", attempt {attempt}" if attempt else ""


def _needs_confirmation(feedback: Any) -> bool:
    safety = [one.get("safety") or {} for one in feedback.get("suggestions") or ()]
    return any(one.get("changes_intent") or one.get("requires_confirmation") for one in safety)


def _effort(entry: Entry) -> str:
    if entry.correction is None:
        return ""
    lookups = f"{counted(entry.lookups, 'look-up')}, " if entry.lookups else ""
    return f" [{lookups}{duration(entry.correction)}]"


def duration(seconds: float) -> str:
    """Return a time as a person reads it: 812 µs, 35 ms, 1.2 s."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def counted(number: int, noun: str) -> str:
    """Return a number of things: 1 rule, 1,200 rules."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _clock(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.time).strftime("%H:%M:%S")


def _status(entry: Entry) -> str:
    return entry.code or str(entry.status or 502)


def _target(entry: Entry) -> str:
    path = redact_target(entry.path.partition("?")[0])
    path = path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 3]}..."
    if entry.method in ("GRPC", TOOL):
        return path
    return f"{entry.method} {path}" + (f" ({entry.operation})" if entry.operation else "")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
