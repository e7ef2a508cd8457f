"""The dialect of MCP servers: what the SDKs write into tool errors and JSON-RPC errors."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from corrigible.adapters.formats.wrapped_calls import MCP, TOOL, TOOL_ERROR, text_of_tool
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

CALL = {"name": "create_order", "arguments": {"sku": "tea", "quantity": "2", "gift": "2"}}
REQUEST = Request("POST", "/mcp", body={"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": CALL})
ZOD = '[\n  {"code": "invalid_type", "path": ["quantity"], "message": "Expected number, received string"}\n]'
ONE_TWO = Request("POST", "/mcp", body={"jsonrpc": "2.0", "params": {"name": "t", "arguments": {"quantity": "2"}}})


def read(answer: Any, request: Request = REQUEST) -> list[tuple[str, str, str]]:
    body = {"jsonrpc": "2.0", "id": 7, **answer}
    exchange = Exchange(request, 200, {}, orjson.dumps(body))
    return [(one.code, one.pointer, one.constraint) for one in MCP.read(exchange, body)]


def tool_error(text: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}


@rows(
    ("text", "pointer", "constraint"),
    [
        ("Input validation error: 'id' is a required property", "id", "required"),
        ("Input validation error: 'tea' is not of type 'integer'", "sku", ""),
        (
            f"MCP error -32602: Input validation error: Invalid arguments for tool create_order: {ZOD}",
            "quantity",
            "type",
        ),
        ("Input validation error: 'coffee' is not of type 'integer'", None, ""),
        ("Input validation error: '2' is not of type 'integer'", None, ""),  # two arguments are '2'
        ("the shop is closed", None, ""),
        ("the shop is closed: [{", None, ""),
    ],
)
def test_a_tool_error_names_its_argument(text: str, pointer: str | None, constraint: str) -> None:
    place = f"/body/params/arguments/{pointer}" if pointer else ""
    assert read(tool_error(text)) == [(TOOL_ERROR, place, constraint)]


def test_one_argument_of_that_value_is_the_one() -> None:
    said = tool_error("'2' is not of type 'integer'")
    assert read(said, ONE_TWO) == [(TOOL_ERROR, "/body/params/arguments/quantity", "")]


def test_a_protocol_error_has_its_own_code() -> None:
    assert read({"error": {"code": -32602, "message": "Unknown tool: x"}}) == [("-32602", "", "")]
    issues = {"errors": [{"path": ["quantity"], "message": "Expected number"}, {"path": ["id"], "message": "Required"}]}
    assert read({"error": {"code": -32602, "message": "Invalid params", "data": issues}}) == [
        ("-32602", "/body/params/arguments/quantity", ""),
        ("-32602", "/body/params/arguments/id", "required"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"content": [{"type": "text", "text": "no"}], "isError": False}},
        {"result": {"content": [{"type": "text", "text": "no"}]}},
        {"result": {"content": [], "isError": True}},
        {"result": {"tools": []}},
        {"error": "no"},
    ],
)
def test_what_is_no_error_is_not_read(answer: Any) -> None:
    assert read(answer) == []


def test_who_did_not_speak_json_rpc_gets_no_reading() -> None:
    assert read(tool_error("no"), Request("POST", "/mcp", body={"id": 7})) == []


@rows("name", ["path", "query", "headers", "method", "body", "url"])
def test_an_argument_may_be_called_like_a_part_of_a_request(name: str) -> None:
    request = Request("POST", "/tools/find", body={})
    for place in ([name], [name, "inner"]):
        body = {"message": json.dumps([{"code": "invalid_type", "path": place, "message": "Required"}])}
        (error,) = TOOL.read(Exchange(request, 400, {}, b""), body)
        assert error.pointer == f"/body/{'/'.join(place)}"


@rows(
    ("said", "text"),
    [
        (["Error executing tool t: no"], "no"),
        (["Error calling tool 't': no"], "no"),
        (["MCP error -32602: Input validation error: Invalid arguments for tool t: no"], "no"),
        (["Error executing tool t: Invalid arguments for t:\n- a: no"], "- a: no"),
        (["t: no"], "t: no"),  # an argument may be called like its tool
        (["Error executing tool u: no"], "Error executing tool u: no"),
        (["see http://t:no"], "see http://t:no"),
        (["Error executing tool t"], ""),
        (["Error calling tool 't': "], ""),
        (["there is no t"], "there is no t"),
        (["one", "two"], "one\ntwo"),
        ([], None),
    ],
)
def test_what_sdks_say_before_a_text_is_taken_away(said: list[str], text: str | None) -> None:
    content: list[Any] = [{"type": "text", "text": one} for one in said]
    assert text_of_tool({"result": {"content": [{"type": "image"}, *content], "isError": True}}, "t") == text
