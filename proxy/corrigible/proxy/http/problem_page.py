"""An HTML page or an empty body as a problem document (RFC 9457), for callers who prefer JSON.

Knows: `Accept`, the members of a problem document. Does not know: what the page or the feedback says.
"""

from __future__ import annotations

import re
from http.client import responses
from typing import Final

import orjson

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.embed.json_splice import MEMBER, splice
from corrigible.schema.exchange import Json

from .messages import Headers

_MEDIA_TYPE: Final = "application/problem+json"
# RFC 9110 section 12.5.1: Accept = #( media-range [ weight ] ); section 12.4.2: weight = OWS ";" OWS "q=" qvalue
_WEIGHT: Final = re.compile(r";\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)", re.IGNORECASE)
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json")
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml", "text/*"})


def prefers_json(headers: Headers) -> bool:
    """Whether `Accept` names JSON, and pages of HTML with less weight or not at all."""
    of_json = of_pages = 0.0
    for value in (value for name, value in headers if name.lower() == "accept"):
        for media_range in value.split(","):
            media = media_range.partition(";")[0].strip().lower()
            given = _WEIGHT.search(media_range)
            weight = 1.0 if given is None else float(given[1])
            if _JSON.fullmatch(media):
                of_json = max(of_json, weight)
            elif media in _PAGES:
                of_pages = max(of_pages, weight)
    return of_json > of_pages


def is_no_document(headers: Headers, body: bytes) -> bool:
    """Whether an answer is an HTML page, or empty: a program that asked for JSON can read nothing in it."""
    return not body or any(
        name.lower() == "content-type" and value.strip().lower().startswith("text/html") for name, value in headers
    )


def headers_of_problem(headers: Headers) -> Headers:
    """Return the headers of a page or an empty body for the problem document in its place."""
    named = [(name, _MEDIA_TYPE if name.lower() == "content-type" else value) for name, value in headers]
    missing = [] if any(name.lower() == "content-type" for name, _ in headers) else [("Content-Type", _MEDIA_TYPE)]
    return [*named, *missing, ("Vary", "Accept")]


def problem_document(status: int, decision: Annotate) -> bytes:
    """Return the text of a page, if there is one, and the feedback as one JSON object."""
    problem: dict[str, Json] = {"type": "about:blank", "status": status}
    if status in responses:
        problem["title"] = responses[status]
    if isinstance(decision.case.text, str) and decision.case.text:
        problem["detail"] = decision.case.text
    return splice(orjson.dumps(problem), problem, {"": [b'"' + MEMBER.encode() + b'":' + decision.encoded]})
