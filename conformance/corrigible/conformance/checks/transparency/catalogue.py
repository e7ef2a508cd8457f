"""The checks of level 0: a proxy that has nothing to add changes, loses, delays and breaks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from corrigible.conformance.checks.support.exchange import PROXY, Case, Row, cases, profile_checks
from corrigible.conformance.checks.support.known_error import answer_differences, has_feedback, headers, linked
from corrigible.conformance.checks.transparency import annotated, passing, stream
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.validators.finding import Finding


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


def _row(name: str, title: str, requirement: str) -> Row:
    return name, title, partial(_unchanged, requirement, name), requirement


CHECKS: Final = profile_checks(
    ("transparency", "http-json", PROXY),
    _row("success/status-line", "status and reason of successes stay", "SRF-TRN-01"),
    _row("success/headers", "headers of successes stay, in order, case and number", "SRF-TRN-01"),
    _row("success/body", "bodies of successes stay to the byte", "SRF-TRN-01"),
    _row("success/large", "large successes stay to the byte", "SRF-TRN-01"),
    _row("success/coding", "coded bodies of successes stay coded as they are", "SRF-TRN-01"),
    _row("success/framing", "however a success is framed, its content arrives", "SRF-TRN-01"),
    _row("success/trailers", "trailers arrive", "SRF-TRN-01"),
    _row("error/head", "errors nobody knows keep their status and headers", "SRF-TRN-02"),
    _row("error/body", "errors nobody knows keep their body to the byte", "SRF-TRN-02"),
    _row("error/large", "large errors nobody knows stay to the byte", "SRF-TRN-02"),
    _row("error/coding", "errors nobody knows stay coded as they are", "SRF-TRN-02"),
    _row("no-body", "HEAD, 204, 205, 206 and 304 are left alone", "SRF-TRN-10"),
    *annotated.RUNS,
    *stream.BODILESS_RUNS,
    *passing.RUNS,
    *stream.RUNS,
    *passing.REQUEST_RUNS,
)
