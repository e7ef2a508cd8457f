"""Runs checks and keeps the record. A check that crashes is reported as not run.

Knows: checks, what was announced, how to end in time. Does not know: YAML, reports, how a subject is started.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from corrigible.conformance.model.outcome import CouldNotTell, Missing, NotApplicable, Outcome, judge
from corrigible.conformance.model.usage_error import UsageError
from corrigible.conformance.transport.http1 import curl
from corrigible.conformance.validators.finding import Absent, Finding

from .check import Check
from .config import KnownFailing
from .fixture import Fixture, RunningSubject, SubjectSpec
from .known_failing import announced
from .record import Clause, Entry, Header, Reason, Record, RecordedFinding, TraceEntry, footer
from .responsiveness import TIMEOUT, holding
from .subject import Subject

Chosen = tuple[SubjectSpec, Check]
_FIRST: Final = 20
_LAST: Final = 30


@dataclass(frozen=True, slots=True)
class Rules:
    """How outcomes are weighed."""

    clauses: Mapping[str, Clause]
    """The requirements of the level that is judged, by id. Findings about others are not this run's business."""
    known: tuple[KnownFailing, ...] = ()
    strict: bool = False
    """What SHOULD hold must."""
    check_timeout: float = 30.0
    """Seconds in which one check must end."""
    limit: float = 900.0
    """Seconds in which the run must end: what was not asked by then is not run."""
    traced: bool = False
    """The traffic of checks that passed is kept too."""


@dataclass(slots=True)
class _Box:
    """What a check that runs in a thread of its own leaves behind."""

    findings: list[Finding] = field(default_factory=list)
    problem: BaseException | None = None


def choose(specs: Iterable[SubjectSpec], checks: Iterable[Check], clauses: Mapping[str, Clause]) -> list[Chosen]:
    """Return what is asked of whom: by role, profile, and the requirements of the level."""
    held = list(checks)
    return [
        (spec, check)
        for spec in specs
        for check in held
        if spec.role in check.roles and spec.profile in check.profiles and _applicable_clauses(spec, check, clauses)
    ]


def _applicable_clauses(spec: SubjectSpec, check: Check, clauses: Mapping[str, Clause]) -> dict[str, Clause]:
    """Return the requirements that a check holds and that say something about this subject."""
    applicable = {requirement: clauses[requirement] for requirement in check.requirements if requirement in clauses}
    return {
        requirement_id: clause for requirement_id, clause in applicable.items() if clause.about(spec.profile, spec.role)
    }


def run(
    head: Header,
    chosen: Sequence[Chosen],
    rules: Rules,
    *,
    stage: Fixture,
    listener: Callable[[Entry], None] = lambda entry: None,
    clock: Callable[[], float] = time.monotonic,
) -> Record:
    """Run everything that was chosen, subject by subject. Where one cannot be reached, none of its checks are run."""
    began = clock()
    entries: list[Entry] = []
    last_words: dict[str, str] = {}

    def keep(entry: Entry) -> None:
        entries.append(entry)
        listener(entry)

    for spec, group in groupby(chosen, key=lambda pair: pair[0]):
        checks = [check for _, check in group]
        with ExitStack() as stack:
            try:
                staged = stack.enter_context(stage(spec))
            except UsageError as problem:
                for check in checks:
                    keep(_entry(spec, check, rules, Outcome.NOT_RUN, reason=str(problem)))
                continue
            for entry in _judge_check(spec, checks, staged, rules, clock, began):
                keep(entry)
            if output := staged.last_words():
                last_words[spec.column] = output
    foot = footer(head, entries, seconds=round(clock() - began, 3), last_words=last_words)
    return Record(head=head, entries=entries, foot=foot)


def _judge_check(
    spec: SubjectSpec,
    checks: Iterable[Check],
    staged: RunningSubject,
    rules: Rules,
    clock: Callable[[], float],
    started: float,
) -> Iterator[Entry]:
    died: str | None = None
    for check in checks:
        if died is None and clock() - started > rules.limit:
            died = f"the time for the whole run was over after {rules.limit:g} s"
        if died is not None:
            yield _entry(spec, check, rules, Outcome.NOT_RUN, reason=died)
            continue
        staged.subject.trace.clear()
        staged.subject.remarks.clear()
        staged.subject.timeouts = 0
        began = clock()
        entry, doubtful = _one(spec, check, staged.subject, rules)
        if (ended_how := staged.wait_for_end() if entry.bad else staged.ended()) is not None:
            died = f"the subject {ended_how} while {check.id} ran, and was not there any more"
            output_lines = staged.last_words().splitlines()
            reason = f"the subject {ended_how} while this ran" + (
                f"; its last line: {output_lines[-1]}" if output_lines else ""
            )
            entry = _entry(spec, check, rules, Outcome.NOT_RUN, reason=reason)
        elif doubtful or staged.subject.timeouts or (entry.bad and _slow(clock() - began)):
            died = holding(staged.subject)
        trace = [TraceEntry(who=who, text=text) for who, text in list(staged.subject.trace)]
        if not rules.traced:
            trace = _shortened(trace) if entry.bad else []
        remarks = list(staged.subject.remarks)
        yield entry.model_copy(update={"seconds": round(clock() - began, 4), "trace": trace, "remarks": remarks})


