"""Records, checks and stages that tests of the runner make up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.config import SubjectConfig
from corrigible.conformance.suite.fixture import Fixture, RunningSubject, SubjectSpec
from corrigible.conformance.suite.record import (
    Clause,
    Entry,
    Header,
    JudgedProfile,
    Reason,
    Record,
    RecordedFinding,
    TraceEntry,
    footer,
)
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.validators.finding import ABSENT, Finding


def checks_of(*folders: str) -> list[Check]:
    """Return the checks below these folders."""
    return [check for check in CHECKS if check.id.startswith(folders)]


MUST = "SRF-TRN-03"
OTHER = "SRF-TRN-04"
SHOULD = "SRF-TRN-11"
CLAUSES = {
    MUST: Clause(
        id=MUST,
        level="L0",
        must=True,
        title="The status stays",
        text="An error that gets feedback keeps its status code.",
        why="Clients depend on it.",
        group="Transparency",
        where="SPEC.md#srf-trn-03",
    ),
    OTHER: Clause(
        id=OTHER,
        level="L1",
        must=True,
        title="The content type stays",
        group="Transparency",
        where="SPEC.md#srf-trn-04",
    ),
    SHOULD: Clause(
        id=SHOULD,
        level="L0",
        must=False,
        title="It is quick",
        group="Transparency",
        where="SPEC.md#srf-trn-11",
    ),
}


def check(id: str, run: Callable[[Subject], Iterable[Finding]] = lambda subject: (), *, about: str = MUST) -> Check:
    return Check(id, f"About {id}", (about,), run, roles=frozenset({"producer", "proxy"}))


def finding(said: str = "The status is another one.", *, about: str = MUST, **more: Any) -> Finding:
    return Finding(about, said, **more)


def told(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Pass findings on, each of which has to say what was expected or what came: one may be nothing."""
    for one in findings:
        assert one.expected is not ABSENT or one.got is not ABSENT, one
        yield one


Case = TypeVar("Case")


def sampled(cases: Iterable[Case], chapter: Callable[[Case], object]) -> list[Any]:
    """Return planted faults for a test: the first of each chapter for each change, the rest for the night."""
    seen: set[object] = set()
    found = []
    for case in cases:
        marks = [pytest.mark.nightly] if chapter(case) in seen else []
        seen.add(chapter(case))
        name = case[0] if isinstance(case, tuple) else getattr(case, "name", case)
        found.append(pytest.param(case, marks=marks, id=str(name)))
    return found


def broken(*findings: Finding) -> Callable[[Subject], Iterable[Finding]]:
    return lambda subject: findings or (finding(),)


def spec(profile: str = "http-json", **config: Any) -> SubjectSpec:
    return SubjectSpec(profile, "proxy", SubjectConfig(**config))


def still() -> Fixture:
    """A stage on which nothing runs."""

    @contextmanager
    def staged(spec: SubjectSpec) -> Iterator[RunningSubject]:
        yield RunningSubject(Subject(role=spec.role, profile=spec.profile))

    return staged


def head(**more: Any) -> Header:
    given: dict[str, Any] = {
        "suite": "0.1.0",
        "subject": "Acme gateway 2.1",
        "level": "L1",
        "judged": [JudgedProfile(profile="http-json", role="proxy", reached="acme --port {port}")],
        "seed": 7,
        "started": "2026-11-21T08:00:00+00:00",
        "clauses": list(CLAUSES.values()),
    }
    return Header(**(given | more))


def entry(id: str, outcome: Outcome = Outcome.PASSED, *flaws: RecordedFinding, **more: Any) -> Entry:
    given: dict[str, Any] = {"title": f"About {id}", "profile": "http-json", "requirements": [MUST]}
    return Entry(check=id, outcome=outcome, flaws=list(flaws), **(given | more))


def record(*entries: Entry, last_words: dict[str, str] | None = None, **more: Any) -> Record:
    held = head(**more)
    foot = footer(held, entries, seconds=1.5, last_words=last_words or {})
    return Record(head=held, entries=list(entries), foot=foot)


FLAW = RecordedFinding(
    requirement=MUST,
    message="The upstream refused with 402, and the caller saw 400.",
    expected={"status": 402, "body": {"error": {"code": "card_declined"}}},
    got={"status": 400, "body": {"error": {"code": "card_declined"}}},
    line="curl -i -X POST http://127.0.0.1:8080/v1/refunds",
)


def mixed() -> Record:
    """Every outcome once."""
    return record(
        entry(
            "transparency/status-kept", Outcome.FAILED, FLAW, trace=[TraceEntry(who="to the subject", text="> POST /")]
        ),
        entry(
            "transparency/quick",
            Outcome.FAILED,
            RecordedFinding(requirement=SHOULD, message="It takes 40 ms.", expected=10, got=40),
            advice=True,
            requirements=[SHOULD],
        ),
        entry("transparency/type-kept", requirements=[OTHER]),
        entry(
            "core/present",
            Outcome.FAILED_AS_EXPECTED,
            RecordedFinding(requirement=OTHER, message="It is absent."),
            requirements=[OTHER],
            known=Reason(reason="waits for a release", issue="#12"),
        ),
        entry("core/mended", Outcome.PASSED_UNEXPECTEDLY, known=Reason(reason="was broken")),
        entry("core/crashed", Outcome.NOT_RUN, reason="the check crashed: ValueError: x"),
        entry("core/streams", Outcome.NOT_APPLICABLE, reason="it has no streams"),
        last_words={"http-json": "listening\nbye"},
    )


HOSTILE = (
    '</script><script>alert(1)</script><img src=x onerror=alert(2)> ]]> & "quoted" \x1b[31mred\x1b[0m '
    "\u202eright to left \u200b\x00\ud800 | `code` ``` [link](javascript:alert(3)) @somebody\nsecond line"
)


def hostile() -> Record:
    """A run whose subject says the worst that it can, wherever it can."""
    flaw = RecordedFinding(requirement=MUST, message=HOSTILE, expected=HOSTILE, got={HOSTILE: [HOSTILE]}, line=HOSTILE)
    return record(
        entry("a/failed", Outcome.FAILED, flaw, title=HOSTILE, trace=[TraceEntry(who=HOSTILE, text=HOSTILE)]),
        entry("a/advised", Outcome.FAILED, flaw, advice=True),
        entry("a/announced", Outcome.FAILED_AS_EXPECTED, flaw, known=Reason(reason=HOSTILE, issue=HOSTILE)),
        entry("a/surprise", Outcome.PASSED_UNEXPECTEDLY, known=Reason(reason=HOSTILE)),
        entry("a/crashed", Outcome.NOT_RUN, reason=HOSTILE),
        entry("a/without", Outcome.NOT_APPLICABLE, reason=HOSTILE),
        last_words={"http-json": HOSTILE},
        subject=HOSTILE,
        judged=[JudgedProfile(profile="http-json", role="proxy", reached=HOSTILE)],
        packs={HOSTILE: "by name"},
    )
