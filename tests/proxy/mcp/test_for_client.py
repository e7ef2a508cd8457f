"""Questions for a client's user, results in place of errors, the class of a failure: where a client takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_tools_corrector
from corrigible.proxy.mcp.for_client import FAILURE, RESULTS, failure
from corrigible.proxy.mcp.relay import META, Passed, Relay, Tools
from tests._support.rows import rows

SCHEMA = {
    "type": "object",
    "properties": {"limit": {"type": "integer"}, "password": {"type": "string"}, "filter": {"type": "object"}},
    "required": ["limit", "password", "filter"],
}
RIGHT = {"limit": 1, "password": "x", "filter": {}}
ASKS = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
}


def message(method: str, number: int, params: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def session(*, changes_calls: bool = True, **of_tool: Any) -> Relay:
    relay = Relay(Tools(partial(build_tools_corrector, [])), Recorder(), changes_calls=changes_calls)
    relay.of_client(message("tools/list", 1, {}))
    tools = [{"name": "find", "inputSchema": SCHEMA, **of_tool}]
    relay.of_server(json.dumps({"id": 1, "result": {"tools": tools}}).encode())
    return relay


def refusal(number: int, lacking: str, **more: Any) -> bytes:
    text = f"Error executing tool find: {lacking}: Field required"
    result = {"content": [{"type": "text", "text": text}], "isError": True, **more}
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n"


def call(relay: Relay, lacking: str, meta: Mapping[str, Any] = ASKS) -> Any:
    """Return the answer to a call that lacks an argument."""
    arguments = {name: value for name, value in RIGHT.items() if name != lacking}
    relay.of_client(message("tools/call", 2, {"name": "find", "arguments": arguments, **meta}))
    return json.loads(relay.of_server(refusal(2, lacking)))["result"]


def again(relay: Relay, asked: Mapping[str, Any], said: Mapping[str, Any], **changed: Any) -> tuple[bytes, Passed]:
    """Call again with what the user said. Return the message and what becomes of it."""
    arguments = {name: value for name, value in RIGHT.items() if name != "limit"}
    answers = {"inputResponses": {"corrigible": said}, "requestState": asked["requestState"]}
    sent = message("tools/call", 3, {"name": "find", "arguments": arguments, **ASKS, **answers, **changed})
    return sent, relay.of_client(sent)


def test_what_the_user_says_goes_into_the_call() -> None:
    relay = session()
    asked = call(relay, "limit")
    assert asked["resultType"] == "input_required"
    question = asked["inputRequests"]["corrigible"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {"limit": {"type": "integer"}},
        "required": ["limit"],
    }
    assert "Field required" not in json.dumps(question)  # the server's words are no question of ours
    _, passed = again(relay, asked, {"action": "accept", "content": {"limit": 7}})
    assert passed.back == b""
    assert json.loads(passed.on)["params"] == {"name": "find", "arguments": {**RIGHT, "limit": 7}, **ASKS}


def test_a_call_is_asked_about_once() -> None:
    relay = session()
    again(relay, call(relay, "limit"), {"action": "accept", "content": {"limit": -7}})
    result = json.loads(relay.of_server(refusal(3, "limit")))["result"]
    assert result["isError"] is True


@pytest.mark.parametrize("said", [{"action": "decline"}, {"action": "cancel"}, {}, {"action": "accept", "content": {}}])
def test_who_does_not_answer_gets_the_refusal_and_the_server_nothing(said: Mapping[str, Any]) -> None:
    relay = session()
    _, passed = again(relay, call(relay, "limit"), said)
    told = json.loads(passed.back)
    assert passed.on == b""
    assert (told["id"], told["result"]["isError"]) == (3, True)
    assert told["result"]["content"][0]["text"].endswith("limit: Field required")
    assert told["result"]["_meta"][META]["suggestions"]


def test_the_answer_to_a_question_of_the_server_passes() -> None:
    relay = session()
    answer = {"action": "accept", "content": {"limit": 7}}
    sent, passed = again(relay, call(relay, "limit"), answer, requestState="the server's own")
    assert passed == Passed(sent)


@pytest.mark.parametrize(
    "changed", [{"requestState": "corrigible-forgotten"}, {"arguments": {"limit": 1}}, {"name": "delete"}]
)
def test_the_answer_to_a_question_that_is_forgotten_or_another_is_a_call_as_any(changed: Mapping[str, Any]) -> None:
    relay = session()
    sent, passed = again(relay, call(relay, "limit"), {"action": "accept", "content": {"limit": 7}}, **changed)
    params = json.loads(sent)["params"]
    kept = {name: one for name, one in params.items() if name not in ("inputResponses", "requestState")}
    assert (json.loads(passed.on)["params"], passed.back) == (kept, b"")


OLDER = {"_meta": {**ASKS["_meta"], "io.modelcontextprotocol/protocolVersion": "2025-11-25"}}
NO_FORMS = {"_meta": {**ASKS["_meta"], "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}}


@pytest.mark.parametrize(
    ("lacking", "meta"),
    [("limit", {}), ("limit", OLDER), ("limit", NO_FORMS), ("password", ASKS), ("filter", ASKS)],
)
def test_all_others_get_text_as_do_secrets_and_what_no_form_has(lacking: str, meta: Mapping[str, Any]) -> None:
    result = call(session(), lacking, meta)
    assert result["isError"] is True
    assert result["_meta"][META]["suggestions"][0]["placeholders"]


@pytest.mark.parametrize("header", [{}, {"x-mcp-header": "Region"}], ids=["plain", "in a header"])
def test_the_form_of_a_question_is_that_of_the_argument(header: Any) -> None:
    """What a client repeats in a header nobody else can put in."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "maxLength": 9, **header}}}
    relay = session(inputSchema=schema)
    relay.of_client(message("tools/call", 2, {"name": "find", "arguments": {"region": "mars"}, **ASKS}))
    result = {"content": [{"type": "text", "text": "Region 'mars' not found"}], "isError": True}
    got = json.loads(relay.of_server(json.dumps({"jsonrpc": "2.0", "id": 2, "result": result}).encode()))["result"]
    assert got.get("isError", False) is bool(header)
    if not header:
        form = got["inputRequests"]["corrigible"]["params"]["requestedSchema"]["properties"]
        assert form == {"region": {"type": "string", "maxLength": 9}}


