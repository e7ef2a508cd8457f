"""The access log: one JSON line for each exchange and what was decided about it, secrets left out.

Knows: exchanges that ended, what a secret looks like, one append-only file. Does not know: HTTP libraries,
rules, headers or bodies (they never get here). Writing never raises: live traffic matters more than its record.

Lines into an append-only file, from a thread of their own: a slow disk or a full pipe is nobody else's trouble.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_plus

from corrigible.proxy.core.corrector import Outcome
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.messages import DOCUMENTS
from corrigible.schema.credential_name import is_secret_parameter, plain
from corrigible.schema.exchange import record

MOST_WAITING: Final = 8 << 20
"""Bytes of lines that wait to be written; what comes then is dropped."""
_BATCH: Final = 64 << 10
"""Bytes of one write, all whole lines: several processes may share a file."""
_PAUSE: Final = 0.01
"""Seconds for which lines are gathered."""


class LogFile:
    """Writes lines in their order. What cannot be written is dropped and counted."""

    def __init__(
        self, path: str | Path | int, describe_lost: Callable[[int], bytes], *, most: int = MOST_WAITING
    ) -> None:
        """Open the file for appending; `describe_lost` makes the line that says how many are missing.

        A number instead of a path is the descriptor of an open file: it becomes this object's own, and is never
        reopened. Raises OSError where the file cannot be opened: now, not on live traffic. The thread begins with the
        first line.
        """
        self.dropped = 0
        self._path, self._lost, self._most = path, describe_lost, most
        self._unsaid = 0
        """Lines that were dropped since that was said last."""
        self._torn = False
        """Whether the file ends inside of a line: the disk was full."""
        self._descriptor = path if isinstance(path, int) else _opened(path)
        self._waiting: deque[bytes | int] = deque()
        """Lines; a descriptor is of the file that those behind it go to."""
        self._size = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._ending = threading.Event()

    def write(self, line: bytes) -> None:
        """Have a line written soon. Never waits."""
        with self._changed:
            if self._closed or self._size + len(line) > self._most:
                self._drop(1)
                return
            self._waiting.append(line)
            self._size += len(line)
            self._wake()

    def reopen(self) -> None:
        """Go on in a file opened anew: the other one was moved away. Raises OSError; then the old one stays."""
        if isinstance(self._path, int):
            return
        descriptor = _opened(self._path, os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        with self._changed:
            if self._closed:
                os.close(descriptor)
                return
            self._waiting.append(descriptor)
            self._wake()

    def close(self, seconds: float = 2.0) -> None:
        """Write what waits, for so long at most. Later lines are dropped."""
        with self._changed:
            self._closed = True
            self._ending.set()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                with self._changed:
                    self._drop(sum(isinstance(chunk, bytes) for chunk in self._waiting))
                    self._waiting.clear()
                return  # it hangs in a write, and ends with the process
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _drop(self, count: int) -> None:
        self.dropped += count
        self._unsaid += count

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="log", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
            self._ending.wait(_PAUSE)  # others follow: fewer switches between threads
            with self._changed:
                said, lines = self._next_batch()
            batch = b"".join(lines)
            written = _write(self._descriptor, batch)
            if written:
                self._torn = batch[written - 1 : written] != b"\n"
            if written < len(batch):
                with self._changed:
                    self._missed(said, lines, written)

    def _missed(self, said: int, lines: list[bytes], written: int) -> None:
        """Count the lines that are not whole in the file; the first one may be ours, about so many others.

        One that lacks only its end gets that with the next one.
        """
        missing = [end - 1 > written for end in accumulate(map(len, lines))]
        if said:
            self._unsaid += said if missing.pop(0) else 0
        self._drop(sum(missing))

    def _next_batch(self) -> tuple[int, list[bytes]]:
        """Take lines for one write. The first one is about as many others that are missing, if any are."""
        lines: list[bytes] = []
        size = 0
        while self._waiting and size < _BATCH:
            chunk = self._waiting[0]
            if isinstance(chunk, int):
                if lines:
                    break
                os.close(self._descriptor)
                self._descriptor, self._torn = chunk, False
            else:
                lines.append(chunk)
                size += len(chunk)
            self._waiting.popleft()
        self._size -= size
        said = 0
        if self._unsaid and lines:
            said, self._unsaid = self._unsaid, 0
            lines.insert(0, self._lost(said))
        if self._torn and lines:
            lines[0] = b"\n" + lines[0]
        return said, lines


def _opened(path: str | Path, more: int = 0) -> int:
    flags = os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | more
    if stat.S_ISFIFO(_mode(path)):
        # Who opens a pipe for reading as well waits for no reader, and does not fail when the last one goes.
        with contextlib.suppress(PermissionError):
            return os.open(path, os.O_RDWR | flags, 0o600)
    return os.open(path, os.O_WRONLY | flags, 0o600)


def _mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _write(descriptor: int, data: bytes) -> int:
    """Write, and return how many bytes: fewer where the disk is full."""
    written = 0
    with contextlib.suppress(OSError):
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])
    return written


REDACTED = "[redacted]"

_SECRET_NAME = re.compile(
    r"key|token|secret|passw|pwd|auth|credential|signature|session|cookie|jwt|otp|cvc|cvv|card_?number"
    r"|(^|\[)(card|number|pan|pin|sig|code)(\]|$)",
    re.IGNORECASE,
)
"""Parameter names whose values are never written."""

_SECRET_VALUE = re.compile(
    r"""
      (?<![A-Za-z0-9]) (?: sk | rk | pk | tok | whsec | ek | gh[oprsu] | github_pat | glpat | xox[abprs] )
          [-_] [A-Za-z0-9_\-]{3,}                                                   # prefixed keys and tokens
    | (?<![A-Za-z0-9_]) [A-Za-z0-9_]+? _secret_ [A-Za-z0-9]+                          # pi_..._secret_...
    | \b (?: bearer | basic ) (?: \s | %20 | \+ )+ [A-Za-z0-9._~+/=\-]+
    | \b eyJ [A-Za-z0-9_\-]+ \. [A-Za-z0-9_\-]+ (?: \. [A-Za-z0-9_\-]* )?          # JSON Web Tokens
    | \b AKIA [A-Z0-9]{12,}
    """,
    re.IGNORECASE | re.VERBOSE,
)

_DIGITS = re.compile(r"(?<!\d)\d(?:(?:[ +\-]|%20)?\d){12,18}(?!\d)")

_RANDOM_SEGMENT = re.compile(
    r"(?<![^/:])(?![a-z]{2,12}_)(?=[\w-]{0,200}[a-z])(?=[\w-]{0,200}[A-Z])(?=[\w-]{0,200}\d)[A-Za-z0-9_-]{24,}(?![^/:?])"
)
"""Of a path, a segment or the end of one that is a token, as in webhooks of Slack and Discord and bots of Telegram.

