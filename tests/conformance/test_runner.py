"""The runner keeps outcomes apart, and neither a check nor a subject can bring it down."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable, Outcome, UsageError
from corrigible.conformance.suite.config import KnownFailing
from corrigible.conformance.suite.fixture import Fixture, RunningSubject, SubjectSpec
from corrigible.conformance.suite.record import Entry, Record, Verdict
from corrigible.conformance.suite.runner import Rules, choose, run
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest
from corrigible.conformance.validators.finding import Finding
from tests._support.rows import rows

from .made import CLAUSES, MUST, OTHER, SHOULD, broken, check, finding, head, spec, still

KNOWN = (KnownFailing(check="a/x", reason="not built yet"),)


def judged(
    *checks: Check, rules: Rules | None = None, stage: Fixture | None = None, specs: Sequence[SubjectSpec] | None = None
) -> Record:
    chosen = choose(specs or [spec()], checks, CLAUSES)
    return run(head(), chosen, rules or Rules(CLAUSES), stage=stage or still())


def one(*checks: Check, rules: Rules | None = None) -> Entry:
    (entry,) = judged(*checks, rules=rules).entries
    return entry


def raising(problem: BaseException) -> Check:
    def ask(subject: Subject) -> Iterable[Finding]:
        raise problem

    return check("a/x", ask)


OUTCOMES: dict[str, tuple[Check, tuple[KnownFailing, ...], Outcome, Verdict]] = {
    "no findings": (check("a/x"), (), Outcome.PASSED, Verdict.CONFORMS),
    "a finding": (check("a/x", broken()), (), Outcome.FAILED, Verdict.DOES_NOT),
    "an announced finding": (check("a/x", broken()), KNOWN, Outcome.FAILED_AS_EXPECTED, Verdict.AS_LISTED),
    "a surprise": (check("a/x"), KNOWN, Outcome.PASSED_UNEXPECTEDLY, Verdict.DOES_NOT),
    "nothing to judge": (raising(NotApplicable("no streams")), (), Outcome.NOT_APPLICABLE, Verdict.COULD_NOT_TELL),
    "no answer": (raising(CouldNotTell("silence")), (), Outcome.NOT_RUN, Verdict.COULD_NOT_TELL),
    "a crash": (raising(KeyError("x")), (), Outcome.NOT_RUN, Verdict.COULD_NOT_TELL),
    "an exit": (raising(SystemExit(0)), (), Outcome.NOT_RUN, Verdict.COULD_NOT_TELL),
    "an announced crash": (raising(KeyError("x")), KNOWN, Outcome.NOT_RUN, Verdict.COULD_NOT_TELL),
}


@rows("name", OUTCOMES)
def test_what_happens_has_an_outcome(name: str) -> None:
    asked, known, outcome, verdict = OUTCOMES[name]
    found = judged(asked, rules=Rules(CLAUSES, known))
    assert (found.entries[0].outcome, found.foot.verdict) == (outcome, verdict)


def test_a_crash_is_told_with_its_kind_and_place_and_the_others_run() -> None:
    found = judged(raising(ValueError("five is no four")), check("a/y"))
    assert found.entries[0].reason is not None
    assert "the check crashed: ValueError: five is no four in ask, test_runner.py:" in found.entries[0].reason
    assert found.entries[1].outcome is Outcome.PASSED


def test_a_crash_after_a_finding_is_no_verdict() -> None:
    def ask(subject: Subject) -> Iterator[Finding]:
        yield finding()
        raise ValueError("half way")

    assert one(check("a/x", ask)).outcome is Outcome.NOT_RUN


def test_a_check_that_hangs_is_left_behind() -> None:
    never = threading.Event()

    def ask(subject: Subject) -> Iterable[Finding]:
        never.wait()
        return ()

    found = judged(check("a/x", ask), check("a/y"), rules=Rules(CLAUSES, check_timeout=0.1))
    never.set()
    assert found.entries[0].reason == "did not end within 0.1 s"
    assert found.entries[1].outcome is Outcome.PASSED


def test_a_check_that_speaks_of_what_it_does_not_name_is_wrong_itself() -> None:
    found = one(check("a/x", broken(finding(about=OTHER))))
    assert found.outcome is Outcome.NOT_RUN
    assert found.reason == "the check is wrong: it reports SRF-TRN-04, which it does not name"


STRICT = [(False, True, "could not tell"), (True, False, "does not conform")]


@pytest.mark.parametrize(("strict", "advice", "verdict"), STRICT)
def test_what_should_hold_is_advice_unless_strict(strict: bool, advice: bool, verdict: str) -> None:
    found = judged(check("a/x", broken(finding(about=SHOULD)), about=SHOULD), rules=Rules(CLAUSES, strict=strict))
    assert found.entries[0].advice is advice
    assert found.foot.counts["advised"] == int(advice)
    assert found.foot.verdict.value == verdict


def test_advice_beside_what_holds_conforms() -> None:
    found = judged(check("a/x", broken(finding(about=SHOULD)), about=SHOULD), check("a/y"))
    assert found.foot.verdict is Verdict.CONFORMS
    assert found.foot.claim == "SRF 0.1 L1 / http-json, suite 0.1.0: 1/1 MUST, 0/1 SHOULD"


def test_findings_above_the_level_are_not_this_runs_business() -> None:
    both = Check("a/x", "Both", (MUST, OTHER), broken(finding(about=OTHER)), roles=frozenset({"proxy"}))
    level = {MUST: CLAUSES[MUST]}
    found = run(head(), choose([spec()], [both], level), Rules(level), stage=still())
    assert found.entries[0].outcome is Outcome.PASSED
    assert found.entries[0].requirements == [MUST]


def test_checks_are_chosen_by_role_profile_and_level() -> None:
    asked = [
        check("every/profile"),
        Check("grpc/only", "x", (MUST,), broken(), profiles=frozenset({"grpc"})),
        Check("consumer/only", "x", (MUST,), broken(), roles=frozenset({"consumer"})),
        check("higher/level", about="SRF-SEC-01"),
    ]
    chosen = [(spec.profile, check.id) for spec, check in choose([spec(), spec("grpc")], asked, CLAUSES)]
    assert chosen == [("http-json", "every/profile"), ("grpc", "every/profile"), ("grpc", "grpc/only")]


def test_a_requirement_of_another_profile_chooses_nothing() -> None:
    clauses = {MUST: CLAUSES[MUST].model_copy(update={"profiles": ["grpc"]})}
    assert [s.profile for s, _ in choose([spec(), spec("grpc")], [check("a/x")], clauses)] == ["grpc"]


def test_a_requirement_is_met_only_where_no_profile_breaks_it() -> None:
    def ask(subject: Subject) -> Iterable[Finding]:
        return [finding()] if subject.profile == "grpc" else []

    found = judged(check("a/x", ask), specs=[spec(), spec("grpc")])
    assert ": 0/1 MUST" in found.foot.claim


def test_a_subject_that_cannot_be_reached_stops_its_own_checks_only() -> None:
    @contextmanager
    def stage(spec: SubjectSpec) -> Iterator[RunningSubject]:
        if spec.profile == "grpc":
            raise UsageError("nobody is there")
        yield RunningSubject(Subject(role=spec.role, profile=spec.profile))

    found = judged(check("a/x"), check("a/y"), stage=stage, specs=[spec("grpc"), spec()])
    assert [entry.outcome.value for entry in found.entries] == ["not run"] * 2 + ["passed"] * 2
    assert found.entries[0].reason == "nobody is there"
    assert found.foot.verdict is Verdict.COULD_NOT_TELL


def test_a_line_that_sends_it_again_is_made_for_the_target() -> None:
    @contextmanager
    def stage(spec: SubjectSpec) -> Iterator[RunningSubject]:
        yield RunningSubject(Subject(role=spec.role, profile=spec.profile, target=HttpClient("http://127.0.0.1:9")))

    sent = HttpRequest("POST", "/v1/x?a=1", (("A", "it's"),), b'{"a": 1}')
    (entry,) = judged(check("a/x", broken(finding(sent=sent))), stage=stage).entries
    assert entry.flaws[0].line == (
        """curl -i -X POST 'http://127.0.0.1:9/v1/x?a=1' -H 'A: it'"'"'s' --data-binary '{"a": 1}'"""
    )


def test_traffic_is_kept_for_failures_and_starts_afresh_for_each_check() -> None:
    def talks(*findings: Finding) -> Check:
        def ask(subject: Subject) -> Iterable[Finding]:
            subject.note("to the subject", "hello")
            return findings

        return check("a/x", ask)

    found = judged(talks(), talks(finding()), talks(finding()))
    assert [len(entry.trace) for entry in found.entries] == [0, 1, 1]
    assert [len(e.trace) for e in judged(talks(), rules=Rules(CLAUSES, traced=True)).entries] == [1]


def test_a_long_trace_is_kept_by_its_ends() -> None:
    def ask(subject: Subject) -> Iterable[Finding]:
        for number in range(500):
            subject.note("to the subject", str(number))
        return [finding()]

    trace = one(check("a/x", ask)).trace
    assert [turn.text for turn in trace[18:23]] == [
        "18",
        "19",
        "(450 left out here; `conformance replay` shows all)",
        "470",
        "471",
    ]


def test_absence_and_null_stay_apart_on_file() -> None:
    null, absent = one(check("a/x", broken(finding(expected=None), finding()))).flaws
    assert null.model_dump(exclude_unset=True)["expected"] is None
    assert "expected" not in absent.model_dump(exclude_unset=True)
