"""What a person at a terminal sees: the failures of a run with what is known of them, its progress, two runs compared.

Texts of servers are made visible: no character of theirs moves the cursor.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from textwrap import fill, indent
from typing import Final

from corrigible.conformance.model.background import repeated_beside
from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.record import SLOW, Entry, Record, Verdict
from corrigible.conformance.suite.requirement import rendered
from corrigible.conformance.validators.finding import Absent
from corrigible.schema.exchange import Json

_LONGEST: Final = 40
_WIDEST: Final = 2000
_ONE_LINE: Final = 100


def difference(expected: Json | Absent, actual: Json | Absent) -> list[str]:
    """Return the lines of a small diff. Long equal stretches are left out; short values stand one above the other."""
    if isinstance(expected, Absent) and isinstance(actual, Absent):
        return []
    if isinstance(expected, Absent):
        return _cut([f"+ {line}" for line in _cut_lines(actual)])
    if isinstance(actual, Absent):
        return _cut([*(f"- {line}" for line in _cut_lines(expected)), "+ (nothing)"])
    left, right = _cut_lines(expected), _cut_lines(actual)
    if left == right:  # equal as text and yet a finding: the kinds differ, as 1 and "1" do
        left, right = [json.dumps(expected)], [json.dumps(actual)]
    if len(left) == len(right) == 1:
        return _cut([f"- {left[0]}", f"+ {right[0]}"])
    compared = list(difflib.unified_diff(left, right, n=2, lineterm=""))[2:]
    return _cut([line if line.startswith("@@") else f"{line[0]} {line[1:]}" for line in compared])


def _cut_lines(value: Json | Absent) -> list[str]:
    if isinstance(value, str):
        return value.split("\n") if value.strip() == value and value else [json.dumps(value, ensure_ascii=False)]
    short = json.dumps(value, ensure_ascii=False)
    if len(short) <= _ONE_LINE:
        return [short]
    return json.dumps(value, ensure_ascii=False, indent=2).split("\n")


def _cut(lines: list[str]) -> list[str]:
    shown_lines = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]}..." for line in lines[:_LONGEST]]
    return [*shown_lines, f"... {len(lines) - _LONGEST} lines more"] if len(lines) > _LONGEST else shown_lines


@dataclass(frozen=True, slots=True)
class Comparison:
    """Checks by what became of them, each with a line about it."""

    newly_failing: tuple[str, ...]
    fixed: tuple[str, ...]
    removed: tuple[str, ...]
    new: tuple[str, ...]
    otherwise: tuple[str, ...]
    """The outcome is another one, and neither better nor worse: advice that is followed, what could not run."""

    @property
    def worse(self) -> bool:
        return bool(self.newly_failing)


def compare(before: Record, after: Record) -> Comparison:
    """Compare by check and profile, whatever the order."""
    old = {entry.name: entry for entry in before.entries}
    new = {entry.name: entry for entry in after.entries}
    common = [name for name in new if name in old]
    return Comparison(
        newly_failing=tuple(
            [_line(new[name], old[name]) for name in common if _fails(new[name]) and not _fails(old[name])]
            + [_line(entry) for name, entry in new.items() if name not in old and _fails(entry)]
        ),
        fixed=tuple(_line(new[name], old[name]) for name in common if _fails(old[name]) and new[name].outcome.ok),
        removed=tuple(_line(entry) for name, entry in old.items() if name not in new),
        new=tuple(_line(entry) for name, entry in new.items() if name not in old and not _fails(entry)),
        otherwise=tuple(
            _line(new[name], old[name])
            for name in common
            if _outcome_word(new[name]) != _outcome_word(old[name])
            and not _fails(new[name])
            and not (_fails(old[name]) and new[name].outcome.ok)
        ),
    )


def render_comparison(comparison: Comparison, before: Record, after: Record) -> str:
    """Return what is printed."""
    return "\n".join(_lines(comparison, before, after)) + "\n"


def _lines(comparison: Comparison, before: Record, after: Record) -> Iterator[str]:
    for field in fields(comparison):
        names: tuple[str, ...] = getattr(comparison, field.name)
        if names:
            yield f"{field.name.replace('_', ' ')}: {len(names)}"
            yield from (f"  {line}" for line in names)
    if not any(getattr(comparison, field.name) for field in fields(comparison)):
        yield "no check came out differently"
    yield f"before: {before.foot.verdict.value}: {before.foot.claim}"
    yield f"after:  {after.foot.verdict.value}: {after.foot.claim}"


def _fails(entry: Entry) -> bool:
    return entry.outcome in (Outcome.FAILED, Outcome.PASSED_UNEXPECTEDLY) and not entry.advice


def _outcome_word(entry: Entry) -> str:
    return "advice" if entry.advice else entry.outcome.value


def _line(entry: Entry, before: Entry | None = None) -> str:
    was = f"{_outcome_word(before)} -> " if before is not None else ""
    reason = f"  {entry.flaws[0].requirement}: {one_line(entry.flaws[0].message, 120)}" if entry.flaws else ""
    return f"{entry.name}  {was}{_outcome_word(entry)}{reason}"


_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """Return text with every control, bidi, zero-width and XML-illegal character written out as its number."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def one_line(text: str, longest: int = 300) -> str:
    """Return text on one line, cut where it gets long."""
    line = " ".join(visible(text).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


EVERY: Final = 5.0
"""Seconds between two lines. A run that takes less says nothing."""


@contextmanager
def progress(total: int, *, every: float = EVERY) -> Iterator[Callable[[Entry], None]]:
    """Hand out a function that is told of every check that ended."""
    shown = _bar(total) if sys.stderr.isatty() and not os.environ.get("CI") else _terminal_lines(total, every)
    with shown as heard:
        yield heard


def _failed(entry: Entry) -> bool:
    return entry.bad and not entry.advice and entry.outcome is not Outcome.NOT_RUN


@contextmanager
def _terminal_lines(total: int, every: float) -> Iterator[Callable[[Entry], None]]:
    """Say how far it is from time to time, also while one check takes long."""
    began = time.monotonic()
    done = failed = 0
    last = ""

    def heard(entry: Entry) -> None:
        nonlocal done, failed, last
        done, failed, last = done + 1, failed + _failed(entry), entry.name

    def print_progress() -> None:
        after = f", the last one {last}" if last else ""
        sentence = f"{time.monotonic() - began:5.0f} s  {done} of {total} checks, {failed} failed{after}"
        with suppress(OSError, ValueError):  # nobody reads it any more
            print(sentence, file=sys.stderr, flush=True)

    with repeated_beside(print_progress, first=every, every=every, name="progress"):
        yield heard


@contextmanager
def bar(total: int, begins: str = "starting") -> Iterator[Callable[[int, str], None]]:
    """Show a bar on standard error, and hand out a function that is told how many are done, and what to say."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    said = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), said)
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(begins, total=total)
        yield lambda done, text: shown.update(task, completed=done, description=text)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Entry], None]]:
    done = failed = 0
    with bar(total) as update:

        def heard(entry: Entry) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + _failed(entry)
            update(done, f"{failed} failed  {entry.name}" if failed else entry.name)

        yield heard


_WIDTH: Final = 100
_COLOURS: Final = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def render(record: Record, *, coloured: bool = False) -> str:
    """Return what is printed at the end of a run."""
    foot, bad = record.foot, [entry for entry in record.entries if entry.bad and entry.outcome is not Outcome.NOT_RUN]

    def paint(text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if coloured else text

    text = rendered(
        "report/run.txt.jinja",
        {
            "paint": paint,
            "visible": visible,
            "one_line": one_line,
            "fill": _filled,
            "lines": indent,
            "with_requirements": lambda entry: f"{entry.name} ({', '.join(_requirements(entry))})",
        },
        record=record,
        failures=list(_alike(sorted(bad, key=lambda entry: entry.advice))),
        difference=lambda flaw: difference(*flaw.sides),
        places=lambda entry: filter(None, dict.fromkeys(record.clause(one).where for one in _requirements(entry))),
        stopped=[
            ("NOT RUN", by_reason(record, Outcome.NOT_RUN)),
            ("NOT APPLICABLE", by_reason(record, Outcome.NOT_APPLICABLE)),
        ],
        slow=[entry for entry in record.entries if entry.seconds >= SLOW],
        counts=[f"{count} {word}" for word, count in foot.counts.items() if count or word in ("passed", "failed")],
        colour={Verdict.CONFORMS: "green", Verdict.DOES_NOT: "red"}.get(foot.verdict, "yellow"),
    )
    return f"{text}\n"


def _requirements(entry: Entry) -> list[str]:
    return list(dict.fromkeys(flaw.requirement for flaw in entry.flaws))


def _filled(text: str, begin: str = "", *, hyphens: bool = False) -> str:
    """Return text in lines of a terminal."""
    return fill(text, _WIDTH, initial_indent=begin, subsequent_indent="      ", break_on_hyphens=hyphens)


def _alike(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Group equal entries: a subject that never gives feedback fails every check about feedback in the same way."""
    groups: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        sentences = tuple(flaw.message for flaw in entry.flaws) or (entry.name,)
        groups.setdefault((entry.outcome, entry.advice, *sentences), []).append(entry)
    yield from groups.values()


def by_reason(record: Record, outcome: Outcome) -> dict[str, list[Entry]]:
    """Return the checks of an outcome by the reason that stopped them."""
    groups: dict[str, list[Entry]] = {}
    for entry in record.entries:
        if entry.outcome is outcome:
            groups.setdefault(entry.reason or "", []).append(entry)
    return groups
