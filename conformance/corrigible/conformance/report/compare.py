"""Compares two runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.report.terminal import one_line
from corrigible.conformance.suite.record import Entry, Record
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


def render(comparison: Comparison, before: Record, after: Record) -> str:
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
