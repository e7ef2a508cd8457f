"""Checks of the profile problem+json: the problem is unchanged but for one more extension member (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from corrigible.conformance.checks.support import exchange
from corrigible.conformance.checks.support.exchange import as_sent, error_requests, send_error_request, send_for_answer
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.native_preserved import differences
from corrigible.schema.feedback import MEMBER

PROFILE: Final = "problem+json"
MEDIA: Final = "application/problem+json"
_TYPES: Final[Mapping[str, type]] = {
    "type": str,
    "title": str,
    "status": int,
    "detail": str,
    "instance": str,
}
"""RFC 9457 section 3.1: members of another type are ignored."""


def _media(response: HttpResponse) -> str:
    return (response.header("content-type") or "").partition(";")[0].strip().lower()


def extension(subject: Subject) -> Iterator[Finding]:
    """Feedback is a member of the problem object, in a problem document."""
    for by in error_requests(subject):
        refusal = send_error_request(subject, by, subject.caller())
        body = exchange.body_of(refusal.got)
        if refusal.feedback is None:
            continue  # that it is missing is judged where feedback is counted
        if _media(refusal.got) != MEDIA:
            sentence = f"{by.name}: feedback came in another media type"
            yield Finding("SRF-PRB-01", sentence, MEDIA, _media(refusal.got), refusal.sent)
        if not isinstance(body.get(MEMBER), dict):
            sentence = f"{by.name}: feedback is no extension member of the problem"
            yield Finding("SRF-PRB-01", sentence, [*body, MEMBER], sorted(body), refusal.sent)
        for name, kind in _TYPES.items():
            if name in body and not isinstance(body[name], kind):
                sentence = f"{by.name}: {name} is of no type that RFC 9457 gives it"
                yield Finding("SRF-PRB-01", sentence, str(kind), body[name], refusal.sent)


def kept(subject: Subject) -> Iterator[Finding]:
    """Type, title, status, detail, instance and other extensions are the upstream's own."""
    if subject.direct is None:
        raise CouldNotTell("what the problem was is only known of the suite's own upstream")
    for by in error_requests(subject):
        request: HttpRequest = as_sent(by.request).adding(exchange.ASK)
        native = subject.direct.send(request.adding(subject.caller()))
        response = send_for_answer(subject, request.adding(subject.caller()))
        if _media(native) != MEDIA:
            raise CouldNotTell(f"{by.name}: the upstream gave no problem document")
        if native.header("content-type") != response.header("content-type"):
            expected, actual = native.header("content-type"), response.header("content-type")
            yield Finding("SRF-PRB-01", f"{by.name}: the media type changed", expected, actual, request)
        for difference in differences(native.body, response.body, grown=frozenset({""})):
            yield exchange.finding("SRF-PRB-01", difference, request)
