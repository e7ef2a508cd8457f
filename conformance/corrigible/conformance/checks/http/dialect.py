"""Checks by vectors: the errors of common servers, in many formats, and the requests that feedback may lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from corrigible.conformance.checks.support.error_request import (
    PROFILES,
    answering_for_upstream,
    as_sent,
    is_trial,
    send_for_answer,
)
from corrigible.conformance.checks.support.exchange import script
from corrigible.conformance.checks.support.headers import ASK
from corrigible.conformance.model import vector
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import request_document
from corrigible.conformance.validators.finding import Finding

_NO_TRIAL: Final = answer(501, {"error": {"code": "no_trials", "message": "Nothing is tried here."}})


def _run(exchange: vector.Exchange) -> Callable[[Subject], Iterator[Finding]]:
    upstream_answer = script(exchange.answer)

    def says(received: Received) -> Script | None:
        return _NO_TRIAL if is_trial(received.sent) else upstream_answer

    def run(subject: Subject) -> Iterator[Finding]:
        request = as_sent(exchange.request).adding(ASK, subject.caller())
        with answering_for_upstream(subject, says):
            response = send_for_answer(subject, request)
        problem = vector.leads_to(exchange.allowed, response.feedback, request_document(request))
        if problem is not None:
            text = f"{exchange.description} Not so here: {problem}."
            yield Finding(
                exchange.requirements[0], text, [dict(a) for a in exchange.allowed], response.feedback, request
            )

    return run


CHECKS: tuple[Check, ...] = tuple(
    Check(f"vector/{one.id}", one.description, one.requirements, _run(one), frozenset({profile}), frozenset({"proxy"}))
    for profile in sorted(PROFILES)
    for one in vector.exchange(profile)
)
