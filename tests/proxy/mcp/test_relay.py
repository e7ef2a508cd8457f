"""Refused calls of tools, as servers that nobody here wrote answered them, and messages that have to pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_tools_corrector
from corrigible.proxy.mcp.relay import META, Relay, Tools
from corrigible.rules.pack.load import load_pack
from corrigible.schema.feedback import parse
from tests._support.rows import rows

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


@rows(
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


@rows("id", [2, "2", 3], ids=["the call", "its number as text", "no call"])
@rows("result", [REFUSED, {**REFUSED, "isError": False}, {}], ids=["refusal", "success", "empty"])
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


@rows(
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


def allowing(folder: Path, members: str) -> Relay:
    """Return a session whose pack says more of the server's tools."""
    manifest = "name: mcp\ntitle: t\nversion: 1.0.0\napi: {name: t}\nlicense: Apache-2.0\nauthor: t\ndialect: mcp\n"
    (folder / "pack.yaml").write_text(manifest + members, "utf-8")
    return Relay(Tools(partial(build_tools_corrector, []), [load_pack(folder)]), Recorder())


PEOPLE: Any = {"name": "list_people", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
OF_TEAM: Any = {**PEOPLE, "inputSchema": {"type": "object", "required": ["team"]}}
GREET: Any = {"name": "greet", "inputSchema": {"properties": {"person": {"type": "string"}}}}
ABSENT: Any = {"isError": True, "content": [{"type": "text", "text": "Person 'Ana' not found, call list_people"}]}
ALLOWED = "lookups: [/tools/list_people]"


def waiting(session: Relay, tool: Any, **arguments: Any) -> tuple[bytes, list[Any]]:
    """Call with a name that is not there. Return what the client gets at once, and what the server is asked."""
    listed(session, {"tools": [tool, GREET], "names": [tool["name"], "greet"]})
    session.of_client(request("tools/call", 2, name="greet", arguments={"person": "Ana", **arguments}))
    out = session.of_server(json.dumps({"jsonrpc": "2.0", "id": 2, "result": ABSENT}).encode() + b"\n")
    return out, [json.loads(session.wanted.pop()[1]) for _ in [*session.wanted]]


def looked_up(asked: Any, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode() + b"\n"


def choices(answer: bytes) -> Any:
    feedback = feedback_of(json.loads(answer))
    assert feedback is not None
    return feedback["suggestions"][0]["placeholders"][0].get("schema", {}).get("enum")


NAMES: Any = {"content": [{"type": "text", "text": "Anna\nBo"}]}


def test_an_allowed_tool_is_asked_for_the_names_that_are_there(tmp_path: Path) -> None:
    session = allowing(tmp_path, ALLOWED)
    out, [asked] = waiting(session, PEOPLE)
    assert (out, asked["method"], asked["params"]) == (b"", "tools/call", {"name": "list_people", "arguments": {}})
    other = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": asked["id"]}}).encode()
    assert session.of_server(other) == other
    answer = session.of_server(looked_up(asked, NAMES))
    assert (json.loads(answer)["id"], choices(answer)) == (2, ["Anna"])
    assert session.of_server(looked_up(asked, NAMES)) == b""  # again: no client has asked that
    assert session.released("2") == b""


@rows(
    ("members", "tool", "arguments"),
    [
        ("", PEOPLE, {}),
        ("lookups: [/tools/list_pets]", PEOPLE, {}),
        (ALLOWED, {**PEOPLE, "annotations": {"readOnlyHint": False}}, {}),
        (ALLOWED, {**PEOPLE, "annotations": {"readOnlyHint": "true"}}, {}),
        (ALLOWED, {**PEOPLE, "annotations": {"destructiveHint": False}}, {}),
        (ALLOWED, {**PEOPLE, "annotations": None}, {}),
        (ALLOWED, OF_TEAM, {}),
        (
            ALLOWED,
            {**OF_TEAM, "inputSchema": {"required": ["team"], "properties": {"team": {"type": "integer"}}}},
            {"team": "x"},
        ),
        (ALLOWED, {**PEOPLE, "inputSchema": {"type": "object", "required": ["person"]}}, {}),
    ],
    ids=["nothing", "another", "writes", "text", "no hint", "none", "lacks", "other type", "the name itself"],
)
def test_no_other_tool_is_called(tmp_path: Path, members: str, tool: Any, arguments: Any) -> None:
    out, asked = waiting(allowing(tmp_path, members), tool, **arguments)
    assert (asked, choices(out)) == ([], None)


def test_a_look_up_has_arguments_of_the_call_and_none_of_the_text(tmp_path: Path) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 7}
    session = allowing(tmp_path, ALLOWED)
    listed(session, {"tools": [OF_TEAM, GREET], "names": ["list_people", "greet"]})
    sent = {"person": "Ana", "team": "red", "more": 1}
    session.of_client(request("tools/call", 2, name="greet", arguments=sent, _meta=meta))
    session.of_server(json.dumps({"jsonrpc": "2.0", "id": 2, "result": ABSENT}).encode())
    [(call, message)] = session.wanted
    params = json.loads(message)["params"]
    assert (call, params["arguments"]) == ("2", {"team": "red"})
    capabilities: Any = {"io.modelcontextprotocol/clientCapabilities": {}}  # nobody can be asked for it
    assert params["_meta"] == {"io.modelcontextprotocol/protocolVersion": "2026-07-28", **capabilities}


@rows(
    "answer",
    [{"isError": True, "content": NAMES["content"]}, {"content": 7}, [], None, {"content": [{"text": "Zed"}]}, "late"],
)
def test_what_no_look_up_finds_is_asked_without_choices(tmp_path: Path, answer: Any) -> None:
    session = allowing(tmp_path, ALLOWED)
    _, [asked] = waiting(session, PEOPLE)
    out = session.released("2") if answer == "late" else session.of_server(looked_up(asked, answer))
    assert choices(out) is None
    assert session.of_server(looked_up(asked, NAMES)) == b""


def test_what_was_found_once_is_not_asked_for_again(tmp_path: Path) -> None:
    session = allowing(tmp_path, ALLOWED)
    _, [asked] = waiting(session, PEOPLE)
    session.of_server(looked_up(asked, NAMES))
    out, again = waiting(session, PEOPLE)
    assert (choices(out), again) == (["Anna"], [])


@settings(max_examples=8)
@given(order=st.permutations(range(6)), late=st.booleans())
def test_many_calls_wait_and_each_gets_its_own_answer(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], late: bool
) -> None:
    session = allowing(tmp_path_factory.mktemp("pack"), ALLOWED)
    listed(session, {"tools": [PEOPLE, GREET], "names": ["list_people", "greet"]})
    for number in range(6):
        session.of_client(request("tools/call", number, name="greet", arguments={"person": "Ana"}))
        session.of_server(json.dumps({"jsonrpc": "2.0", "id": number, "result": ABSENT}).encode())
    wanted = session.wanted
    got = []
    for place in order:
        call, message = wanted[place]
        got.append(session.released(call) if late else session.of_server(looked_up(json.loads(message), NAMES)))
    assert [json.loads(one)["id"] for one in got] == order
    assert all(json.loads(message)["id"].encode() not in b"".join(got) for _, message in wanted)


