"""The checks of level 0: a proxy that has nothing to add changes, loses, delays and breaks nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from corrigible.conformance.checks.support.exchange import Case, cases
from corrigible.conformance.checks.support.known_error import answer_differences, has_feedback, headers, linked
from corrigible.conformance.checks.transparency import annotated, passing, stream
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.suite.subject import Check, Pair, Subject
from corrigible.conformance.validators.finding import Finding

PROFILES: Final = frozenset({"http-json"})
Run = Callable[[Subject], Iterable[Finding]]


def _unchanged(requirement: str, group: str, subject: Subject) -> Iterator[Finding]:
    for case in cases(group):
        pair = subject.both(case.sent, case.script, timeout=6)
        if pair.direct.status == 0:
            raise CouldNotTell(f"the suite's own upstream gave no answer: {pair.direct.error}")
        yield from compared(requirement, case.name, pair, case)


def compared(requirement: str, name: str, pair: Pair, case: Case) -> Iterator[Finding]:
    """Yield what is not as it was. An answer that the subject explained after all is not looked at here."""
    direct, through = pair.direct, pair.through
    if direct.status >= 400 and linked(through):
        all_differences = headers(
            direct.headers, through.headers, except_for=frozenset({"link", "vary", "preference-applied"})
        )
    elif direct.status >= 400 and has_feedback(pair):
        return
    else:
        all_differences = answer_differences(direct, through)
    for difference in all_differences:
        yield difference.finding(requirement, case.sent, name)


def _check(name: str, title: str, requirement: str) -> Check:
    run: Run = partial(_unchanged, requirement, name)
    return Check(f"transparency/{name}", title, (requirement,), run, profiles=PROFILES)


CHECKS: Final = (
    _check("success/status-line", "status and reason of successes stay", "SRF-TRN-01"),
    _check("success/headers", "headers of successes stay, in order, case and number", "SRF-TRN-01"),
    _check("success/body", "bodies of successes stay to the byte", "SRF-TRN-01"),
    _check("success/large", "large successes stay to the byte", "SRF-TRN-01"),
    _check("success/coding", "coded bodies of successes stay coded as they are", "SRF-TRN-01"),
    _check("success/framing", "however a success is framed, its content arrives", "SRF-TRN-01"),
    _check("success/trailers", "trailers arrive", "SRF-TRN-01"),
    _check("error/head", "errors nobody knows keep their status and headers", "SRF-TRN-02"),
    _check("error/body", "errors nobody knows keep their body to the byte", "SRF-TRN-02"),
    _check("error/large", "large errors nobody knows stay to the byte", "SRF-TRN-02"),
    _check("error/coding", "errors nobody knows stay coded as they are", "SRF-TRN-02"),
    _check("no-body", "HEAD, 204, 205, 206 and 304 are left alone", "SRF-TRN-10"),
    *(
        Check(f"transparency/{name}", title, requirements, run, profiles=PROFILES)
        for part in (annotated.RUNS, stream.BODILESS_RUNS, passing.RUNS, stream.RUNS, passing.REQUEST_RUNS)
        for name, title, requirements, run in part
    ),
)
