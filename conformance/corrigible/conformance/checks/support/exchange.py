"""Vectors as HTTP messages: requests to send, responses to script, and comparison of the result.

Knows: vectors, bytes. Does not know: profiles, where feedback stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.model.vector import Exchange, leads_to
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.native_preserved import Difference
from corrigible.schema.exchange import Json, Request

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
