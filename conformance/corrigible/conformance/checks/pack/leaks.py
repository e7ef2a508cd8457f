"""Checks: the fixes of a pack are in its feedback only, not in texts that every mode shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from corrigible.conformance.audit.audit import Audit, audit, gather
from corrigible.conformance.audit.search import Hit
from corrigible.conformance.audit.subject import command
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.model.usage_error import UsageError
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.validators.finding import Finding


@lru_cache(maxsize=8)
def _audited(pack: str, tasks: tuple[str, ...], corrigible: str | None) -> Audit:
    return audit(gather([pack], [Path(path) for path in tasks], [], command(corrigible)))


def _done(subject: Subject) -> Audit:
    config = subject.config
    pack, tasks, corrigible = config.get("pack"), config.get("tasks") or [], config.get("corrigible")
    if not pack:
        raise CouldNotTell("no pack is given: --pack NAME_OR_PATH")
    try:
        return _audited(str(pack), tuple(map(str, tasks)), str(corrigible) if corrigible else None)
    except UsageError as problem:
        raise CouldNotTell(f"the pack cannot be rendered: {problem}") from None


def answers_hold_no_fix(subject: Subject) -> Iterator[Finding]:
    """Render every case of the pack in every mode, and look for its fixes in what is ours of the other modes."""
    for hit in _done(subject).leaks:
        if hit.text.channel not in _OF_TASKS:
            yield _finding("SRF-AUD-01", hit, subject)


def tasks_hold_no_fix(subject: Subject) -> Iterator[Finding]:
    """Look for the fixes of the pack, and of each task itself, in what a task tells an agent."""
    audit = _done(subject)
    if not any(
        subject.kind == "tasks" and subject.facts["with a text that an agent sees"] for subject in audit.subjects
    ):
        raise NotApplicable("there are no tasks with a prompt or success criteria (setting `tasks` names their files)")
    for hit in audit.leaks:
        if hit.text.channel in _OF_TASKS:
            yield _finding("SRF-AUD-02", hit, subject)


_OF_TASKS: Final = frozenset({"prompt", "success criteria"})


def _finding(requirement: str, hit: Hit, subject: Subject) -> Finding:
    sentence = (
        f"The {hit.text.channel} at {hit.text.where} gives away {hit.fix.value!r} ({hit.how}), which only the feedback"
        f" of {hit.fix.origin} may say."
    )
    line = f"conformance audit {subject.config.get('pack')}"
    return Finding(requirement, sentence, expected="a text that does not hold the fix", got=hit.marked, line=line)


CHECKS: Final = (
    Check(
        id="audit/answers",
        title="Diagnoses and the other modes hold no fix",
        requirements=("SRF-AUD-01",),
        run=answers_hold_no_fix,
        roles=frozenset({"pack"}),
    ),
    Check(
        id="audit/tasks",
        title="Prompts and success criteria hold no fix",
        requirements=("SRF-AUD-02",),
        run=tasks_hold_no_fix,
        roles=frozenset({"pack"}),
    ),
)