Letters of both cases with digits among them. A word before them (`ch_1Nir...`) says that it is the name of a thing.
"""

_OPEN = frozenset({"intent_disambiguation", "confidence_signal"})
"""Types of feedback that leave it to the caller what to send."""


def is_secret(name: str) -> bool:
    """Whether what stands under this name is never written, however often the name was escaped."""
    return _SECRET_NAME.search(plain(name)) is not None or is_secret_parameter(name)


TOOL: Final = "TOOL"
"""The method of an entry about the call of a tool, whose name is the path and the operation."""


class Verdict(StrEnum):
    """What became of an exchange."""

    SUCCESS = "success"
    CORRECTED = "corrected"
    ASKED = "asked"
    """The caller has to give a value, to choose, or to decide anew."""
    WAIT = "wait"
    FINAL = "final"
    """No retry of the caller's helps: it is done already, somebody else must act, or there is no way."""
    DIAGNOSED = "diagnosed"
    """By the modes that show no correction."""
    UNCHANGED = "unchanged"
    FAILED = "failed"
    """The upstream did not answer."""
    GONE = "gone"
    """The caller did not wait for an answer."""


@record
class Entry:
    """One exchange, when it is over."""

    time: float
    """Unix seconds when the request came in."""
    id: str
    method: str
    path: str
    """Path and query as sent: redacted when written, not before."""
    status: int | None
    """What the upstream answered; None where it did not."""
    outcome: str
    """`annotated`, `diagnosed` (mode verbose), `blanked` (traditional), `untouched`, or `failed` (no answer)."""
    milliseconds: float
    operation: str | None = None
    rules: tuple[str, ...] = ()
    reason: str | None = None
    error: str | None = None
    lookups: int = 0
    feedback: Mapping[str, Any] | None = field(default=None)
    """Only its verdict, its actions and the loop it is part of are written, never its values."""
    code: str | None = None
    """The status of a gRPC call, by name; of the call of a tool the code of JSON-RPC, or `isError`."""
    correction: float | None = None
    """Seconds between a refusal and what was decided about it, look-ups included; None where nothing was decided."""
    failure: str | None = None
    """What was wrong with the upstream, where it gave no answer. None with the outcome `failed`: the caller left."""

    traceparent: str | None = None
    """The trace that the caller belongs to (W3C Trace Context), as it was sent."""
    api: str = ""
    """What the API is called. Empty where a request is for none."""

    @property
    def verdict(self) -> Verdict:
        """What became of the exchange, in one word."""
        if self.failure is not None:
            return Verdict.FAILED
        if self.outcome == "failed":
            return Verdict.GONE
        if self.outcome == "untouched":
            return Verdict.UNCHANGED if self.status is None or self.status >= 400 or self.error else Verdict.SUCCESS
        if self.outcome != "annotated":
            return Verdict.DIAGNOSED
        feedback = self.feedback or {}
        if feedback.get("recovery") == "terminal":
            return Verdict.FINAL
        if feedback.get("recovery") == "transient":
            return Verdict.WAIT
        suggestions: Sequence[Mapping[str, Any]] = feedback.get("suggestions") or ({},)
        # A confidence signal says to decide anew what to send: no edit is known to be right.
        if feedback.get("type") in _OPEN or suggestions[0].get("placeholders"):
            return Verdict.ASKED
        return Verdict.CORRECTED

    def document(self) -> dict[str, Any]:
        """Return what is written: a fixed order of members, and nothing secret."""
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds"),
            "id": self.id,
            "method": self.method,
            "path": redact_target(self.path),
            "operation": self.operation,
            "status": self.status,
            "outcome": self.outcome,
            "rules": list(self.rules),
            "reason": redact(self.reason) if self.reason else None,
            "error": redact(self.error) if self.error else None,
            "lookups": self.lookups,
            "ms": round(self.milliseconds, 3),
        }
        if self.api:
            document["api"] = self.api
        if self.code is not None:
            document["code"] = self.code
        if self.correction is not None:
            document["correction_ms"] = round(self.correction * 1000, 3)
        if self.feedback is not None:
            suggestions = self.feedback.get("suggestions") or ()
            document["recovery"] = self.feedback.get("recovery")
            document["actions"] = [suggestion.get("action") for suggestion in suggestions]
            if "loop" in self.feedback:
                document["loop"] = self.feedback["loop"]
        return document


