"""Checks: feedback behind a `Link` header is served to the caller of the request, and to nobody else (SRF-SEC-12)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from corrigible.conformance.checks.support.headers import JSON
from corrigible.conformance.checks.support.known_error import KNOWN
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.reference.upstream import answer
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding

_LINK: Final = re.compile(r'<([^>]*)>\s*;[^,]*rel="?recovery-feedback"?')
_ARRAY: Final = b'[{"code": "enum", "param": "currency", "message": "currency has none of the allowed values."}]'


def for_its_caller_alone(subject: Subject) -> Iterator[Finding]:
    owner, other = subject.caller(), subject.caller()
    refusal = subject.through(KNOWN.adding(owner), answer(400, _ARRAY, [JSON], reason="Bad Request"))
    again = subject.through(KNOWN.adding(owner), answer(400, _ARRAY, [JSON], reason="Bad Request"))
    target, second = _target(refusal), _target(again)
    if target is None:
        raise NotApplicable("the subject points to no feedback that has no place in an answer")
    if target == second:
        sentence = "Two refusals have their feedback at one place: who knows one of them knows the other."
        yield Finding("SRF-SEC-12", sentence, "two places", target, KNOWN)
    own_response = subject.wire.send(HttpRequest("GET", target, (owner,)))
    if own_response.status != 200 or (own_response.feedback is None and b"suggestions" not in own_response.body):
        yield Finding("SRF-SEC-12", "Who was refused cannot fetch what the Link names.", 200, own_response.status)
    for who, headers in (("somebody else", (other,)), ("somebody without credentials", ())):
        other_response = subject.wire.send(HttpRequest("GET", target, headers))
        if b"suggestions" in other_response.body:
            sentence = f"{who.capitalize()} fetches feedback about a call that was refused to another caller."
            yield Finding(
                "SRF-SEC-12", sentence, "nothing of it", other_response.status, HttpRequest("GET", target, headers)
            )


def _target(response: HttpResponse) -> str | None:
    link = next((m for value in response.values("link") if (m := _LINK.search(value))), None)
    return link[1] if link is not None and link[1].startswith("/") else None


CHECKS: Final = (
    Check(
        "trust/linked",
        "Feedback that is fetched is for its caller alone",
        ("SRF-SEC-12",),
        for_its_caller_alone,
        profiles=frozenset({"http-json"}),
    ),
)
