"""Runs checks and keeps the record. A check that crashes is reported as not run.

Knows: checks, what was announced, how to end in time. Does not know: YAML, reports, how a subject is started.

No verdict depends on the order of checks or on the time that one has at first. A check that takes longer is ended with
all that it has open, and runs again after the others. A subject that ended, or holds its connections, is set up anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self

from corrigible.conformance.model.background import Cancelled, CancelScope
from corrigible.conformance.model.outcome import (
    CouldNotTell,
    Missing,
    NotApplicable,
    Outcome,
    UsageError,
    crash_place,
    judge,
)
from corrigible.conformance.suite import record
from corrigible.conformance.suite.config import KnownFailing, announced
from corrigible.conformance.suite.fixture import Fixture, RunningSubject, SubjectSpec
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, connected, curl
from corrigible.conformance.validators.finding import Absent, Finding

TIMEOUT: Final = 5.0
"""Seconds in which a plain question has to be answered."""
_QUESTION: Final = HttpRequest("GET", "/conformance/silence", (("Connection", "close"),))
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def holding(subject: Subject, *, timeout: float | None = None) -> str | None:
    """Return how a subject holds connections, None where it answers, or refuses them."""
    timeout = TIMEOUT if timeout is None else timeout
    if subject.grpc is not None:
        return _over_http2(subject.grpc, timeout)
    if subject.target is None:
        return None
    response = HttpClient(subject.target.url).send(_QUESTION, timeout=timeout)
    if response.error is None or "timed out" not in response.error:
        return None
    if response.status == 0:
        return f"the subject takes connections and holds them: a plain GET had no answer after {timeout:g} s"
    return f"the subject does not end its answers: the one to a plain GET had no end after {timeout:g} s"


def _over_http2(address: str, timeout: float) -> str | None:
    host, _, port = address.rpartition(":")
    until = time.monotonic() + timeout
    with suppress(ConnectionError):
        try:
            with connected((host.strip("[]"), int(port)), timeout) as connection:
                connection.sendall(_PREFACE)
                connection.settimeout(max(0.01, until - time.monotonic()))
                connection.recv(1)
        except TimeoutError:
            return f"the subject takes connections and holds them: HTTP/2 had no first frame after {timeout:g} s"
    return None


Chosen = tuple[SubjectSpec, Check]
_FIRST: Final = 20
_LAST: Final = 30
_UNWINDING: Final = 20.0
"""Seconds in which a check that is ended closes what it has: it may have to stop a program."""
_UNWILLING: Final = 1.0
"""Seconds in which it hears that it is to end."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How outcomes are weighed."""

    clauses: Mapping[str, record.Clause]
    """The requirements of the level that is judged, by id. Findings about others are not this run's business."""
    known: tuple[KnownFailing, ...] = ()
    strict: bool = False
    """What SHOULD hold must."""
    check_timeout: float = 30.0
    """Seconds that a check has at first. One that takes longer is ended, and runs again after the others."""
    longest: float = 240.0
    """Seconds that it has then. No check that ends at all needs as many."""
    limit: float = 900.0
    """Seconds in which the run must end: what was not asked by then is not run."""
    traced: bool = False
    """The traffic of checks that passed is kept too."""


@dataclass(slots=True)
class _Box:
    """What a check that runs in a thread of its own leaves behind."""

    findings: list[Finding] = field(default_factory=list)
    problem: BaseException | None = None
    late: bool = False
    """It did not end in time."""
    gone: bool = True
    """It has ended, in time or because it was ended."""


def choose(specs: Iterable[SubjectSpec], checks: Iterable[Check], clauses: Mapping[str, record.Clause]) -> list[Chosen]:
    """Return what is asked of whom: by role, profile, and the requirements of the level."""
    held = list(checks)
    return [
        (spec, check)
        for spec in specs
        for check in held
        if spec.role in check.roles and spec.profile in check.profiles and _applicable_clauses(spec, check, clauses)
    ]


def _applicable_clauses(
    spec: SubjectSpec, check: Check, clauses: Mapping[str, record.Clause]
) -> dict[str, record.Clause]:
    """Return the requirements that a check holds and that say something about this subject."""
    applicable = {requirement: clauses[requirement] for requirement in check.requirements if requirement in clauses}
    return {
        requirement_id: clause for requirement_id, clause in applicable.items() if clause.about(spec.profile, spec.role)
    }


