"""Checks: waits are passed on, unsafe calls are not repeated blindly, and retries are limited (SRF-RTY)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Final

from corrigible.conformance.checks.support.error_request import (
    PROFILES,
    annotated_error,
    answering_for_upstream,
    as_sent,
    native,
    no_feedback,
    send_for_answer,
)
from corrigible.conformance.checks.support.headers import ASK
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.validators.annotated_error import AnnotatedError
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.judgement import feedback_findings
from corrigible.schema import Request

from .core import ROLES, validated

_REFUND: Final = {"order": "ord_1", "amount": 5}
_SLACK: Final = 2.0
_CALLS: Final[Mapping[str, Request]] = {
    "a read": Request("GET", "/v1/orders"),
    "a write without a key": Request("POST", "/v1/refunds", body=_REFUND),
    "a write with a key": Request("POST", "/v1/refunds", headers={"idempotency-key": "key-of-a-wait"}, body=_REFUND),
}


@dataclass(frozen=True, slots=True)
class Wait:
    """How an upstream says when to come back."""

    name: str
    status: int
    headers: Callable[[float], list[tuple[str, str]]]
    """From the present second."""
    seconds: float | None
    """None where nothing that can be relied on is said."""
    code: str = "rate_limited"


def _date(second: float) -> str:
    return formatdate(second, usegmt=True)


WAITS: Final = (
    Wait("Retry-After in seconds", 429, lambda now: [("Retry-After", "7")], 7),
    Wait("Retry-After of a server that is down", 503, lambda now: [("Retry-After", "120")], 120),
    Wait("Retry-After of no seconds", 429, lambda now: [("Retry-After", "0")], 0),
    Wait(
        "Retry-After as a date",
        429,
        lambda now: [("Date", _date(now)), ("Retry-After", _date(now + 30))],
        30,
    ),
    Wait(
        "Retry-After as a date, by a clock that is an hour late",
        503,
        lambda now: [("Date", _date(now - 3600)), ("Retry-After", _date(now - 3600 + 45))],
        45,
    ),
    Wait("Retry-After as a date that is past", 429, lambda now: [("Date", _date(now)), ("Retry-After", _date(0))], 0),
    Wait("Retry-After that is no number", 429, lambda now: [("Retry-After", "soon")], None),
    Wait("Retry-After below nothing", 429, lambda now: [("Retry-After", "-5")], None),
    Wait("no word of when", 429, lambda now: [], None),
    Wait(
        "the second at which a rate limit begins anew",
        429,
        lambda now: [("Date", _date(now)), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", str(int(now) + 60))],
        60,
    ),
    Wait("Retry-After where a person has to act", 403, lambda now: [("Retry-After", "7")], None, "approval_required"),
)


def _cached_waits(subject: Subject) -> list[tuple[str, Wait, AnnotatedError]]:
    return subject.cached("waits", lambda: list(_waits(subject)))


def _waits(subject: Subject) -> Iterator[tuple[str, Wait, AnnotatedError]]:
    """Have every kind of call answered with every kind of wait."""
    base = "/problem" if subject.profile == "problem+json" else ""
    for wait in WAITS:
        for name, call in _CALLS.items():
            request = Request(call.method, base + call.path, headers=call.headers, body=call.body)
            script = native(subject.profile, wait.status, wait.code, "Not just now.", headers=wait.headers(time.time()))
            with answering_for_upstream(subject, lambda received, script=script: script):  # type: ignore[misc]
                sent = as_sent(request).adding(ASK, subject.caller())
                response = send_for_answer(subject, sent)
            yield f"{wait.name}, {name}", wait, annotated_error(subject, sent, response)


def _passed_on(subject: Subject) -> Iterator[Finding]:
    spoke = 0
    for name, wait, annotated in _cached_waits(subject):
        if annotated.feedback is None:
            continue
        spoke += 1
        yield from feedback_findings(annotated, frozenset({"SRF-RTY-01"}))
        after_seconds = annotated.retry.get("after_seconds")
        if annotated.terminal:
            continue
        if wait.seconds is None and after_seconds is not None:
            text = f"The upstream does not say when to come back ({name}), and the feedback does."
            yield Finding("SRF-RTY-01", text, None, after_seconds, annotated.sent)
        elif (
            wait.seconds is not None
            and "retry-after" not in annotated.headers
            and not _is_about(after_seconds, wait.seconds)
        ):
            text = f"The wait that the upstream names ({name}) is not passed on."
            yield Finding("SRF-RTY-01", text, wait.seconds, after_seconds, annotated.sent)
    if not spoke:
        yield no_feedback(len(WAITS) * len(_CALLS), "SRF-RTY-01")


def _is_about(value: object, seconds: float) -> bool:
    return isinstance(value, int | float) and seconds - _SLACK <= value <= math.ceil(seconds) + _SLACK


def _wait_findings(requirement: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that judges what is said about waits, and about every provocation."""

    def run(subject: Subject) -> Iterator[Finding]:
        yield from validated(requirement)(subject)
        if subject.upstream is not None:
            for _, _, annotated_error in _cached_waits(subject):
                if annotated_error.feedback is not None:
                    yield from feedback_findings(annotated_error, frozenset({requirement}))

    return run


def _judged_check(name: str, title: str, requirement: str) -> Check:
    return Check(f"retry/{name}", title, (requirement,), _wait_findings(requirement), PROFILES, ROLES)


CHECKS: tuple[Check, ...] = (
    Check("retry/passed-on", "Waits are passed on", ("SRF-RTY-01",), _passed_on, PROFILES, frozenset({"proxy"})),
    _judged_check("not-blindly", "No unsafe call is repeated without a key", "SRF-RTY-02"),
    _judged_check("not-after-the-end", "Where nothing helps there is no retry", "SRF-RTY-03"),
    _judged_check("bounded", "Repeating ends", "SRF-RTY-04"),
    _judged_check("keys", "A changed request has a new key", "SRF-RTY-05"),
)
