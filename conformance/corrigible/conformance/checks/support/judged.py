"""Checks that validate the feedback of a profile's vectors by itself.

Knows: which judge holds which requirements. Does not know: where a profile's feedback stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators import edit, intent, shape, trust
from corrigible.conformance.validators import retry as pace
from corrigible.conformance.validators.annotated_error import AnnotatedError, Registered
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json, Request

Judge = Callable[[AnnotatedError], Iterator[Finding]]
Answers = Callable[[Subject], Iterator[AnnotatedError]]

_HELD: Final[Mapping[str, tuple[str, Judge, tuple[str, ...]]]] = {
    "shape": (
        "Feedback has the contract's shape",
        shape.judge,
        tuple(f"SRF-COR-{number}" for number in ("02", "03", "04", "05", "06", "12", "13", "16")),
    ),
    "edits": (
        "Suggestions apply",
        edit.judge,
        tuple(f"SRF-OPS-{number}" for number in ("01", "02", "03", "05", "06", "07", "08", "10", "11")),
    ),
    "intent": (
        "Suggestions say what they change and what they lose",
        intent.judge,
        ("SRF-OPS-09", "SRF-OPS-13"),
    ),
    "effects": ("Suggestions say what they set off", intent.judge, ("SRF-OPS-12",)),
    "waits": (
        "Waits are the upstream's, and end",
        pace.judge,
        tuple(f"SRF-RTY-{number}" for number in ("01", "02", "03", "04", "05")),
    ),
    "words": (
        "Words are clean, claims can be counted, secrets stay",
        trust.judge,
        tuple(f"SRF-SEC-{number}" for number in ("02", "03", "05", "10")),
    ),
}
_ONLY: Final[Mapping[str, frozenset[str]]] = {"effects": frozenset({"kubernetes-api"})}
"""What cannot be told everywhere: in the other profiles reading and writing have the same method."""
_LONG: Final = re.compile(r"[\w-]{12,}")


def annotated_error(
    sent_request: HttpRequest,
    response: HttpResponse,
    feedback: Json,
    request: Request,
    vocabulary: Mapping[str, Registered] | None = None,
) -> AnnotatedError:
    """Return what a judge looks at. The credentials of the request are what nobody may repeat."""
    credentials = _LONG.findall(sent_request.header("authorization") or "")
    return AnnotatedError(
        request=request,
        feedback=feedback,
        status=response.status,
        headers={name.lower(): value for name, value in response.headers},
        vocabulary=vocabulary or {},
        secrets=tuple(credentials),
        sent=sent_request,
    )


def checks(prefix: str, profile: str, answers: Answers, roles: frozenset[str]) -> tuple[Check, ...]:
    """Return the checks that judge every feedback of a profile."""
    return tuple(
        Check(f"{prefix}/{name}", title, requirements, _run(judge, requirements, answers), frozenset({profile}), roles)
        for name, (title, judge, requirements) in _HELD.items()
        if profile in _ONLY.get(name, (profile,))
    )


def _run(judge: Judge, requirements: tuple[str, ...], answers: Answers) -> Callable[[Subject], Iterator[Finding]]:
    def run(subject: Subject) -> Iterator[Finding]:
        for annotated_error in answers(subject):
            yield from (finding for finding in judge(annotated_error) if finding.requirement in requirements)

    return run
