"""A Markdown report, for a job's summary or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.record import SLOW, Entry, Record, Standing, standings

from .difference import difference
from .plain import one_line, visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@-])")
_MARK = {Standing.MET: "holds", Standing.BROKEN: "**broken**", Standing.UNKNOWN: "not run"}


def render(record: Record) -> str:
    """Return the document."""
    return "\n".join(_lines(record)) + "\n"


def escaped(text: str) -> str:
    """Return one line that Markdown shows as it is: no links, no tags, no mentions."""
    return _SPECIAL.sub(r"\\\1", one_line(text)).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\@", "&#64;")


def _lines(record: Record) -> Iterator[str]:
    head, foot = record.head, record.foot
    yield f"# {escaped(head.subject)}: {foot.verdict.value}"
    yield ""
    yield f"`{foot.claim}`"
    yield ""
    yield ", ".join(f"{number} {word}" for word, number in foot.counts.items() if number)
    yield ""
    yield from _matrix(record)
    for entry in record.entries:
        if entry.bad and entry.outcome is not Outcome.NOT_RUN:
            yield from _failure_lines(record, entry)
    for outcome in (Outcome.NOT_RUN, Outcome.NOT_APPLICABLE):
        yield from _by_reason(record, outcome)
    if slow := [entry for entry in record.entries if entry.seconds >= SLOW]:
        yield "\n## Slow\n"
        yield from (f"* slow: {entry.seconds:.1f} s {escaped(entry.name)}" for entry in slow)
    announced = [entry for entry in record.entries if entry.outcome is Outcome.FAILED_AS_EXPECTED]
    if announced:
        yield "\n## Failed as expected\n"
        for entry in announced:
            issue = f" ({escaped(entry.known.issue)})" if entry.known and entry.known.issue else ""
            yield f"* {escaped(entry.name)}: {escaped(entry.known.reason if entry.known else '')}{issue}"


def _by_reason(record: Record, outcome: Outcome) -> Iterator[str]:
    """Yield each reason once, with the checks that it is about."""
    reasons: dict[str, list[str]] = {}
    for entry in record.entries:
        if entry.outcome is outcome:
            reasons.setdefault(entry.reason or "", []).append(entry.name)
    if reasons:
        yield f"\n## {outcome.value.capitalize()}\n"
    for reason, names in reasons.items():
        yield f"* {', '.join(map(escaped, names))}\n"
        yield from _fenced(visible(reason).splitlines(), "", "  ")


def _matrix(record: Record) -> Iterator[str]:
    found = standings(record.entries)
    not_met = {id for each in found.values() for id, standing in each.items() if standing is not Standing.MET}
    broken = [clause for clause in record.head.clauses if clause.id in not_met]
    if not broken:
        return
    yield f"| requirement | level | {' | '.join(escaped(column) for column in found)} |"
    yield f"|---|---|{'---|' * len(found)}"
    for clause in broken:
        cells = [_MARK[each[clause.id]] if clause.id in each else "" for each in found.values()]
        yield f"| {clause.id} {escaped(clause.title)} | {clause.level} {clause.weight} | {' | '.join(cells)} |"


def _failure_lines(record: Record, entry: Entry) -> Iterator[str]:
    word = "advice" if entry.advice else entry.outcome.value
    yield f"\n## {escaped(entry.name)}: {word}\n"
    yield escaped(entry.title)
    if entry.reason:
        yield from ("", *_fenced(visible(entry.reason).splitlines(), ""))
    for flaw in entry.flaws:
        clause = record.clause(flaw.requirement)
        yield f"\n* **{clause.id}** {escaped(clause.title)}\n\n  {escaped(flaw.message)}\n"
        if compared := difference(*flaw.sides):
            yield from _fenced([visible(line) for line in compared], "diff", "  ")
        if flaw.place:
            yield f"  at {escaped(flaw.place)}\n"
        if flaw.line:
            yield from _fenced([visible(flaw.line)], "sh", "  ")

    if again := record.head.again(entry):
        yield from ("", "Run it again:\n", *_fenced([visible(again)], "sh"))


def _fenced(lines: list[str], language: str, margin: str = "") -> Iterator[str]:
    """A fence longer than any in the text, so that the text cannot end it."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{margin}{fence}{language}"
    yield from (f"{margin}{text}" for line in lines for text in line.splitlines() or [""])
    yield f"{margin}{fence}"
