"""Compares two runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.record import Entry, Record

from .plain import one_line


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
