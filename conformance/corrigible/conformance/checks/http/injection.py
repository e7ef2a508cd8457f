"""Checks: no text from an upstream gets into feedback, wherever the upstream puts it (SRF-SEC-01, SRF-SEC-02).

The reference upstream refuses what is wrong by its description, and puts a hostile text into one place after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.conformance.checks.support import exchange
from corrigible.conformance.checks.support.exchange import ASK
from corrigible.conformance.model.vector import request_of
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse, KeepAlive
from corrigible.conformance.validators.finding import Finding, texts
from corrigible.conformance.validators.trust import hidden
from corrigible.schema.exchange import Json

_ENOUGH: Final = 80


Payload = Mapping[str, Any]
"""A hostile text, its kind and id, and the markers by which it is found."""


def payloads() -> Sequence[Payload]:
    """Return the hostile texts."""
    found: Sequence[Payload] = exchange.listed("injection", "payloads")
    return found


def with_text(value: Any, text: str) -> Any:
    """Return a value with a text in each of its places, names of members too."""
    match value:
        case str():
            return value.replace("{text}", text)
        case list():
            return [with_text(inner, text) for inner in value]
        case dict():
            return {with_text(name, text): with_text(inner, text) for name, inner in value.items()}
    return value


def refusal(profile: str, place: Mapping[str, Any], text: str) -> Script:
    """Return the refusal that has a text in a place."""
    said = {**place["answer"], **(place.get("problem", {}) if profile == "problem+json" else {})}
    token = re.sub(r"[^A-Za-z0-9-]", "-", text)[:60] or "x"
    in_header = re.sub(r"[^\x20-\x7e]", " ", text)[:1000].strip() or "x"
    headers = [(with_text(name, token), with_text(value, in_header)) for name, value in said.pop("headers", ())]
    return exchange.native(profile, headers=headers, **with_text(said, text))


def tried(subject: Subject) -> Iterator[tuple[str, Payload, HttpRequest, HttpResponse]]:
    """Put every text into every place, and yield what came back."""
    for place in exchange.listed("injection", "places"):
        request = exchange.below(subject, request_of(exchange.listed("injection", "requests")[place["request"]]))
        with KeepAlive() as line:
            for payload in payloads():
                with exchange.answering_for_upstream(subject, _answering(subject.profile, place, payload)):
                    sent = exchange.as_sent(request).adding(ASK, subject.caller())
                    yield place["name"], payload, sent, exchange.send_for_answer(subject, sent, line)


def _answering(profile: str, place: Mapping[str, Any], payload: Payload) -> Callable[[Received], Script | None]:
    script, listed = refusal(profile, place, payload["text"]), with_text(place.get("looked_up", {}), payload["text"])

    def says(received: Received) -> Script | None:
        path = received.sent.target.partition("?")[0]
        if received.sent.method == "GET" and path in listed:
            return answer(200, listed[path])
        return exchange.NO_TRIAL if exchange.is_trial(received.sent) else script

    return says


def not_repeated(subject: Subject) -> Iterator[Finding]:
    spoke = count = 0
    for place, payload, sent, response in tried(subject):
        count += 1
        if response.feedback is not None:
            spoke += 1
            yield from _repeated(place, payload, sent, response.feedback)
        if count == _ENOUGH and not spoke:
            break  # whoever says nothing about a plain fault says nothing
    if not spoke:
        yield exchange.no_feedback(count, "SRF-SEC-01")


def _repeated(place: str, payload: Payload, request: HttpRequest, feedback: Mapping[str, Json]) -> Iterator[Finding]:
    whole = json.dumps(feedback, ensure_ascii=False)
    repeated_forms = [
        form for form in (payload["text"], *payload["markers"]) if form in whole or json.dumps(form)[1:-1] in whole
    ]
    if repeated_forms:
        sentence = f"A text of the upstream ({payload['kind']}) got into the feedback from {place}."
        yield Finding("SRF-SEC-01", sentence, f"nothing of {payload['id']}", dict(feedback), request)
    if names := hidden("".join(text for _, text in texts(feedback))):
        sentence = f"Characters that nobody sees got into the feedback from {place}."
        yield Finding("SRF-SEC-02", sentence, f"nothing of {payload['id']}", names, request)
