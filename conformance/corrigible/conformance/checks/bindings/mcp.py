"""Checks of the profile mcp: tool errors get one more text item, protocol errors more data; nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.checks.support.exchange import (
    annotated_error,
    body_of,
    encoded,
    finding,
    judged_checks,
    reader_findings,
    require_answer,
    script,
    sent,
)
from corrigible.conformance.checks.support.known_error import found
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.model.vector import Exchange, exchange
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import ABSENT, AnnotatedError, Finding
from corrigible.conformance.validators.native_preserved import differences
from corrigible.schema.carrier import find
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER

PROFILE: Final = "mcp"
_GROWN: Final = frozenset({"/result/content", "/error", "/error/data"})
_ELSEWHERE: Final = ("/jsonrpc", "/id", "/result/isError", "/error/code", "/error/message", "/result/structuredContent")
"""What is judged by itself."""


def refusals(subject: Subject) -> Iterator[tuple[Exchange, HttpRequest, HttpResponse]]:
    """Yield every refused call; the upstream of a proxy gives the vector's answer."""
    for vector in exchange(PROFILE):
        request = sent(vector.request)
        response = subject.through(request, script(vector.answer) if subject.upstream is not None else None)
        yield vector, request, require_answer(response)


def _at(body: Json, *names: str) -> Json:
    for name in names:
        if not isinstance(body, dict) or name not in body:
            return ABSENT
        body = body[name]
    return body


def kind_kept(subject: Subject) -> Iterator[Finding]:
    """A tool error stays a tool error, a protocol error a protocol error with its code and message; the id stays."""
    for vector, request, response in refusals(subject):
        native, body = vector.answer["body"], body_of(response)
        for names in (("jsonrpc",), ("id",), ("result", "isError"), ("error", "code"), ("error", "message")):
            expected, actual = _at(native, *names), _at(body, *names)
            if type(expected) is not type(actual) or expected != actual:
                yield Finding("SRF-MCP-01", f"{'.'.join(names)} changed", expected, actual, request)
        if response.status != vector.answer["status"]:
            yield Finding("SRF-TRN-03", "the status code changed", vector.answer["status"], response.status, request)


def answer_kept(subject: Subject) -> Iterator[Finding]:
    """What the tool said comes first, as it was."""
    for vector, request, response in refusals(subject):
        if not set(vector.answer["body"]) <= set(body_of(response)):
            continue  # of another kind: judged by itself
        for difference in differences(encoded(vector.answer["body"]), response.body, grown=_GROWN):
            lone = difference.pointer == "/result" and "structuredContent" in difference.message
            if not (lone or "isError" in difference.message or difference.pointer.startswith(_ELSEWHERE)):
                yield finding("SRF-TRN-05", difference, request)


def text_item(subject: Subject) -> Iterator[Finding]:
    """A tool error gets one more text item that is JSON; a protocol error gets the member in its data."""
    for vector, request, response in refusals(subject):
        body = body_of(response)
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
    for vector, request, response in refusals(subject):
        expected = _at(vector.answer["body"], "result", "structuredContent")
        content = _at(body_of(response), "result", "structuredContent")
        if expected != content:
            yield Finding("SRF-MCP-03", "structuredContent is not what the tool gave", expected, content, request)


def next_request(subject: Subject) -> Iterator[Finding]:
    """A reader of the feedback ends where the vector allows it."""
    for vector, request, response in refusals(subject):
        feedback = find(body_of(response))
        if feedback is not None:
            yield from reader_findings(vector, feedback, vector.request, request)


def _annotated_errors(subject: Subject) -> Iterator[AnnotatedError]:
    for vector, request, response in refusals(subject):
        feedback = find(body_of(response))
        if feedback is not None:
            yield annotated_error(request, response, feedback, vector.request)


def _call(method: str, **params: Json) -> HttpRequest:
    body = encoded({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    return HttpRequest("POST", "/mcp", (("Content-Type", "application/json"),), body)


def _result(**result: Json) -> Script:
    return answer(200, {"jsonrpc": "2.0", "id": 7, "result": result})


_TEXT: Final = {"type": "text", "text": '{"isError": true, "error": "a text that only says so"}'}
_SUCCESSES: Final[dict[str, tuple[HttpRequest, Script]]] = {
    "a tool's result": (_call("tools/call", name="get_order"), _result(content=[_TEXT], isError=False)),
    "a result without isError": (_call("tools/call", name="get_order"), _result(content=[_TEXT])),
    "a list of tools": (_call("tools/list"), _result(tools=[{"name": "get_order", "inputSchema": {"type": "object"}}])),
    "an answer as a stream": (
        _call("tools/call", name="get_order"),
        answer(200, b'data: {"jsonrpc":"2.0","id":7,"result":{}}\n\n', (("Content-Type", "text/event-stream"),)),
    ),
    "a notification": (_call("notifications/initialized"), answer(202, b"")),
}


def successes(subject: Subject) -> Iterator[Finding]:
    """Results that are no errors, lists and streams pass to the byte."""
    if subject.upstream is None:
        raise NotApplicable("what a result without fault is like is only known of the suite's own upstream")
    for name, (request, upstream_answer) in _SUCCESSES.items():
        yield from found("SRF-TRN-01", name, subject.both(request, upstream_answer), request)


def _check(name: str, title: str, run: Callable[[Subject], Iterator[Finding]], *requirements: str) -> Check:
    roles = frozenset({"proxy"}) if name == "successes" else frozenset({"producer", "proxy"})
    return Check(f"mcp/{name}", title, requirements, run, profiles=frozenset({PROFILE}), roles=roles)


CHECKS: Final = (
    _check("kind-kept", "Tool errors and protocol errors stay apart", kind_kept, "SRF-MCP-01", "SRF-TRN-03"),
    _check("answer-kept", "What the tool said stays first", answer_kept, "SRF-TRN-05"),
    _check("text-item", "Feedback is text that is JSON", text_item, "SRF-MCP-02"),
    _check("structured-content", "structuredContent stays the tool's", structured_content, "SRF-MCP-03"),
    _check("next-request", "Feedback leads where it may", next_request, "SRF-COR-14"),
    _check("successes", "Results without fault pass", successes, "SRF-TRN-01"),
    *judged_checks("mcp", PROFILE, _annotated_errors, frozenset({"producer", "proxy"})),
)