def run(
    head: record.Header,
    chosen: Sequence[Chosen],
    rules: Rules,
    *,
    stage: Fixture,
    listener: Callable[[record.Entry], None] = lambda entry: None,
    clock: Callable[[], float] = time.monotonic,
) -> record.Record:
    """Run everything that was chosen, subject by subject. Where one cannot be reached, none of its checks are run."""
    began = clock()
    entries: list[record.Entry] = []
    last_words: dict[str, str] = {}

    def keep(entry: record.Entry) -> None:
        if entry.bad:
            entry = entry.model_copy(update={"again": head.again(entry)})
        entries.append(entry)
        listener(entry)

    groups: dict[int, tuple[SubjectSpec, list[Check]]] = {}
    for spec, check in chosen:
        groups.setdefault(id(spec), (spec, []))[1].append(check)
    for spec, checks in groups.values():
        with _Stage(spec, stage) as staged:
            for entry in _judged_checks(spec, checks, staged, rules, clock, began):
                keep(entry)
            if output := staged.last_words():
                last_words[spec.column] = output
    foot = record.footer(head, entries, seconds=round(clock() - began, 3), last_words=last_words)
    return record.Record(head=head, entries=entries, foot=foot)


class _Stage:
    """A subject that is set up, and set up anew where a check left it in no state for the next one."""

    def __init__(self, spec: SubjectSpec, fixture: Fixture) -> None:
        self._spec, self._fixture, self._stack = spec, fixture, ExitStack()
        self._running: RunningSubject | None = None
        self._last_words = ""
        self.problem: str | None = None
        """Why there is no subject."""
        self.spent = True
        """It is set up before the next check. Nobody who has called it before calls again."""
        self.doubtful = False
        """It may hold its connections: that is found out before the next check."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def last_words(self) -> str:
        output = self._running.last_words() if self._running is not None else ""
        return output or self._last_words

    def ready(self) -> RunningSubject | None:
        """Return the subject for the next check; None where there is none, for the reason in `problem`."""
        if self.problem is None and self.spent:
            self._renew()
        if self.problem is None and self.doubtful and (held := holding(self._subject())) is not None:
            self.problem = held
            if self._running is not None and self._running.launched is not None:
                self._renew()
                self.problem = self.problem or holding(self._subject())
        self.doubtful = False
        return self._running if self.problem is None else None

    def _subject(self) -> Subject:
        assert self._running is not None
        return self._running.subject

    def _renew(self) -> None:
        before, self._last_words = self._running, self.last_words()
        self._stack.close()
        self.problem, self.spent = None, False
        try:
            self._running = self._stack.enter_context(self._fixture(self._spec))
        except UsageError as problem:
            self.problem = str(problem)
            return
        if before is not None:
            self._running.subject.count_on(before.subject)


def _judged_checks(
    spec: SubjectSpec,
    checks: Iterable[Check],
    stage: _Stage,
    rules: Rules,
    clock: Callable[[], float],
    started: float,
) -> Iterator[record.Entry]:
    late: list[Check] = []
    fatal: list[str] = []

    def attempt(check: Check, seconds: float, *, again: bool = False) -> record.Entry | None:
        """Return the entry of a check; None for one that is to run again."""
        left = rules.limit - (clock() - started)
        if stage.problem is None and left <= 0:
            stage.problem = f"the time for the whole run was over after {rules.limit:g} s"
        if (running := stage.ready()) is None:
            return _entry(spec, check, rules, Outcome.NOT_RUN, reason=stage.problem)
        subject = running.subject
        subject.trace.clear()
        subject.remarks.clear()
        subject.timeouts = 0
        began, box = clock(), _Box()
        entry = _judged(spec, check, subject, rules, box, min(seconds, left))
        took = clock() - began
        trace = [record.TraceEntry(who=who, text=text) for who, text in list(subject.trace)]
        remarks = list(subject.remarks)
        if (ended_how := running.wait_for_end() if entry.bad else running.ended()) is not None:
            output_lines = running.last_words().splitlines()
            before = f", as it did while {fatal[0]} ran" if fatal else ""
            last_line = f"; its last line: {output_lines[-1]}" if output_lines else ""
            reason = f"the subject {ended_how} while this ran{before}{last_line}"
            fatal.append(check.id)
            entry = _entry(spec, check, rules, Outcome.NOT_RUN, reason=reason)
            stage.spent = True
        elif box.late:
            stage.spent = stage.doubtful = True
            if box.gone and not again and seconds < rules.longest:
                return None
        else:
            doubtful = entry.outcome is Outcome.NOT_RUN and not isinstance(box.problem, Missing)
            stage.doubtful = doubtful or subject.timeouts > 0 or (entry.bad and _slow(took))
        if again and not box.late:
            remarks.append(f"slow: {check.id} did not end within {rules.check_timeout:g} s, was ended, and ran again.")
        if not rules.traced:
            trace = _shortened(trace) if entry.bad else []
        return entry.model_copy(update={"seconds": round(took, 4), "trace": trace, "remarks": remarks})

    for check in checks:
        if (entry := attempt(check, min(rules.check_timeout, rules.longest))) is not None:
            yield entry
        else:
            late.append(check)
    for check in late:
        if (entry := attempt(check, rules.longest, again=True)) is not None:
            yield entry


def _slow(seconds: float) -> bool:
    """Whether a check took so long that somebody may have been waited for."""
    return seconds > TIMEOUT


def _shortened(trace: list[record.TraceEntry]) -> list[record.TraceEntry]:
    """Return the ends of a long trace: what began it, and what was said last."""
    if len(trace) <= _FIRST + _LAST:
        return trace
    between = record.TraceEntry(
        who="the suite", text=f"({len(trace) - _FIRST - _LAST} left out here; `conformance replay` shows all)"
    )
    return [*trace[:_FIRST], between, *trace[-_LAST:]]


def _judged(spec: SubjectSpec, check: Check, subject: Subject, rules: Rules, box: _Box, seconds: float) -> record.Entry:
    """Return the entry of a check. One that takes longer is ended before this returns, if it can be."""

    def work() -> None:
        try:
            box.findings.extend(check.run(subject))
        except Cancelled:
            raise
        except BaseException as problem:
            box.problem = problem

    scope = CancelScope()
    thread = scope.start(work, f"check {check.id}")
    thread.join(seconds)
    if thread.is_alive():
        scope.cancel()
        box.late, box.gone = True, scope.gone(unwinding=_UNWINDING, unwilling=_UNWILLING)
        return _entry(spec, check, rules, Outcome.NOT_RUN, reason=f"did not end within {seconds:g} s")
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
        known=record.Reason(reason=known_failing.reason, issue=known_failing.issue)
        if known_failing is not None
        else None,
        advice=outcome is Outcome.FAILED and not must,
    )


def _entry(spec: SubjectSpec, check: Check, rules: Rules, outcome: Outcome, **more: Any) -> record.Entry:
    return record.Entry(
        check=check.id,
        title=check.title,
        profile=spec.profile,
        about=spec.about,
        outcome=outcome,
        requirements=list(_applicable_clauses(spec, check, rules.clauses)),
        **more,
    )


def _flaw(finding: Finding, subject: Subject) -> record.RecordedFinding:
    line = finding.line
    if line is None and finding.sent is not None and subject.target is not None:
        line = curl(subject.target.url, finding.sent)
    sides = {"expected": finding.expected, "got": finding.got}
    values = {name: value for name, value in sides.items() if not isinstance(value, Absent)}
    if "got" in values:
        values.setdefault("expected", "(nothing)")
    part = {"consumer": "/answer", "pack": "/pack"}.get(subject.role, "/answer")
    place = finding.whole_place or part
    return record.RecordedFinding(
        requirement=finding.requirement, message=finding.message, place=place, line=line, **values
    )


def _crash(problem: BaseException) -> str:
    """Name a crash of a check, and the last line of the suite that was on the way to it."""
    if isinstance(problem, UsageError):
        return str(problem)
    return f"the check crashed: {type(problem).__name__}: {problem}{crash_place(problem)}"
