"""Refused calls of tools, as servers that nobody here wrote answered them, and messages that have to pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_tools_corrector
from corrigible.proxy.mcp.relay import META, Relay, Tools
from corrigible.schema.feedback import parse

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text("utf-8"))
"""`right` was written by reading the answer: the edit, or the place that is asked about."""


def relay() -> Relay:
    return Relay(Tools(partial(build_tools_corrector, [])), Recorder())


def request(method: str, number: int, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def listed(session: Relay, server: Mapping[str, Any]) -> None:
    known = {tool["name"] for tool in server["tools"]}
    others = [{"name": name, "inputSchema": {"type": "object"}} for name in server["names"] if name not in known]
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [*server["tools"], *others]}}).encode()
    session.of_client(request("tools/list", 1))
    assert session.of_server(answer) == answer


def called(session: Relay, call: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Return the server's answer, and what the client gets."""
    answer = call["answer"].encode() + b"\n"
    session.of_client(request("tools/call", 2, name=call["tool"], arguments=call["arguments"]))
    return answer, session.of_server(answer)


def said(feedback: Mapping[str, Any]) -> str:
    """Return the first suggestion in the words of `recorded.json`."""
    first = feedback["suggestions"][0]
    if first.get("placeholders"):
        return f"ask {first['placeholders'][0]['pointer']}"
    last = first["patch"][-1]
    if last["op"] == "move":
        return f"move {last['from']} {last['path']}"
    value = last.get("value")
    return f"{last['op']} {last['path']} {value if isinstance(value, str) else json.dumps(value)}"


@pytest.fixture(scope="module")
def answers() -> list[tuple[str, Mapping[str, Any], Mapping[str, Any] | None]]:
    """Return each recorded call with its server and the feedback about it."""
    found = []
    for server in RECORDED:
        session = relay()
        listed(session, server)
        for call in server["calls"]:
            answer, got = called(session, call)
            feedback = feedback_of(json.loads(got))
            assert feedback is not None or got == answer
            found.append((server["server"], call, feedback))
    return found


def test_refusals_of_real_servers_get_the_right_correction(answers: list[Any]) -> None:
    said_of = [(server, call, "nothing" if feedback is None else said(feedback)) for server, call, feedback in answers]
    assert [(*one, one[1]["right"]) for one in said_of if one[2] != one[1]["right"]] == []


