"""Checks of the profile mcp: tool errors get one more text item, protocol errors more data; nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.checks.support import exchange
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.finding import ABSENT, Finding
from corrigible.conformance.validators.native_preserved import differences
from corrigible.schema.carrier import find
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER

PROFILE: Final = "mcp"
_GROWN: Final = frozenset({"/result/content", "/result/_meta", "/error", "/error/data"})
_ELSEWHERE: Final = ("/jsonrpc", "/id", "/result/isError", "/error/code", "/error/message", "/result/structuredContent")
"""What is judged by itself."""
_ADDED: Final = ("structuredContent", "_meta")
"""Members of a result: one is judged by itself, the other is the protocol's place for what a host may not know."""


def _at(body: Json, *names: str) -> Json:
    for name in names:
        if not isinstance(body, dict) or name not in body:
            return ABSENT
        body = body[name]
    return body


def kind_kept(subject: Subject) -> Iterator[Finding]:
    """A tool error stays a tool error, a protocol error a protocol error with its code and message; the id stays."""
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        native, body = vector.answer["body"], exchange.body_of(response)
        for names in (("jsonrpc",), ("id",), ("result", "isError"), ("error", "code"), ("error", "message")):
            expected, actual = _at(native, *names), _at(body, *names)
            if type(expected) is not type(actual) or expected != actual:
                yield Finding("SRF-MCP-01", f"{'.'.join(names)} changed", expected, actual, request)
        yield from exchange.status_changed(vector, request, response)


def answer_kept(subject: Subject) -> Iterator[Finding]:
    """What the tool said comes first, as it was."""
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        if not set(vector.answer["body"]) <= set(exchange.body_of(response)):
            continue  # of another kind: judged by itself
        for difference in differences(exchange.encoded(vector.answer["body"]), response.body, grown=_GROWN):
            lone = difference.pointer == "/result" and any(one in difference.message for one in _ADDED)
            if not (lone or "isError" in difference.message or difference.pointer.startswith(_ELSEWHERE)):
                yield exchange.finding("SRF-TRN-05", difference, request)


def text_item(subject: Subject) -> Iterator[Finding]:
    """A tool error gets one more text item that is JSON; a protocol error gets the member in its data."""
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        body = exchange.body_of(response)
        silent = any(way.get("silent") for way in vector.allowed)
        if isinstance(vector.answer["body"].get("error"), dict):
            data = _at(body, "error", "data")
            if not (isinstance(data, dict) and isinstance(data.get(MEMBER), dict)) and not silent:
                sentence = f"{vector.description} error.data has no {MEMBER}"
                yield Finding("SRF-MCP-02", sentence, {MEMBER: "..."}, data, request)
            continue
        added = _added(vector.answer["body"], body)
        if not added and not silent:
            yield Finding(
                "SRF-MCP-02", f"{vector.description} No item was added to content", "one item more", body, request
            )
        for item in added:
            yield from _item(item, request)


def _added(native: Mapping[str, Any], body: Mapping[str, Any]) -> list[Any]:
    before, after = _at(native, "result", "content"), _at(body, "result", "content")
    return after[len(before) :] if isinstance(before, list) and isinstance(after, list) else []


def _item(item: Json, request: HttpRequest) -> Iterator[Finding]:
    text = item.get("text") if isinstance(item, dict) and item.get("type") == "text" else None
    if not isinstance(text, str):
        yield Finding("SRF-MCP-02", "an added item is no text item", {"type": "text", "text": "{...}"}, item, request)
        return
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not (isinstance(document, dict) and isinstance(document.get(MEMBER), dict)):
        yield Finding(
            "SRF-MCP-02", f"an added text item is no JSON object with {MEMBER}", {MEMBER: "..."}, text, request
        )


def structured_content(subject: Subject) -> Iterator[Finding]:
    """structuredContent is described by the tool's outputSchema: it stays, and none is made."""
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        expected = _at(vector.answer["body"], "result", "structuredContent")
        content = _at(exchange.body_of(response), "result", "structuredContent")
        if expected != content:
            yield Finding("SRF-MCP-03", "structuredContent is not what the tool gave", expected, content, request)


def _explained(subject: Subject) -> Iterator[exchange.Explained]:
    for vector, request, response in exchange.refusals_of(PROFILE, subject):
        feedback = find(exchange.body_of(response))
        if feedback is not None:
            yield exchange.Explained(vector, request, response, feedback, vector.request)


led: Final = exchange.leading(_explained)
judged: Final = exchange.judging(_explained)
