"""The reports of a run as files: the record while it grows, a page, and documents for other programs.

JUnit for CI, SARIF for code scanning, Markdown for a pull request, an endpoint document for a badge.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from markupsafe import Markup, escape

from corrigible.conformance.model.outcome import Outcome, UsageError, did_you_mean, usable
from corrigible.conformance.report.terminal import by_reason, difference, one_line, visible
from corrigible.conformance.suite.record import (
    SLOW,
    Clause,
    Entry,
    Footer,
    Header,
    Record,
    RecordedFinding,
    Score,
    Standing,
    Verdict,
    level_text,
    line,
    lines,
    score,
    standings,
)
from corrigible.conformance.suite.requirement import LEVEL_NAMES, LEVELS, rendered
from corrigible.schema.exchange import Json

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
    return rendered(template, filters, escaped=True, **context)


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
        not_run=by_reason(record, Outcome.NOT_RUN),
        not_applicable=by_reason(record, Outcome.NOT_APPLICABLE),
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


_COLOURS: Final = {Verdict.CONFORMS: "brightgreen", Verdict.DOES_NOT: "red"}


def badge(record: Record) -> str:
    head, foot = record.head, record.foot
    message = f"{level_text(head, record.entries)} {head.scope}"
    if foot.verdict is Verdict.DOES_NOT:
        message = foot.verdict.value
    badge = {
        "schemaVersion": 1,
        "label": head.contract,
        "message": message,
        "color": _COLOURS.get(foot.verdict, "lightgrey"),
    }
    return json.dumps(badge) + "\n"


def junit(record: Record) -> str:
    head = record.head
    text = html(
        "report/run.xml.jinja",
        {"visible": visible, "one_line": one_line},
        record=record,
        head=head,
        foot=record.foot,
        columns=list(dict.fromkeys(entry.column for entry in record.entries)),
        properties={
            "subject": head.subject,
            "suite": head.suite,
            "level": head.level,
            "seed": str(head.seed),
            "verdict": record.foot.verdict.value,
            "claim": record.foot.claim,
            **{f"pack:{pack}": digest for pack, digest in head.packs.items()},
        },
        numbers=_numbers,
        kind=_kind,
        reason=_reason,
        text=lambda entry: "\n".join(_text(record, entry)),
    )
    return f"{text}\n"


def _numbers(entries: Sequence[Entry]) -> dict[str, str]:
    kinds = [_kind(entry) for entry in entries]
    return {
        "tests": str(len(entries)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{sum(entry.seconds for entry in entries):.3f}",
    }


def _kind(entry: Entry) -> str | None:
    match entry.outcome:
        case Outcome.PASSED:
            return None
        case Outcome.FAILED:
            return None if entry.advice else "failure"
        case Outcome.PASSED_UNEXPECTEDLY:
            return "failure"
        case Outcome.FAILED_AS_EXPECTED | Outcome.NOT_APPLICABLE | Outcome.NOT_RUN:
            return "skipped"


def _reason(entry: Entry) -> str:
    if entry.outcome in (Outcome.NOT_RUN, Outcome.NOT_APPLICABLE):
        return f"{entry.outcome.value}: {entry.reason}"
    if entry.outcome is Outcome.FAILED_AS_EXPECTED and entry.known is not None:
        return f"failed as expected: {entry.known.reason}"
    if entry.outcome is Outcome.PASSED_UNEXPECTEDLY:
        return Outcome.PASSED_UNEXPECTEDLY.value
    return entry.reason or (f"{entry.flaws[0].requirement}: {entry.flaws[0].message}" if entry.flaws else entry.title)


def _text(record: Record, entry: Entry) -> list[str]:
    lines = [entry.title]
    for flaw in entry.flaws:
        clause = record.clause(flaw.requirement)
        lines += ["", f"{clause.id} ({clause.level}): {clause.text}", flaw.message, *difference(*flaw.sides)]
        lines += [f"at: {flaw.place}"] if flaw.place else []
        lines += [f"again: {flaw.line}"] if flaw.line else []
        lines += [f"read: {clause.where}"] if clause.where else []
    again = record.head.again(entry) if entry.bad else None
    return [*lines, *([entry.reason] if entry.reason else []), *([f"trace: {again}"] if again else [])]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@-])")
_MARK = {Standing.MET: "holds", Standing.BROKEN: "**broken**", Standing.UNKNOWN: "not run"}


def markdown(record: Record) -> str:
    found = standings(record.entries)
    not_met = {id for each in found.values() for id, standing in each.items() if standing is not Standing.MET}
    return rendered(
        "report/run.md.jinja",
        {"escaped": escaped, "fenced": _fenced},
        record=record,
        head=record.head,
        foot=record.foot,
        counts=[f"{number} {word}" for word, number in record.foot.counts.items() if number],
        found=found,
        not_met=[clause for clause in record.head.clauses if clause.id in not_met],
        marks=_MARK,
        difference=lambda flaw: difference(*flaw.sides),
        not_run=by_reason(record, Outcome.NOT_RUN),
        not_applicable=by_reason(record, Outcome.NOT_APPLICABLE),
        slow=[entry for entry in record.entries if entry.seconds >= SLOW],
        announced=[entry for entry in record.entries if entry.outcome is Outcome.FAILED_AS_EXPECTED],
    )


def escaped(text: str) -> str:
    """Return one line that Markdown shows as it is: no links, no tags, no mentions."""
    return _SPECIAL.sub(r"\\\1", one_line(text)).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\@", "&#64;")


def _fenced(text: str, language: str = "", margin: str = "") -> str:
    """Return lines in a fence longer than any in them, so that the text cannot end it."""
    lines = visible(text).splitlines()
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join(margin + line for line in (f"{fence}{language}", *lines, fence))


SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(record: Record) -> str:
    failed_entries = [entry for entry in record.entries if entry.flaws]
    used = list(dict.fromkeys(flaw.requirement for entry in failed_entries for flaw in entry.flaws))
    index = {requirement: number for number, requirement in enumerate(used)}
    failed = [entry for entry in record.entries if entry.outcome is Outcome.NOT_RUN]
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "conformance",
                "semanticVersion": record.head.suite,
                "rules": [_rule(record, requirement) for requirement in used],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not failed,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": visible(f"{entry.name} not run: {entry.reason}")}}
                    for entry in failed
                ],
            }
        ],
        "results": [_result(record, entry, flaw, index) for entry in failed_entries for flaw in entry.flaws],
        "properties": {"claim": record.foot.claim, "verdict": record.foot.verdict.value, "level": record.foot.level},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(record: Record, requirement: str) -> Json:
    clause = record.clause(requirement)
    return {
        "id": clause.id,
        "shortDescription": {"text": clause.title or clause.id},
        "fullDescription": {"text": clause.text or clause.title or clause.id},
        "help": {"text": f"{clause.why} Read {clause.where}.".strip()},
        "defaultConfiguration": {"level": "error" if clause.must else "warning"},
        "properties": {"tags": [clause.level, clause.weight, clause.group]},
    }


def _result(record: Record, entry: Entry, flaw: RecordedFinding, index: dict[str, int]) -> Json:
    clause = record.clause(flaw.requirement)
    lines = [flaw.message, *difference(*flaw.sides)]
    lines += [f"{word}: {said}" for word, said in (("at", flaw.place), ("again", flaw.line)) if said]
    text = "\n".join([*lines, *([f"trace: {again}"] if (again := record.head.again(entry)) else [])])
    # What a flaw says can hold a port or a number that differs from run to run, so it is no part of its identity.
    identity = hashlib.sha256(f"{entry.name} {flaw.requirement}".encode()).hexdigest()
    result: dict[str, Json] = {
        "ruleId": flaw.requirement,
        "ruleIndex": index[flaw.requirement],
        "level": "error" if clause.must and not entry.advice else "warning",
        "message": {"text": visible(text)},
        "locations": [
            {
                # Pages that show SARIF want a file: the clause is the one there is.
                "physicalLocation": {
                    "artifactLocation": {"uri": clause.where.partition("#")[0] or "SPEC.md"},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": entry.name, "kind": "member"}],
            }
        ],
        "partialFingerprints": {"check/v1": identity},
    }
    if entry.outcome is Outcome.FAILED_AS_EXPECTED and entry.known is not None:
        result["suppressions"] = [{"kind": "external", "justification": entry.known.reason}]
    return result


class Growing:
    """The files of `--report json=FILE`. A context manager."""

    def __init__(self, reports: Iterable[Wanted], head: Header) -> None:
        self._wanted = [report for report in reports if report.kind == "json"]
        self._head = head
        self._files: list[tuple[Wanted, TextIO]] = []

    def __enter__(self) -> Growing:
        for report in self._wanted:
            with usable(report):
                self._files.append((report, report.path.open("w", encoding="utf-8")))
        self.add(self._head)
        return self

    def __exit__(self, *_: object) -> None:
        for _, file in self._files:
            file.close()

    def add(self, one: Header | Entry | Footer) -> None:
        """Write a line, and let nothing of it wait in a buffer."""
        for wanted, file in self._files:
            with usable(wanted):
                file.write(line(one))
                file.flush()


RENDER: Final[Mapping[str, Callable[[Record], str]]] = {
    "json": lambda record: "".join(lines(record)),
    "html": render,
    "junit": junit,
    "sarif": sarif,
    "md": markdown,
    "badge": badge,
}


class Wanted(NamedTuple):
    """One report and its file."""

    kind: str
    path: Path

    def __str__(self) -> str:
        return f"--report {self.kind}={self.path}"


def wanted(arguments: Iterable[str]) -> list[Wanted]:
    """Read `junit=FILE,html=FILE`. Raises UsageError where a kind is unknown or a file cannot be there."""
    reports: list[Wanted] = []
    for argument in arguments:
        for part in argument.split(","):
            kind, _, file = part.strip().partition("=")
            if kind not in RENDER:
                choices = f"{did_you_mean(kind, RENDER)} ({', '.join(RENDER)})"
                raise UsageError(f'--report {part}: no report is called "{kind}"{choices}')
            if not file:
                raise UsageError(f"--report {part}: say where to: {kind}=FILE")
            reports.append(Wanted(kind, Path(file)))
    for kind, path in reports:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UsageError(f"--report {kind}={path}: no file can be written there")
    return reports


def write(record: Record, reports: Iterable[Wanted]) -> None:
    """Write reports. Raises UsageError where a file cannot be written."""
    for report in reports:
        with usable(report):
            report.path.write_text(RENDER[report.kind](record), encoding="utf-8")
