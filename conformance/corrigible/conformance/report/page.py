"""A self-contained HTML page about a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import jinja2
from markupsafe import Markup, escape

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.report.terminal import difference, visible
from corrigible.conformance.suite.record import SLOW, Clause, Entry, Record, Score, Standing, score, standings
from corrigible.conformance.suite.requirement import LEVEL_NAMES, LEVELS

_TONES: Final = {
    "passed": "met",
    "failed": "broken",
    "advised": "advice",
    Outcome.PASSED_UNEXPECTEDLY.value: "broken",
    Outcome.FAILED_AS_EXPECTED.value: "unknown",
    Outcome.NOT_RUN.value: "unknown",
}
_WORD: Final = {Standing.MET: "met", Standing.BROKEN: "broken", Standing.UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One level of one column."""

    must: Score
    should: Score
    state: str


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement, and how it came out in each column."""

    clause: Clause
    cells: tuple[tuple[str, str | None], ...]
    """A state, and the check to read about it where it is bad."""
    checks: tuple[str, ...]

    @property
    def state(self) -> str:
        """The worst of them."""
        states = {state for state, _ in self.cells}
        return next((state for state in ("broken", "unknown", "advice", "met") if state in states), "none")


def html(template: str, filters: Mapping[str, Callable[..., object]], **context: object) -> str:
    """Return a page of conformance, by the path of its template. Every text that is put into it is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("corrigible.conformance", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(context)


def render(record: Record) -> str:
    """Return the page. Everything in it that a subject said is escaped, and shown where it is not visible."""
    columns = list(dict.fromkeys(entry.column for entry in record.entries))
    return html(
        "report/page.html.jinja",
        {"visible": visible, "coded": _coded},
        record=record,
        head=record.head,
        tones=_TONES,
        foot=record.foot,
        columns=columns,
        matrix=[
            (level, LEVEL_NAMES[level], [_cell(record, level, column) for column in columns])
            for level in LEVELS[: LEVELS.index(record.head.level) + 1]
        ],
        groups=list(_groups(record, columns)),
        failures=[entry for entry in record.entries if entry.outcome is Outcome.FAILED and not entry.advice],
        surprises=[entry for entry in record.entries if entry.outcome is Outcome.PASSED_UNEXPECTEDLY],
        advice=[entry for entry in record.entries if entry.advice],
        announced=[entry for entry in record.entries if entry.outcome is Outcome.FAILED_AS_EXPECTED],
        not_run=_by_reason(record, Outcome.NOT_RUN),
        not_applicable=_by_reason(record, Outcome.NOT_APPLICABLE),
        slow=[entry for entry in record.entries if entry.seconds >= SLOW],
        passed=[entry for entry in record.entries if entry.outcome is Outcome.PASSED],
        difference=lambda flaw: difference(*flaw.sides),
    )


def _coded(text: str) -> Markup:
    """Set what stands between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else p for n, p in enumerate(parts))


def _cell(record: Record, level: str, column: str) -> Cell:
    clauses = [clause for clause in record.head.clauses if clause.level == level]
    entries = [entry for entry in record.entries if entry.column == column]
    must, should = (score(clauses, entries, must=must) for must in (True, False))
    mine = standings(entries).get(column, {})
    states = {mine[clause.id] for clause in clauses if clause.must and clause.id in mine}
    if Standing.BROKEN in states:
        state = "broken"
    elif Standing.UNKNOWN in states:
        state = "unknown"
    elif must.judged + should.judged == 0:
        state = "none"
    else:
        state = "advice" if should.met < should.judged else "met"
    return Cell(must, should, state)


def _groups(record: Record, columns: list[str]) -> Iterator[tuple[str, list[Row]]]:
    found = standings(record.entries)
    checks: dict[str, list[str]] = {}
    for entry in record.entries:
        for requirement in entry.requirements:
            checks.setdefault(requirement, []).append(entry.check)
    rows: dict[str, list[Row]] = {}
    for clause in record.head.clauses:
        if clause.id not in checks:
            continue
        states = [_state(clause, found.get(column, {}).get(clause.id)) for column in columns]
        cells = tuple(
            (state, _first_failure(record, clause, column)) for state, column in zip(states, columns, strict=True)
        )
        row = Row(clause, cells, tuple(dict.fromkeys(checks[clause.id])))
        rows.setdefault(clause.group or clause.id.rpartition("-")[0], []).append(row)
    yield from rows.items()


def _first_failure(record: Record, clause: Clause, column: str) -> str | None:
    """Return the first check of a column in which a requirement broke."""
    bad = (entry for entry in record.entries if entry.column == column)
    return next((entry.name for entry in bad if any(flaw.requirement == clause.id for flaw in entry.flaws)), None)


def _state(clause: Clause, standing: Standing | None) -> str:
    if standing is None:
        return "none"
    return "advice" if standing is Standing.BROKEN and not clause.must else _WORD[standing]


def _by_reason(record: Record, outcome: Outcome) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in record.entries:
        if entry.outcome is outcome:
            groups.setdefault(entry.reason or "", []).append(entry)
    return groups
