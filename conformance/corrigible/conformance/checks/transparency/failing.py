"""Checks: if anything fails, in the subject or behind it, the native response passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from corrigible.conformance.checks.support.exchange import JSON, cases
from corrigible.conformance.checks.support.known_error import (
    KNOWN,
    NEEDS_A_LOOK,
    answer_differences,
    as_script,
    has_feedback,
    native,
    native_differences,
)
from corrigible.conformance.checks.transparency.passing import GET
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.reference.upstream import answer, chunked
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import CASE, HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding

LONGEST: Final = 5.0
"""Seconds after which nobody waits for an explanation any more."""


def lookups_fail(subject: Subject) -> Iterator[Finding]:
    """Whatever becomes of its look-ups, the refusal arrives, in time, as the upstream said it."""
    native_response = native(subject, NEEDS_A_LOOK)
    looked = False
    for name, script in ((case.name, case.script) for case in cases("open/look-up")):
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
    wide = KNOWN.body[:-1] + b', "note": "' + b"n" * 3_000_000 + b'"}'
    without_type = tuple(header for header in KNOWN.headers if header != JSON)
    forms: dict[str, HttpRequest] = {
        "broken JSON": HttpRequest("POST", KNOWN.target, KNOWN.headers, b'{"currency": "usdd",'),
        "three million bytes": HttpRequest("POST", KNOWN.target, KNOWN.headers, wide),
        "no body": HttpRequest("POST", KNOWN.target, KNOWN.headers),
        "bytes that are no UTF-8": HttpRequest("POST", KNOWN.target, KNOWN.headers, b'{"currency": "\xff\xfe"}'),
        "an array": HttpRequest("POST", KNOWN.target, KNOWN.headers, b"[1]"),
        "members twice": HttpRequest("POST", KNOWN.target, KNOWN.headers, b'{"currency": "usdd", "currency": "eurr"}'),
        "numbers no machine holds": HttpRequest("POST", KNOWN.target, KNOWN.headers, b'{"currency": 1e400, "n": NaN}'),
        "ten thousand levels": HttpRequest("POST", KNOWN.target, KNOWN.headers, b"[" * 10_000 + b"]" * 10_000),
        "gzip that is none": KNOWN.adding(("Content-Encoding", "gzip")),
        "a coding nobody knows": KNOWN.adding(("Content-Encoding", "x-odd")),
        "no type": HttpRequest("POST", KNOWN.target, without_type, KNOWN.body),
        "a type that is none": HttpRequest("POST", KNOWN.target, (*without_type, ("Content-Type", ";;")), KNOWN.body),
        "a form": HttpRequest(
            "POST", KNOWN.target, (*without_type, ("Content-Type", "application/x-www-form-urlencoded")), b"a[b=%zz&&=1"
        ),
        "parts": HttpRequest(
            "POST", KNOWN.target, (*without_type, ("Content-Type", "multipart/form-data; boundary=x")), b"--x\r\n\r\n1"
        ),
        "a query that is none": HttpRequest("POST", KNOWN.target + "?%zz&=&a[=1&a[b]=2", KNOWN.headers, KNOWN.body),
    }
    for name, sent in forms.items():
        pair = subject.both(sent, as_script(native_response), timeout=20)
        if not has_feedback(pair):  # what it makes of an answer that it explains is looked at elsewhere
            yield from _still_native("SRF-TRN-08", f"a request with {name}", pair.direct, pair.through, sent)


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
    for name, script in ((case.name, case.script) for case in cases("open/broken")):
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
    for name, script in ((case.name, case.script) for case in cases("open/broken")):
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


Run = Callable[[Subject], Iterable[Finding]]
RUNS: Final[tuple[tuple[str, str, tuple[str, ...], Run], ...]] = (
    ("open/look-up", "a refusal arrives whatever becomes of look-ups", ("SRF-TRN-08",), lookups_fail),
    ("open/request", "a refusal arrives whatever the request was", ("SRF-TRN-08",), requests_are_odd),
    ("open/long", "a refusal that is too long to look at arrives", ("SRF-TRN-08",), answers_are_too_long),
    ("open/broken", "what breaks off does not come out whole", ("SRF-TRN-08",), upstream_breaks_off),
    ("open/broken-status", "what breaks off keeps its status", ("SRF-TRN-16",), status_survives),
    ("latency", "errors without look-ups arrive at once", ("SRF-TRN-11",), quick),
)
