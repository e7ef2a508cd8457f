"""Checks: the upstream receives what the client sent.

Checks: if anything fails, in the subject or behind it, the native response passes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Final

from corrigible.conformance.checks.support.exchange import ASK, JSON, cases
from corrigible.conformance.checks.support.known_error import (
    KNOWN,
    NEEDS_A_LOOK,
    answer_differences,
    as_script,
    has_feedback,
    headers,
    linked,
    native,
    native_differences,
    text,
)
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.reference.upstream import answer, chunked
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import CASE, HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.native_preserved import Difference

GET: Final = HttpRequest("GET", "/conformance/answers/1", (("Accept-Encoding", "gzip, deflate, br, zstd"), ASK))


def unchanged(group: str, requirement: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that the answers of a group pass as they are, where the subject does not explain them."""

    def run(subject: Subject) -> Iterator[Finding]:
        for case in cases(group):
            pair = subject.both(case.sent, case.script, timeout=6)
            if pair.direct.status == 0:
                raise CouldNotTell(f"the suite's own upstream gave no answer: {pair.direct.error}")
            for difference in _changes(pair):
                yield difference.finding(requirement, case.sent, case.name)

    return run


def _changes(pair: Pair) -> Iterator[Difference]:
    """Yield what is not as it was. An answer that the subject explained after all is not looked at here."""
    direct, through = pair.direct, pair.through
    if direct.status >= 400 and linked(through):
        added = frozenset({"link", "vary", "preference-applied"})
        yield from headers(direct.headers, through.headers, except_for=added)
    elif direct.status < 400 or not has_feedback(pair):
        yield from answer_differences(direct, through)


_NOT_OURS: Final = frozenset({"host", "via", "forwarded", "x-real-ip", "expect", "content-length"})
"""Host names the next hop; the others say who passed it on, or belong to one connection."""
_HOP: Final = re.compile("x-forwarded-", re.IGNORECASE)
_YES: Final = answer(200, b'{"ok": 1.0}', [JSON], reason="OK")


