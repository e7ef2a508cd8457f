"""Recorded exchanges: the fixes of a request's feedback must not occur in responses of other modes to that request.

Formats: HAR 1.2, and our own JSON: `{request: {method, path, headers, body}, response: {status, headers, body}}`, one
of them, a list, or one on each line. `fix`, a request that was seen to succeed, counts as an answer too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from corrigible.conformance.model.outcome import UsageError
from corrigible.schema.carrier import find
from corrigible.schema.exchange import Json

from .subject import AuditSubject, SearchScope, answer_texts, digest, fixes_of, parsed
from .text import Text
from .value import Fix, KnownValues, distinct, scalars

_MODE = "recovery-feedback="


@dataclass(slots=True)
class _CapturedRequest:
    """All responses to one request."""

    request: Mapping[str, Json]
    answers: list[tuple[str, Mapping[str, Json], Json]] = field(default_factory=list)
    """The mode, the response as text, its JSON body."""
    fixes: list[Fix] = field(default_factory=list)


def capture_file(path: Path) -> AuditSubject:
    """Read a file of recorded exchanges. Raises UsageError where it is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path}: {getattr(problem, 'strerror', None) or problem}") from None
    requests: dict[str, _CapturedRequest] = {}
    count = 0
    try:
        for request, response, fix in _exchanges(text):
            count += 1
            _take(requests, request, response, fix, path.name)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UsageError(f"{path}: no HAR and no captures: {type(problem).__name__}: {problem}") from None
    subject = AuditSubject("captures", path.name, digest(path), facts={"exchanges": count, "requests": len(requests)})
    for captured in requests.values():
        subject.scopes.append(SearchScope(tuple(_texts(captured, path.name)), distinct(captured.fixes)))
    return subject


def _exchanges(text: str) -> Iterator[tuple[Mapping[str, Json], Mapping[str, Json], Json]]:
    try:
        document = json.loads(text)
    except ValueError:
        document = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(document, Mapping) and "log" in document:
        for entry in document["log"]["entries"]:
            yield _har_request(entry["request"]), _har_response(entry["response"]), None
        return
    for item in document if isinstance(document, list) else [document]:
        yield item["request"], item["response"], item.get("fix")


def _har_request(entry: Mapping[str, Json]) -> dict[str, Json]:
    parts = urlsplit(entry["url"])
    body = (entry.get("postData") or {}).get("text") or ""
    return {
        "method": entry["method"],
        "path": parts.path or "/",
        "query": dict(parse_qsl(parts.query)),
        "headers": {header["name"]: header["value"] for header in entry.get("headers") or ()},
        "body": parsed(body) if parsed(body) is not None else dict(parse_qsl(body)) or body or None,
    }


def _har_response(entry: Mapping[str, Json]) -> dict[str, Json]:
    content = entry.get("content") or {}
    text = content.get("text") or ""
    if content.get("encoding") == "base64":
        text = base64.b64decode(text).decode("utf-8", "replace")
    headers = {header["name"]: header["value"] for header in entry.get("headers") or ()}
    return {"status": entry["status"], "headers": headers, "body": text}


def _take(
    requests: dict[str, _CapturedRequest],
    request: Mapping[str, Json],
    response: Mapping[str, Json],
    fix: Json,
    place: str,
) -> None:
    body = response.get("body")
    if body is None and "grpc_message" in response:
        body = {"message": response["grpc_message"], "details": response.get("details_decoded") or []}
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    document = parsed(text)
    sent = {name: request.get(name) for name in ("method", "path", "query", "body", "message")}
    captured = requests.setdefault(json.dumps(sent, sort_keys=True), _CapturedRequest(sent))
    feedback = find(document) if isinstance(document, Mapping) else None
    if isinstance(feedback, Mapping):
        known_values = KnownValues(sent)
        captured.fixes += [fix for fix in fixes_of(feedback, sent, "capture", place) if fix.value not in known_values]
    for fixed in fix if isinstance(fix, list) else [fix]:
        if isinstance(fixed, Mapping):
            fixed = fixed.get("request") or fixed
            captured.fixes += _differences(
                sent, {name: fixed.get(name) for name in ("path", "query", "body", "message")}, place
            )
    headers = [[name, value] for name, value in _pairs(response.get("headers"))]
    mode = _mode(_pairs(request.get("headers")), headers, document, has_feedback=feedback is not None)
    if mode != "reflective":
        captured.answers.append((mode, {"headers": headers, "body": text}, document))


def _pairs(headers: Json) -> list[tuple[str, str]]:
    if isinstance(headers, Mapping):
        return [(str(name), str(value)) for name, value in headers.items()]
    return [(str(name), str(value)) for name, value in headers or ()]


def _mode(
    request_headers: list[tuple[str, str]], response_headers: list[list[str]], document: Json, *, has_feedback: bool
) -> str:
    for name, value in [*response_headers, *request_headers]:
        if name.lower() in ("preference-applied", "prefer") and _MODE in value:
            return value.partition(_MODE)[2].partition(",")[0].partition(";")[0].strip(' "')
    if has_feedback:
        return "reflective"
    return "verbose" if isinstance(document, Mapping) and "validation_errors" in document else "none"


def _differences(sent: Json, fixed: Json, place: str) -> list[Fix]:
    known_values = KnownValues(sent)
    return [Fix(value, "capture", place, name) for name, value in scalars(fixed) if value not in known_values]


def _texts(captured: _CapturedRequest, where: str) -> Iterator[Text]:
    known_values = KnownValues(captured.request)
    for mode, response, document in captured.answers:
        owner = "ours" if mode == "traditional" else "upstream"
        place = f"{where} {captured.request.get('method')} {captured.request.get('path') or ''}".strip()
        yield from answer_texts(
            response, document, channel=mode, owner=owner, place=place, rule="", known_values=known_values
        )