def feedback_of(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the feedback, which is in two places of a result, and the same there."""
    if "error" in answer:
        found: Mapping[str, Any] | None = (answer["error"].get("data") or {}).get("recovery_feedback")
        return found
    about = (answer["result"].get("_meta") or {}).get(META)
    if about is not None:
        assert json.loads(answer["result"]["content"][-1]["text"]) == {"recovery_feedback": about}
        parse(about)
    return about


def test_the_answer_keeps_its_bytes_and_the_correction_comes_last() -> None:
    session = relay()
    listed(session, RECORDED[0])
    answer, got = called(session, RECORDED[0]["calls"][0])
    assert set(answer) - set(got) == set()
    native = json.loads(answer)
    corrected = json.loads(got)
    assert corrected["result"]["content"][:-1] == native["result"]["content"]
    del corrected["result"]["content"][-1], corrected["result"]["_meta"]
    assert corrected == native
    assert got.endswith(b"\n")


def test_another_tool_is_never_called_without_a_question() -> None:
    """`get_user` and `set_user` are near, too."""
    session = relay()
    tools = [{"name": "set_user", "inputSchema": {"type": "object"}}]
    listed(session, {"tools": tools, "names": ["set_user"]})
    answer = json.dumps({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Unknown tool: get_user"}})
    _, got = called(session, {"tool": "get_user", "arguments": {}, "answer": answer})
    feedback = feedback_of(json.loads(got))
    assert feedback is not None
    assert all(one["safety"]["requires_confirmation"] for one in feedback["suggestions"])


SCHEMA: Any = {"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]}
TEXT: Any = {"type": "text", "text": "limit must be an integer"}
REFUSED: Any = {"isError": True, "content": [TEXT]}


def ready() -> Relay:
    session = relay()
    listed(session, {"tools": [{"name": "t", "inputSchema": SCHEMA}], "names": ["t"]})
    return session


@pytest.mark.parametrize(
    "answer",
    [
        {"id": 2, "result": {"content": [{"type": "text", "text": "limit must be an integer"}]}},
        {"id": 2, "result": {**REFUSED, "isError": False}},
        {"id": 2, "result": {"isError": True, "content": []}},
        {"id": 2, "result": {"isError": True, "content": [{"type": "image", "data": "", "mimeType": "image/png"}]}},
        {"id": 3, "result": REFUSED},
        {"id": 2, "method": "elicitation/create", "params": REFUSED},
        {"method": "notifications/message", "params": REFUSED},
        {"id": 2, "result": {**REFUSED, "structuredContent": {"recovery_feedback": {"recovery": "terminal"}}}},
        {
            "id": 2,
            "result": {
                **REFUSED,
                "content": [*REFUSED["content"], {"type": "text", "text": '{"recovery_feedback": 1}'}],
            },
        },
        {"id": 2, "error": {"code": -32602, "message": "limit must be an integer", "data": "text"}},
    ],
)
def test_what_is_no_refusal_of_a_call_passes_as_it_is(answer: Mapping[str, Any]) -> None:
    session = ready()
    sent = json.dumps({"jsonrpc": "2.0", **answer}).encode() + b"\n"
    session.of_client(request("tools/call", 2, name="t", arguments={"limit": "x"}))
    assert session.of_server(sent) == sent


def test_the_same_refusal_of_a_call_is_corrected() -> None:
    session = ready()
    sent = json.dumps({"jsonrpc": "2.0", "id": 2, "result": REFUSED}).encode()
    session.of_client(request("tools/call", 2, name="t", arguments={"limit": "7"}))
    feedback = feedback_of(json.loads(session.of_server(sent)))
    assert feedback is not None
    assert said(feedback) == "replace /body/params/arguments/limit 7"


FORGED: Any = {META: {"recovery": "terminal"}, "corrigible/any": 1, "example/kept": 18446744073709551617}


@pytest.mark.parametrize("id", [2, "2", 3], ids=["the call", "its number as text", "no call"])
@pytest.mark.parametrize("result", [REFUSED, {**REFUSED, "isError": False}, {}], ids=["refusal", "success", "empty"])
def test_what_a_server_says_in_our_name_is_taken_away(id: Any, result: Any) -> None:
    session = ready()
    session.of_client(request("tools/call", 2, name="t", arguments={"limit": "x"}))
    sent = json.dumps({"jsonrpc": "2.0", "id": id, "result": {**result, "_meta": FORGED}}).encode() + b"\n"
    got = json.loads(session.of_server(sent))
    meta = got["result"]["_meta"]
    assert meta["example/kept"] == FORGED["example/kept"]
    assert "corrigible/any" not in meta
    assert (META in meta) == (id == 2 and result == REFUSED)
    assert meta.get(META) != FORGED[META]


def test_a_fault_of_a_tool_is_the_calls_where_its_schema_refuses_the_call() -> None:
    """SDKs give the code -32603 to whatever a tool raises."""
    found = {}
    for limit in ("7", 7):
        session = ready()
        message = "Cannot read properties of undefined (reading 'length')"
        sent = json.dumps({"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": message}}).encode()
        session.of_client(request("tools/call", 2, name="t", arguments={"limit": limit}))
        feedback = feedback_of(json.loads(session.of_server(sent)))
        found[limit] = None if feedback is None else said(feedback)
    assert found == {"7": "replace /body/params/arguments/limit 7", 7: None}


@pytest.mark.parametrize("text", ["Request timed out", "connect ECONNREFUSED 127.0.0.1:6379", "Internal error"])
def test_a_call_is_not_said_to_be_at_fault_for_a_server_that_is_away(text: str) -> None:
    """It may have had its effect before: it is not sent again for what its schema refuses."""
    result = {"isError": True, "content": [{**TEXT, "text": text}]}
    for answer in ({"error": {"code": -32603, "message": text}}, {"result": result}):
        session = ready()
        sent = json.dumps({"jsonrpc": "2.0", "id": 2, **answer}).encode() + b"\n"
        session.of_client(request("tools/call", 2, name="t", arguments={"limit": "7"}))
        assert session.of_server(sent) == sent


@pytest.mark.parametrize("text", ["Error executing tool t", "Error calling tool 't'", "Error executing tool t: "])
def test_a_text_that_names_the_tool_alone_says_nothing_of_the_arguments(text: str) -> None:
    """`t` is no argument that the text is about: then nothing but the schema tells what is wrong."""
    found = []
    for limit in ("7", 7):
        session = relay()
        schema = {"type": "object", "properties": {"t": {"type": "string"}, **SCHEMA["properties"]}}
        listed(session, {"tools": [{"name": "t", "inputSchema": schema}], "names": ["t"]})
        refused = {"isError": True, "content": [{"type": "text", "text": text}]}
        answer = json.dumps({"jsonrpc": "2.0", "id": 2, "result": refused})
        _, got = called(session, {"tool": "t", "arguments": {"t": "x", "limit": limit}, "answer": answer})
        feedback = feedback_of(json.loads(got))
        found.append(None if feedback is None else said(feedback))
    assert found == ["replace /body/params/arguments/limit 7", None]


def test_a_near_tool_is_offered_where_it_takes_the_arguments() -> None:
    session = relay()
    tools = [
        {"name": "get_item", "inputSchema": {**SCHEMA, "required": ["limit"]}},
        {"name": "list_items", "inputSchema": {"type": "object"}},
    ]
    listed(session, {"tools": tools, "names": ["get_item", "list_items"]})
    answer = json.dumps({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Unknown tool: get_items"}})
    found = []
    for arguments in ({}, {"limit": 1}):
        _, got = called(session, {"tool": "get_items", "arguments": arguments, "answer": answer})
        feedback = feedback_of(json.loads(got))
        found.append(None if feedback is None else said(feedback))
    assert found == [None, "replace /body/params/name get_item"]


def json_values() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    )


@given(params=json_values(), result=json_values(), listing=json_values(), raw=st.binary(max_size=40))
def test_whatever_comes_passes(params: Any, result: Any, listing: Any, raw: bytes) -> None:
    session = relay()
    for method, number, value, answer in (
        ("tools/list", 1, params, listing),
        ("tools/call", 2, params, result),
        ("tools/call", 3, {"name": "t", "arguments": params}, result),
    ):
        session.of_client(json.dumps({"id": number, "method": method, "params": value}).encode())
        for member in ("result", "error"):
            sent = json.dumps({"id": number, member: answer}).encode()
            assert session.of_server(sent) == sent or feedback_of(json.loads(session.of_server(sent))) is None
    assert session.of_server(raw) == raw
    session.of_client(raw)


def pointers(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, one in value.items():
                if name in ("path", "from", "pointer") and isinstance(one, str):
                    yield one
                elif name == "loses":
                    yield from one
                elif name not in ("parameters", "value", "schema"):
                    yield from pointers(one)
        case list():
            for one in value:
                yield from pointers(one)


def test_pointers_are_about_the_call_that_was_sent(answers: list[Any]) -> None:
    for _, _, feedback in answers:
        assert all(one.startswith("/body/params/") for one in pointers(feedback or {})), feedback


@pytest.mark.parametrize(
    ("annotations", "shown", "sent", "choices"),
    [
        ({"readOnlyHint": True}, '[{"name": "Anna"}, {"name": "Bo"}]', "Ana", ["Anna"]),
        ({"readOnlyHint": True}, "Anna\nBo\n", "Ana", ["Anna"]),
        ({"readOnlyHint": True}, "[" * 100_000, "Ana", None),
        ({"readOnlyHint": True}, "Anna", "Zed", None),
        ({"readOnlyHint": False}, "Anna", "Ana", None),
        (None, "Anna", "Ana", None),
    ],
)
def test_names_that_a_reading_tool_has_shown_are_choices(
    annotations: Any, shown: str, sent: str, choices: list[str] | None
) -> None:
    session = relay()
    tools = [
        {"name": "list_people", "annotations": annotations},
        {"name": "greet", "inputSchema": {"type": "object", "properties": {"person": {"type": "string"}}}},
    ]
    listed(session, {"tools": tools, "names": ["list_people", "greet"]})
    result = {"content": [{"type": "text", "text": shown}]}
    answer = json.dumps({"jsonrpc": "2.0", "id": 2, "result": result})
    _, got = called(session, {"tool": "list_people", "arguments": {}, "answer": answer})
    assert got == answer.encode() + b"\n"
    refused = {"isError": True, "content": [{"type": "text", "text": f"Person '{sent}' not found"}]}
    answer = json.dumps({"jsonrpc": "2.0", "id": 2, "result": refused})
    _, got = called(session, {"tool": "greet", "arguments": {"person": sent}, "answer": answer})
    feedback = feedback_of(json.loads(got))
    assert feedback is not None
    assert said(feedback) == "ask /body/params/arguments/person"
    assert feedback["suggestions"][0]["placeholders"][0].get("schema", {}).get("enum") == choices
