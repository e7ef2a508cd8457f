"""Requests that the reference API refuses with errors that a subject knows, and how to compare the responses.

Knows: the reference API's requests, and how to tell what became of an answer. Does not know: requirements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.content_coding import OFFERED, decoded
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, HttpResponse
from corrigible.conformance.validators.native_preserved import Difference, differences
from corrigible.schema.exchange import Json

from .headers import ASK, JSON

ORDER: Final[Json] = {
    "customer": "cus_ada",
    "currency": "usdd",
    "channel": "web",
    "lines": [{"sku": "tea", "quantity": 1}],
}
KNOWN: Final = HttpRequest(
    "POST", "/v1/orders", (JSON, ("Accept-Encoding", OFFERED), ASK), json.dumps(ORDER, separators=(",", ":")).encode()
)
"""One letter too many in a currency: the description alone says what was meant."""
QUERY: Final = HttpRequest("GET", "/v1/orders?sort=creatd", (("Accept-Encoding", OFFERED), ASK))
NEEDS_A_LOOK: Final = HttpRequest(
    "POST", "/v1/refunds", (JSON, ("Accept-Encoding", OFFERED), ASK), b'{"order":"ord_1","amount":500}'
)
"""How much is left to refund stands in no description: one has to look."""
OURS: Final = frozenset({"recovery_feedback", "recovery_feedback_proxy", "validation_errors"})
"""What the contract has a proxy add to a JSON object."""
_PLACES: Final = frozenset({"", "/error"})


def native(subject: Subject, request: HttpRequest = KNOWN) -> HttpResponse:
    """Return what the upstream itself says. Raises CouldNotTell where it does not refuse."""
    response = (subject.direct or HttpClient(subject.suite_upstream.url)).send(request.adding(subject.caller()))
    if response.status < 400 or response.error is not None:
        raise CouldNotTell(
            f"the reference API answers {request.method} {request.target} with {response.status}, not a refusal"
        )
    return response


def as_script(
    response: HttpResponse,
    *,
    body: bytes | None = None,
    headers: Iterable[tuple[str, str]] = (),
    status: int | None = None,
) -> Script:
    """Return that answer as a script, with another body or more headers."""
    own = {name.lower() for name, _ in headers}
    fields = [header for header in response.headers if header[0].lower() not in own | {"content-length"}]
    return answer(
        status or response.status, response.body if body is None else body, [*fields, *headers], reason=response.reason
    )


def decoded_body(response: HttpResponse) -> bytes:
    """Return the body without its coding. Raises ValueError where that cannot be undone."""
    return decoded(response.body, ", ".join(response.values("content-encoding")))


def feedback(response: HttpResponse) -> Json:
    """Return the feedback in an answer, coded or not; None where there is none."""
    try:
        body = decoded_body(response)
    except ValueError:
        return None
    feedback = HttpResponse(response.status, response.reason, response.headers, body).feedback
    return None if feedback is None else dict(feedback)


def linked(response: HttpResponse) -> bool:
    """Whether a header points to feedback, since the body has no place for it."""
    return any(
        'rel="recovery-feedback"' in value or "rel=recovery-feedback" in value for value in response.values("link")
    )


def has_feedback(pair: Pair) -> bool:
    """Whether the subject added feedback."""
    return linked(pair.through) or (pair.through.body != pair.direct.body and feedback(pair.through) is not None)


def native_differences(pair: Pair) -> list[Difference]:
    """Return what became of the native members: those gone, moved or rewritten, and those nobody asked for."""
    before = decoded_body(pair.direct)
    try:
        after = decoded_body(pair.through)
    except ValueError as problem:
        return [Difference("", f"the body cannot be decoded: {problem}", before.decode("utf-8", "replace"))]
    out = list(differences(before, after, grown=_PLACES))
    try:
        was, is_now = json.loads(before), json.loads(after)
    except ValueError:
        return out
    for place in _PLACES:
        old, new = _at(was, place), _at(is_now, place)
        if isinstance(old, dict) and isinstance(new, dict):
            foreign = sorted(set(new) - set(old) - OURS)
            if foreign:
                sentence = f"members were added that are no feedback: {', '.join(foreign)}"
                out.append(Difference(place, sentence, [], list(foreign)))
    return out


def require_feedback(answers: Iterable[bool]) -> None:
    """Raise NotApplicable where the subject added nothing to any of these."""
    if not any(answers):
        raise NotApplicable("the subject adds nothing to the reference API's errors, so there is nothing to look at")


def _at(value: Json, place: str) -> Json:
    return value if place == "" else value.get(place[1:]) if isinstance(value, dict) else None
