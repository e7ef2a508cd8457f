"""Checks of the profile graphql: feedback is in the `extensions` of its error, and everything else is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.checks.support.exchange import (
    annotated_error,
    body_of,
    encoded,
    finding,
    judged_checks,
    reader_findings,
    require_answer,
    script,
    sent,
)
from corrigible.conformance.checks.support.known_error import found
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.model.vector import Exchange, exchange
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import AnnotatedError, Finding
from corrigible.conformance.validators.native_preserved import differences
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER

PROFILE: Final = "graphql"
_MOST: Final = 32
"""Errors of one answer that may carry feedback."""
_GROWN: Final = frozenset(
    {"/errors", *(f"/errors/{at}" for at in range(_MOST)), *(f"/errors/{at}/extensions" for at in range(_MOST))}
)


def refusals(subject: Subject) -> Iterator[tuple[Exchange, HttpRequest, HttpResponse]]:
    """Yield every answer with errors; the upstream of a proxy gives the vector's."""
    for vector in exchange(PROFILE):
        request = sent(vector.request)
        response = subject.through(request, script(vector.answer) if subject.upstream is not None else None)
        yield vector, request, require_answer(response)


def in_extensions(subject: Subject) -> Iterator[Finding]:
    """Feedback stands in the extensions of the error that it is about, and nowhere else."""
    for vector, request, response in refusals(subject):
        body = body_of(response)
        if MEMBER in body:
            sentence = "feedback stands at the top, where GraphQL allows data, errors and extensions only"
            yield Finding("SRF-GQL-01", sentence, ["data", "errors", "extensions"], sorted(body), request)
        silent = any(way.get("silent") for way in vector.allowed)
        for number, error in enumerate(_errors(body)):
            extensions = error.get("extensions")
            if MEMBER in error:
                sentence = f"feedback stands in error {number} itself, not in its extensions"
                yield Finding("SRF-GQL-01", sentence, {"extensions": {MEMBER: "..."}}, error, request)
            elif not silent and not (isinstance(extensions, dict) and isinstance(extensions.get(MEMBER), dict)):
                sentence = f"{vector.description} Error {number} has no {MEMBER} in its extensions"
                yield Finding("SRF-GQL-01", sentence, {MEMBER: "..."}, extensions, request)


def _errors(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = body.get("errors")
    return [error for error in listed if isinstance(error, dict)] if isinstance(listed, list) else []


def errors_kept(subject: Subject) -> Iterator[Finding]:
    """Message, path, locations, other extensions and data stay, and so does the number of errors."""
    for vector, request, response in refusals(subject):
        if response.status != vector.answer["status"]:
            yield Finding("SRF-TRN-03", "the status code changed", vector.answer["status"], response.status, request)
        grown = _GROWN - {"/errors"}
        for difference in differences(encoded(vector.answer["body"]), response.body, grown=grown):
            if not difference.pointer and MEMBER in body_of(response):
                continue  # where feedback stands is judged by itself
            yield finding("SRF-GQL-01", difference, request)


def next_request(subject: Subject) -> Iterator[Finding]:
    """A reader who takes what all errors say ends where the vector allows it."""
    for vector, request, response in refusals(subject):
        feedback = _together(_errors(body_of(response)))
        if feedback is not None:
            yield from reader_findings(vector, feedback, vector.request, request)


def _together(errors: list[dict[str, Any]]) -> Json | None:
    """Return what several errors say as one feedback, in their order."""
    feedbacks = [error["extensions"][MEMBER] for error in errors if MEMBER in (error.get("extensions") or {})]
    if len(feedbacks) < 2:
        return feedbacks[0] if feedbacks else None
    return {
        **feedbacks[0],
        "suggestions": [suggestion for each in feedbacks for suggestion in each.get("suggestions", ())],
    }


def _annotated_errors(subject: Subject) -> Iterator[AnnotatedError]:
    for vector, request, response in refusals(subject):
        feedback = _together(_errors(body_of(response)))
        if feedback is not None:
            yield annotated_error(request, response, feedback, vector.request)


_ASKED: Final = HttpRequest(
    "POST", "/graphql", (("Content-Type", "application/json"),), encoded({"query": "{ orders(first: 1) { id } }"})
)
_SUCCESSES: Final[dict[str, Script]] = {
    "an answer without errors": answer(200, {"data": {"orders": [{"id": "7"}]}}),
    "data with a member errors": answer(200, {"data": {"errors": [{"message": "no"}]}, "extensions": {"cost": 1}}),
    "an empty list of errors": answer(200, {"data": None, "errors": []}),
}


def successes(subject: Subject) -> Iterator[Finding]:
    """An answer without errors passes to the byte."""
    if subject.upstream is None:
        raise NotApplicable("what an answer without errors is like is only known of the suite's own upstream")
    for name, upstream_answer in _SUCCESSES.items():
        yield from found("SRF-TRN-01", name, subject.both(_ASKED, upstream_answer), _ASKED)


def _check(name: str, title: str, run: Callable[[Subject], Iterator[Finding]], *requirements: str) -> Check:
    roles = frozenset({"proxy"}) if name == "successes" else frozenset({"producer", "proxy"})
    return Check(f"graphql/{name}", title, requirements, run, profiles=frozenset({PROFILE}), roles=roles)


CHECKS: Final = (
    _check("in-extensions", "Feedback stands in an error's extensions", in_extensions, "SRF-GQL-01"),
    _check("errors-kept", "Errors and data stay", errors_kept, "SRF-GQL-01", "SRF-TRN-03"),
    _check("next-request", "Feedback leads where it may", next_request, "SRF-COR-14"),
    _check("successes", "Answers without errors pass", successes, "SRF-TRN-01"),
    *judged_checks("graphql", PROFILE, _annotated_errors, frozenset({"producer", "proxy"})),
)
