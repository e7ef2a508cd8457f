"""Vectors as HTTP messages, and the checks that validate the feedback of a profile's vectors by itself.

Knows: vectors, bytes, which judge holds which requirements. Does not know: profiles, where feedback stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.model.vector import Exchange, leads_to
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators import edit, intent, shape, trust
from corrigible.conformance.validators.finding import AnnotatedError, Finding, Registered
from corrigible.conformance.validators.native_preserved import Difference
from corrigible.schema.exchange import Json, Request

JSON: Final = ("Content-Type", "application/json")
ASK: Final = ("Prefer", "recovery-feedback=reflective")
"""Sent throughout: a proxy that was not asked for feedback has nothing to add anyway."""


JUDGES: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (
    shape.judge,
    edit.judge,
    intent.judge,
    intent.judge_guesses,
    trust.judge_retries,
    trust.judge,
)


def feedback_findings(annotated: AnnotatedError, requirements: frozenset[str] | None = None) -> Iterator[Finding]:
    """Yield what is wrong, of the given requirements or of all. What is no feedback at all is only said to be none."""
    if not isinstance(annotated.feedback, Mapping):
        findings = shape.judge(annotated)
    else:
        findings = (finding for judge in JUDGES for finding in judge(annotated))
    yield from (finding for finding in findings if requirements is None or finding.requirement in requirements)


_JSON: Final = ("Content-Type", "application/json")


def sent(request: Request) -> HttpRequest:
    """Return a request document as it goes out, its body as JSON."""
    query = urlencode(dict(request.query), doseq=True)
    body = b"" if request.body is None else encoded(request.body)
    headers = [(name.title(), value) for name, value in request.headers.items()]
    if body and not any(name == "Content-Type" for name, _ in headers):
        headers.append(_JSON)
    return HttpRequest(request.method, request.path + (f"?{query}" if query else ""), tuple(headers), body)


def script(native: Mapping[str, Any]) -> Script:
    """Return the script that gives a vector's answer."""
    headers = [
        (name.title(), item)
        for name, value in native.get("headers", {}).items()
        for item in (value if isinstance(value, list) else [value])
    ]
    body = native.get("body")
    text = native["text"].encode() if "text" in native else b"" if body is None else encoded(body)
    return answer(native["status"], text, headers)


def encoded(value: Json) -> bytes:
    """Return compact JSON, members in their order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def require_answer(response: HttpResponse) -> HttpResponse:
    """Raise CouldNotTell where there was no whole answer."""
    if response.status == 0 or response.error is not None:
        raise CouldNotTell(response.error or "there was no answer")
    return response


def body_of(response: HttpResponse) -> Mapping[str, Any]:
    """Return the JSON object of an answer, an empty one where there is none."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def finding(requirement: str, difference: Difference, request: HttpRequest) -> Finding:
    """Return the finding about a difference."""
    place = f"/body{difference.pointer}"
    return Finding(requirement, difference.message, difference.expected, difference.got, request, place=place)


def reader_findings(
    vector: Exchange,
    feedback: Json | None,
    request: Request,
    sent_request: HttpRequest,
    requirement: str = "SRF-COR-14",
) -> Iterator[Finding]:
    """Yield where feedback leads a reader that its vector does not allow."""
    problem = leads_to(vector.allowed, feedback, request)
    if problem is not None:
        sentence = f"{vector.description} That is not where the feedback leads: {problem}"
        yield Finding(requirement, sentence, [dict(way) for way in vector.allowed], feedback, sent_request)


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
        trust.judge_retries,
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


def judged_checks(prefix: str, profile: str, answers: Answers, roles: frozenset[str]) -> tuple[Check, ...]:
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