def forwarded(group: str, requirement: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that the requests of a group reach the upstream as they were sent."""

    def run(subject: Subject) -> Iterator[Finding]:
        for case in cases(group):
            yield from _forwarding_findings(subject, case.name, case.sent)

    return run


def mode_is_stripped_alone(subject: Subject) -> Iterator[Finding]:
    """`?mode=` is the one thing that may be taken out, and only where it is the contract's: all else stays."""
    forms = (
        ("/v1/things?mode=verbose", {"/v1/things", "/v1/things?"}),
        ("/v1/things?a=%2f&mode=reflective&b=+", {"/v1/things?a=%2f&b=+"}),
        ("/v1/things?mode=traditional&mode=odd", {"/v1/things?mode=odd"}),
    )
    for target, stripped in forms:
        pair = subject.both(HttpRequest("GET", target), _YES)
        actual = pair.received.sent.target if pair.received is not None else None
        if actual != target and actual not in stripped:
            sentence = f"{target} reaches the upstream as something else, and not just without its mode"
            yield Finding("SRF-TRN-12", sentence, sorted(stripped)[0], actual or "nothing", HttpRequest("GET", target))


def _forwarding_findings(subject: Subject, label: str, request: HttpRequest) -> Iterator[Finding]:
    pair = subject.both(request, _YES, timeout=20)
    direct_received, received = pair.direct_received, pair.received
    if direct_received is None:
        return  # the suite's own upstream did not take it: there is nothing to compare
    if received is None:
        sentence = f"{label}: the request does not reach the upstream"
        yield Finding("SRF-TRN-12", sentence, f"{request.method} {request.target}", f"{pair.through.status}", request)
        return
    for part, before, after in (
        ("method", direct_received.sent.method, received.sent.method),
        ("target", direct_received.sent.target, received.sent.target),
    ):
        if before != after:
            sentence = f"{label}: the {part} is another one at the upstream"
            yield Finding("SRF-TRN-12", sentence, text(before.encode()), text(after.encode()), request)
    if direct_received.sent.body != received.sent.body:
        sentence = f"{label}: the body is another one at the upstream"
        yield Finding("SRF-TRN-12", sentence, text(direct_received.sent.body), text(received.sent.body), request)
    direct_headers, through_headers = _compared(direct_received.sent), _compared(received.sent)
    for header in headers(direct_headers, through_headers, except_for=_NOT_OURS):
        yield header.finding("SRF-TRN-12", request, f"{label}: at the upstream", " ")


def _compared(request: HttpRequest) -> tuple[tuple[str, str], ...]:
    return tuple(header for header in request.headers if not _HOP.match(header[0]))


LONGEST: Final = 5.0
"""Seconds after which nobody waits for an explanation any more."""


def lookups_fail(subject: Subject) -> Iterator[Finding]:
    """Whatever becomes of its look-ups, the refusal arrives, in time, as the upstream said it."""
    native_response = native(subject, NEEDS_A_LOOK)
    looked = False
    for name, _, script in cases("open/look-up"):
        caller, case = subject.caller(), subject.case()
        subject.suite_upstream.script_others(caller[1], script)
        subject.suite_upstream.script(case, as_script(native_response), target=NEEDS_A_LOOK.target)
        request = NEEDS_A_LOOK.adding(caller, (CASE, case))
        began = time.monotonic()
        response = subject.wire.send(request, timeout=15)
        seconds = time.monotonic() - began
        lookups = [
            received.sent
            for received in subject.suite_upstream.requests
            if received.sent.header("authorization") == caller[1]
        ]
        looked = looked or any(received.target != request.target for received in lookups)
        yield from _still_native("SRF-TRN-08", f"where look-ups {name}", native_response, response, request)
        if seconds > LONGEST:
            sentence = f"where look-ups {name}, the refusal took {seconds:.1f} seconds to arrive"
            yield Finding("SRF-TRN-08", sentence, f"at most {LONGEST:.0f} seconds", f"{seconds:.1f}", request)
    if not looked:
        raise NotApplicable("the subject looks nothing up for a refund that is too large, so no look-up can fail")


def requests_are_odd(subject: Subject) -> Iterator[Finding]:
    """A request nobody can read is the upstream's business, and its refusal passes."""
    native_response = native(subject)
    for name, sent, _ in cases("open/request"):
        pair = subject.both(sent, as_script(native_response), timeout=20)
        if not has_feedback(pair):  # what it makes of an answer that it explains is looked at elsewhere
            yield from _still_native("SRF-TRN-08", name, pair.direct, pair.through, sent)


def answers_are_too_long(subject: Subject) -> Iterator[Finding]:
    """An error of a known kind that is too long to be looked at."""
    native_response = native(subject)
    long = native_response.body.strip()[:-1] + b', "pad": "' + b"p" * 4_000_000 + b'"}'
    own = [header for header in native_response.headers if header[0].lower() != "content-length"]
    pieces = [long[at : at + 65_536] for at in range(0, len(long), 65_536)]
    forms = {
        "with a length": as_script(native_response, body=long),
        "in chunks": chunked(native_response.status, pieces, own),
    }
    for name, script in forms.items():
        pair = subject.both(KNOWN, script, timeout=20)
        yield from _still_native("SRF-TRN-08", f"four million bytes {name}", pair.direct, pair.through, KNOWN)


def upstream_breaks_off(subject: Subject) -> Iterator[Finding]:
    """What broke off must not come out whole, and the next exchange works as ever."""
    for name, _, script in cases("open/broken"):
        pair = subject.both(GET, script)
        through = pair.through
        if through.error is None and through.status not in (502, 504):
            sentence = f"the upstream says {name}, and the client gets a complete {through.status}"
            yield Finding("SRF-TRN-08", sentence, "an answer that breaks off too, or a 502", through.status, GET)
    pair = subject.both(GET, answer(200, b'{"ok": 1.0}', [JSON], reason="OK"))
    for difference in answer_differences(pair.direct, pair.through, annotated=True):
        yield difference.finding("SRF-TRN-08", GET, "after an upstream that failed")


def status_survives(subject: Subject) -> Iterator[Finding]:
    """A head that came whole is the upstream's word: who gets a 502 instead sends again what has been done."""
    for name, _, script in cases("open/broken"):
        pair = subject.both(GET, script)
        direct, through = pair.direct, pair.through
        if direct.status == 0 or direct.error is None or "that are none" in name:
            continue  # nothing whole came
        if through.status != direct.status:
            sentence = f"the upstream says {name}, and the client gets another status"
            yield Finding("SRF-TRN-16", sentence, direct.status, through.error or through.status, GET)
        elif through.error is None:
            sentence = f"the upstream says {name}, and the client takes it for whole"
            yield Finding("SRF-TRN-16", sentence, "an answer that breaks off", through.status, GET)


ADDED: Final = 0.010
_ROUND: Final = 40


def quick(subject: Subject) -> Iterator[Finding]:
    """Measured on errors that need no look-up, against the upstream itself; the best of three rounds."""
    native_response = native(subject)
    case = subject.case()
    subject.suite_upstream.script(case, as_script(native_response), target=KNOWN.target)
    direct = subject.direct
    if direct is None:
        raise NotApplicable("there is no way around the subject to compare with")
    added = []
    for _ in range(3):
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in range(_ROUND):
            for wire, into in zip((direct, subject.wire), seconds, strict=True):
                into.append(wire.send(KNOWN.adding(subject.caller(), (CASE, case))).seconds)
        added.append(_p95(seconds[1]) - _p95(seconds[0]))
    best = min(added)
    if best > ADDED:
        sentence = f"95 of 100 explained errors arrive at most {best * 1000:.1f} ms later than without the subject"
        yield Finding("SRF-TRN-11", sentence, f"{ADDED * 1000:.0f} ms", f"{best * 1000:.1f} ms", KNOWN)


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95) - 1]


def _still_native(
    requirement: str, label: str, direct: HttpResponse, through: HttpResponse, request: HttpRequest
) -> Iterator[Finding]:
    for difference in answer_differences(direct, through, annotated=True):
        yield difference.finding(requirement, request, label)
    if through.status == direct.status and through.body != direct.body:
        for lack in native_differences(Pair(direct, through, None, None)):
            yield lack.finding(requirement, request, label)