@pytest.mark.parametrize(
    ("hints", "effects"),
    [(None, "possible"), ({"readOnlyHint": True}, "possible"), ({"readOnlyHint": False}, "certain"), ({}, "possible")],
)
def test_a_hint_makes_no_call_free_of_effects(hints: Any, effects: str) -> None:
    session = relay()
    listed(session, {"tools": [{"name": "t", "inputSchema": SCHEMA, "annotations": hints}], "names": ["t"]})
    answer = json.dumps({"jsonrpc": "2.0", "id": 2, "result": REFUSED})
    _, got = called(session, {"tool": "t", "arguments": {"limit": "7"}, "answer": answer})
    feedback = feedback_of(json.loads(got))
    assert feedback is not None
    assert feedback["suggestions"][0]["safety"]["side_effects"] == effects


REFUSALS = """
error:
  message: [/content/*/text/error, /structuredContent/error]
  refused:
    - {operations: '*', pointer: /content/*/text/success, equals: false}
    - {operations: '*', pointer: /structuredContent/error, exists: true}
    - {operations: t, pointer: /content/*/text, begins: 'Error:'}
"""


@rows(
    ("result", "is_refused"),
    [
        ({"content": [{"type": "text", "text": '{"success": false, "error": "limit must be an integer"}'}]}, True),
        ({"content": [], "structuredContent": {"error": "limit must be an integer"}}, True),
        ({"content": [{"type": "text", "text": "Error: limit must be an integer"}]}, True),
        ({"content": [{"type": "text", "text": "limit must be an integer"}]}, False),
        ({"content": [{"type": "text", "text": '{"success": true, "error": "limit must be an integer"}'}]}, False),
        ({"content": [{"type": "text", "text": "{" * 100_000}, 7, None]}, False),
        ({"content": 7}, False),
        ({}, False),
    ],
)
def test_a_pack_says_which_results_are_refusals(tmp_path: Path, result: Any, is_refused: bool) -> None:
    session = allowing(tmp_path, REFUSALS)
    listed(session, {"tools": [{"name": "t", "inputSchema": SCHEMA}], "names": ["t"]})
    answer, got = called(
        session,
        {"tool": "t", "arguments": {"limit": "7"}, "answer": json.dumps({"jsonrpc": "2.0", "id": 2, "result": result})},
    )
    if not is_refused:
        assert got == answer
        return
    feedback = feedback_of(json.loads(got))
    assert feedback is not None
    assert said(feedback) == "replace /body/params/arguments/limit 7"
    assert "isError" not in json.loads(got)["result"]
    assert called(ready(), {"tool": "t", "arguments": {"limit": "7"}, "answer": answer.decode().strip()})[1] == answer