def test_who_cannot_change_calls_asks_nothing() -> None:
    assert call(session(changes_calls=False), "limit")["isError"] is True


ERROR = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "limit: Field required"}}


@rows("code", [-32602, -32603])
@rows("where", ["initialize", "call", "nowhere"])
def test_an_error_is_a_result_only_for_who_asks_for_that(where: str, code: int) -> None:
    relay = session()
    capabilities: dict[str, Any] = {"experimental": {RESULTS: {}}}
    relay.of_client(message("initialize", 9, {"capabilities": capabilities if where == "initialize" else {}}))
    meta = {"io.modelcontextprotocol/clientCapabilities": capabilities} if where == "call" else {}
    relay.of_client(message("tools/call", 2, {"name": "find", "arguments": {}, "_meta": meta}))
    error = {**ERROR["error"], "code": code}  # type: ignore[dict-item]
    got = json.loads(relay.of_server(json.dumps({**ERROR, "error": error}).encode()))
    if where == "nowhere" or code != -32602:
        assert {**got["error"], "data": None} == {**error, "data": None}
    else:
        assert got["result"]["isError"] is True
        assert got["result"]["content"][0] == {"type": "text", "text": "limit: Field required"}
        assert got["result"]["_meta"][META]["suggestions"]


@pytest.mark.parametrize("is_declared", [True, False])
def test_structured_content_has_feedback_only_where_the_tool_declares_it(is_declared: bool) -> None:
    properties = {"recovery_feedback" if is_declared else "other": {"type": "object"}}
    relay = session(outputSchema={"type": "object", "properties": properties})
    relay.of_client(message("tools/call", 2, {"name": "find", "arguments": {}}))
    result = json.loads(relay.of_server(refusal(2, "limit", structuredContent={})))["result"]
    assert result["structuredContent"] == ({"recovery_feedback": result["_meta"][META]} if is_declared else {})


@pytest.mark.parametrize(
    ("feedback", "expected"),
    [
        ({"recovery": "correctable", "message": "No."}, ("capability", "invalid_arguments", False)),
        ({"recovery": "transient", "retry": {"same_request": True}}, ("reliability", "unavailable", True)),
        (
            {"recovery": "terminal", "suggestions": [{"action": "ESCALATE"}]},
            ("governance", "needs_somebody_else", False),
        ),
        (
            {"recovery": "terminal", "suggestions": [{"action": "X", "base_action": "NO_RECOVERY_AVAILABLE"}]},
            ("capability", "no_recovery", False),
        ),
    ],
)
def test_the_class_of_a_failure_is_that_of_the_draft(
    feedback: Mapping[str, Any], expected: tuple[str, str, bool]
) -> None:
    told = failure(feedback, "id")
    assert (told["class"], told["code"], told["retryable"]) == expected
    assert told["correlationId"] == "id"
    assert told.get("agentGuidance") == feedback.get("message")


def test_a_result_tells_the_class_of_its_failure() -> None:
    assert call(session(), "limit", {})["_meta"][FAILURE]["class"] == "capability"
