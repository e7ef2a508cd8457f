"""Checks of the profile graphql: feedback is in the `extensions` of its error, and everything else is unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.checks.support import exchange
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.native_preserved import differences
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER

PROFILE: Final = "graphql"
_MOST: Final = 32
"""Errors of one answer that may carry feedback."""
_GROWN: Final = frozenset(
    {"/errors", *(f"/errors/{at}" for at in range(_MOST)), *(f"/errors/{at}/extensions" for at in range(_MOST))}
)


def in_extensions(subject: Subject) -> Iterator[Finding]:
    """Feedback stands in the extensions of the error that it is about, and nowhere else."""
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        body = exchange.body_of(response)
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
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        yield from exchange.status_changed(vector, request, response)
        grown = _GROWN - {"/errors"}
        for difference in differences(exchange.encoded(vector.answer["body"]), response.body, grown=grown):
            if not difference.pointer and MEMBER in exchange.body_of(response):
                continue  # where feedback stands is judged by itself
            yield exchange.finding("SRF-GQL-01", difference, request)


def _together(errors: list[dict[str, Any]]) -> Json | None:
    """Return what several errors say as one feedback, in their order."""
    feedbacks = [error["extensions"][MEMBER] for error in errors if MEMBER in (error.get("extensions") or {})]
    if len(feedbacks) < 2:
        return feedbacks[0] if feedbacks else None
    return {
        **feedbacks[0],
        "suggestions": [suggestion for each in feedbacks for suggestion in each.get("suggestions", ())],
    }


def _explained(subject: Subject) -> Iterator[exchange.Explained]:
    """A reader takes what all errors say."""
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        feedback = _together(_errors(exchange.body_of(response)))
        if feedback is not None:
            yield exchange.Explained(vector, request, response, feedback, vector.request)


led: Final = exchange.leading(_explained)
judged: Final = exchange.judging(_explained)