def _slow(seconds: float) -> bool:
    """Whether a check took so long that somebody may have been waited for."""
    return seconds > TIMEOUT


def _shortened(trace: list[TraceEntry]) -> list[TraceEntry]:
    """Return the ends of a long trace: what began it, and what was said last."""
    if len(trace) <= _FIRST + _LAST:
        return trace
    between = TraceEntry(
        who="the suite", text=f"({len(trace) - _FIRST - _LAST} left out here; `conformance replay` shows all)"
    )
    return [*trace[:_FIRST], between, *trace[-_LAST:]]


def _one(spec: SubjectSpec, check: Check, subject: Subject, rules: Rules) -> tuple[Entry, bool]:
    """Return the entry of a check, and whether it was not run for a reason that may be the subject's."""
    box = _Box()
    entry = _judged(spec, check, subject, rules, box)
    return entry, entry.outcome is Outcome.NOT_RUN and not isinstance(box.problem, Missing)


def _judged(spec: SubjectSpec, check: Check, subject: Subject, rules: Rules, box: _Box) -> Entry:

    def work() -> None:
        try:
            box.findings.extend(check.run(subject))
        except BaseException as problem:
            box.problem = problem

    thread = threading.Thread(target=work, name=f"check {check.id}", daemon=True)
    thread.start()
    thread.join(rules.check_timeout)
    if thread.is_alive():
        return _entry(spec, check, rules, Outcome.NOT_RUN, reason=f"did not end within {rules.check_timeout:g} s")
    match box.problem:
        case None:
            pass
        case NotApplicable() as why:
            return _entry(spec, check, rules, Outcome.NOT_APPLICABLE, reason=str(why))
        case CouldNotTell() as why if box.findings:
            subject.remark(f"It was not asked to the end: {why}")  # what was found until then stands
        case CouldNotTell() as why:
            return _entry(spec, check, rules, Outcome.NOT_RUN, reason=str(why))
        case problem:
            return _entry(spec, check, rules, Outcome.NOT_RUN, reason=_crash(problem))
    strangers = {finding.requirement for finding in box.findings} - set(check.requirements)
    if strangers:
        reason = f"the check is wrong: it reports {', '.join(sorted(strangers))}, which it does not name"
        return _entry(spec, check, rules, Outcome.NOT_RUN, reason=reason)
    asked_clauses = _applicable_clauses(spec, check, rules.clauses)
    counted_findings = [finding for finding in box.findings if finding.requirement in asked_clauses]
    known_failing = announced(rules.known, check, spec.column)
    outcome = judge(passed=not counted_findings, known_failing=known_failing is not None)
    must = rules.strict or any(asked_clauses[finding.requirement].must for finding in counted_findings)
    return _entry(
        spec,
        check,
        rules,
        outcome,
        flaws=[_flaw(finding, subject) for finding in counted_findings],
        known=Reason(reason=known_failing.reason, issue=known_failing.issue) if known_failing is not None else None,
        advice=outcome is Outcome.FAILED and not must,
    )


def _entry(spec: SubjectSpec, check: Check, rules: Rules, outcome: Outcome, **more: Any) -> Entry:
    return Entry(
        check=check.id,
        title=check.title,
        profile=spec.profile,
        about=spec.about,
        outcome=outcome,
        requirements=list(_applicable_clauses(spec, check, rules.clauses)),
        **more,
    )


def _flaw(finding: Finding, subject: Subject) -> RecordedFinding:
    line = finding.line
    if line is None and finding.sent is not None and subject.target is not None:
        line = curl(subject.target.url, finding.sent)
    sides = {"expected": finding.expected, "got": finding.got}
    values = {name: value for name, value in sides.items() if not isinstance(value, Absent)}
    return RecordedFinding(requirement=finding.requirement, message=finding.message, line=line, **values)


def _crash(problem: BaseException) -> str:
    """Name a crash of a check, and the last line of the suite that was on the way to it."""
    trace, place = problem.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "conformance" in code.co_filename:
            place = f" in {code.co_name}, {code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    if isinstance(problem, UsageError):
        return str(problem)
    return f"the check crashed: {type(problem).__name__}: {problem}{place}"
