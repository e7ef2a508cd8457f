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
from corrigible.rules.lookup_headers import media_ranges
from corrigible.schema.exchange import Json

from .messages import Headers

_MEDIA_TYPE: Final = "application/problem+json"
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json")
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml", "text/*"})


def prefers_json(headers: Headers) -> bool:
    """Whether `Accept` names JSON, and pages of HTML with less weight or not at all."""
    ranges = media_ranges(", ".join(value for name, value in headers if name.lower() == "accept"))
    of_json = max((one.weight for one in ranges if _JSON.fullmatch(one.media)), default=0.0)
    return of_json > max((one.weight for one in ranges if one.media in _PAGES), default=0.0)


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