class AccessLog:
    """An append-only file of JSON lines. Lines that cannot be written are dropped, counted and reported in one line."""

    def __init__(self, path: str | Path) -> None:
        """Open the file for appending. Raises OSError where that is impossible: now, not on live traffic."""
        self._file = LogFile(path, _dropped_line)
        self._unsayable = 0

    @property
    def dropped(self) -> int:
        """How many lines could not be written."""
        return self._file.dropped + self._unsayable

    def write(self, entry: Entry) -> None:
        """Append one line, soon."""
        try:
            self._file.write(_line(entry.document()))
        except Exception:  # whatever it is, the exchange it describes must not suffer
            self._unsayable += 1

    def reopen(self) -> None:
        """Go on in a new file of the same name. Raises OSError where there can be none; then the old one stays."""
        self._file.reopen()

    def close(self) -> None:
        """Write what waits, for a moment at most, and close the file; later entries are dropped and counted."""
        self._file.close()


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _dropped_line(count: int) -> bytes:
    return _line({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "dropped": count})


_LONGEST = 2048
"""Characters of a text that are written."""


def redact(text: str) -> str:
    """Return the text, its beginning at least, without keys, tokens, bearer credentials, client secrets and cards."""
    clean = _DIGITS.sub(_unless_a_card, _SECRET_VALUE.sub(REDACTED, text[:_LONGEST]))
    return clean if len(text) <= _LONGEST else f"{clean}..."


def redact_target(target: str) -> str:
    """Return a path and query without values that are or look secret, and without the names of kept documents."""
    if target.startswith(DOCUMENTS):
        return f"{DOCUMENTS}{REDACTED}"
    path, mark, query = target[:_LONGEST].partition("?")
    clean = redact(_RANDOM_SEGMENT.sub(REDACTED, _PATH_PARAMETER.sub(_path_parameter, path)))
    if "%" in clean:
        clean = "/".join(map(_value, clean.split("/")))
    if mark:
        clean += "?" + "&".join(map(_pair, query.split("&")))
    return clean + ("..." if len(target) > _LONGEST else "")


_PATH_PARAMETER = re.compile(r";([^/;=]*)=([^/;]*(?:;[^/;=]*(?=[/;]|$))*)")
"""Of a segment, `;name=value`; what follows without a name of its own belongs to the value."""


def _path_parameter(match: re.Match[str]) -> str:
    return f";{match[1]}={REDACTED}" if match[2] and is_secret(match[1]) else match[0]


def _pair(pair: str) -> str:
    """Return a pair of a query. Some servers take `;` for a separator as well: what follows a secret belongs to it."""
    out = []
    for part in pair.split(";"):
        name, equals, value = part.partition("=")
        if equals and value and is_secret(name):
            out.append(f"{name}={REDACTED}")
            break
        out.append(_value(part))
    return ";".join(out)


def _value(text: str) -> str:
    clean = redact(text)
    if "%" not in text or clean != text:
        return clean
    plain = unquote_plus(text)
    return text if redact(plain) == plain else text[: text.find("=") + 1] + REDACTED


def _unless_a_card(match: re.Match[str]) -> str:
    digits = [int(digit) for digit in match[0].replace("%20", "") if digit.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return REDACTED if (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 else match[0]


_OUTCOME_WORDS = {Mode.REFLECTIVE: "annotated", Mode.VERBOSE: "diagnosed", Mode.TRADITIONAL: "blanked"}


def with_outcome(entry: Entry, outcome: Outcome[Any] | None, *, reason: str | None = None) -> Entry:
    """Return the entry with what was decided. Without an outcome, `reason` says why there is none."""
    if outcome is None:
        return replace(entry, reason=reason)
    changed = outcome.rewrite is not None and entry.error is None
    return replace(
        entry,
        outcome=_OUTCOME_WORDS.get(outcome.mode, entry.outcome) if changed else entry.outcome,
        operation=outcome.operation or None,
        rules=tuple(outcome.rules),
        reason=outcome.reason or None,
        error=entry.error or outcome.error,
        feedback=outcome.feedback,
    )
