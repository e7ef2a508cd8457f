"""Feedback in GraphQL errors, JSON-RPC errors and tool results: every native byte stays, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.schema.carrier import find

JSON = [("Content-Type", "application/json")]
MEMBER = "recovery_feedback"
RULE = """\
match: {message: amount}
suggest:
  - action: MODIFY_PARAMS
    message: Send less.
    ask: [{pointer: "error.pointer == '' ? '/body' : error.pointer", schema: {}}]
diagnosis: The amount is too large.
"""
QUERY = {"query": "query($amount: Int!, $b: Int!) { f(a: $amount, b: $b) }", "variables": {"amount": 9, "b": 8}}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f", "arguments": {"amount": 9}}}


@pytest.fixture(scope="module", params=["graphql", "mcp"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pack(folder: Path, dialect: str, rule: str = RULE) -> Path:
    made = folder / "apex"
    made.mkdir()
    head = "name: apex\ntitle: Apex\nversion: 1.0.0\napi: {name: Apex}\nlicense: Apache-2.0\n"
    (made / "pack.yaml").write_text(f"{head}dialect: {dialect}\n")
    head = "id: apex.too-much\ntitle: Too much\nstatus: stable\nreferences: [https://example.com]\n"
    (made / "too-much.yaml").write_text(head + rule)
    return made


def corrected(folder: Path, dialect: str, body: Any, mode: Mode = Mode.REFLECTIVE, *, rule: str = RULE) -> HttpOutcome:
    corrector = build_corrector([pack(folder, dialect, rule)], mode=mode)
    head, back = RequestHead("POST", "/", JSON), ResponseHead(200, JSON)
    assert corrector.wants_body(head, back)
    sent = orjson.dumps(QUERY if dialect == "graphql" else CALL)
    native = body if isinstance(body, bytes) else orjson.dumps(body)
    return run_with_lookups_sync(
        corrector.correct(HttpExchange(head, sent, back, native), id="1", started=1.0), lambda _: pytest.fail("asked")
    )


def answer_of(outcome: HttpOutcome) -> Any:
    assert outcome.rewrite is not None and outcome.error is None
    return orjson.loads(outcome.rewrite.body)


BAD = {"message": "Variable '$amount' got invalid value 9; the amount is too large"}
ALSO = {"message": "Variable '$b' got invalid value 8; the amount is too large", "extensions": {"code": "X"}}


def test_each_error_gets_what_is_about_it(tmp_path: Path) -> None:
    said = answer_of(corrected(tmp_path, "graphql", {"data": None, "errors": [BAD, {"no": "error"}, ALSO]}))
    first, other, second = said["errors"]
    assert list(said) == ["data", "errors"] and other == {"no": "error"}
    assert list(second["extensions"]) == ["code", MEMBER]
    asked = [one["extensions"][MEMBER]["suggestions"] for one in (first, second)]
    places = [[p["pointer"] for s in suggestions for p in s["placeholders"]] for suggestions in asked]
    assert places == [["/body/variables/amount"], ["/body/variables/b"]]


def test_an_edit_stands_in_the_error_about_its_place(tmp_path: Path) -> None:
    edit = "{op: replace, path: /body/variables/b, value: 7}"
    suggest = f"suggest: [{{action: MODIFY_PARAMS, message: Send less., patch: [{edit}]}}]"
    rule = f"match: {{code: X}}\n{suggest}\ndiagnosis: The amount is too large.\n"
    said = answer_of(corrected(tmp_path, "graphql", {"errors": [BAD, ALSO]}, rule=rule))
    assert [MEMBER in error.get("extensions", {}) for error in said["errors"]] == [False, True]


def test_a_suggestion_about_no_place_stands_in_the_first_error(tmp_path: Path) -> None:
    said = answer_of(corrected(tmp_path, "graphql", {"errors": [{"message": "the amount is too large"}]}))
    assert find(said) == said["errors"][0]["extensions"][MEMBER]


@pytest.mark.parametrize("extensions", [{MEMBER: {"own": 1}}, None, "x"])
def test_where_there_is_no_place_a_header_links_and_every_byte_of_the_body_stays(
    tmp_path: Path, extensions: Any
) -> None:
    native = orjson.dumps({"errors": [{**BAD, "extensions": extensions}]})
    outcome = corrected(tmp_path, "graphql", native)
    assert outcome.error is None and outcome.rewrite is not None
    assert outcome.rewrite.body == native
    assert 'rel="recovery-feedback"' in dict(outcome.rewrite.headers)["Link"]


def test_where_there_is_no_error_nothing_changes(tmp_path: Path) -> None:
    outcome = corrected(tmp_path, "graphql", {"errors": []})
    assert (outcome.error, outcome.rewrite) == (None, None)


def test_native_bytes_stay_around_what_is_added(tmp_path: Path) -> None:
    native = b'{ "errors" : [ {"message":"the amount 1e400 is too large" } ],\n"data":null}'
    outcome = corrected(tmp_path, "graphql", native)
    assert outcome.rewrite is not None
    before, _, rest = outcome.rewrite.body.partition(b',"extensions":{')
    assert native.startswith(before) and native.endswith(rest[-len(b' ],\n"data":null}') :])


TEXT = {"type": "text", "text": "the amount is too large"}


def test_a_tool_result_gets_one_more_text(tmp_path: Path) -> None:
    native = {"jsonrpc": "2.0", "id": 1, "result": {"content": [TEXT], "isError": True, "structuredContent": {"a": 1}}}
    said = answer_of(corrected(tmp_path, "mcp", native))
    added = said["result"]["content"].pop()
    assert said == native
    assert added["type"] == "text" and orjson.loads(added["text"])[MEMBER]["recovery"] == "correctable"


@pytest.mark.parametrize("data", [{}, {"data": {}}, {"data": {"detail": [1]}}])
def test_a_protocol_error_gets_more_data(tmp_path: Path, data: Any) -> None:
    error: dict[str, Any] = {"code": -32602, "message": "amount", **data}
    native = {"jsonrpc": "2.0", "id": 1, "error": error}
    said = answer_of(corrected(tmp_path, "mcp", native))
    assert said["error"]["data"].pop(MEMBER)["recovery"] == "correctable"
    said["error"]["data"] = said["error"]["data"] or data.get("data", {})
    assert said == ({**native, "error": {**error, "data": {}}} if not data else native)


def test_data_that_is_no_object_stays(tmp_path: Path) -> None:
    native = orjson.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "amount", "data": "x"}})
    outcome = corrected(tmp_path, "mcp", native)
    assert outcome.rewrite is not None and outcome.rewrite.body == native
    assert any(name == "Link" for name, _ in outcome.rewrite.headers)


def test_verbose_adds_nothing(tmp_path: Path, dialect: str) -> None:
    native = {
        "graphql": {"errors": [BAD]},
        "mcp": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "amount"}},
    }
    assert corrected(tmp_path, dialect, native[dialect], Mode.VERBOSE).rewrite is None
