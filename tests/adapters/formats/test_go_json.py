"""Errors of Go's encoding/json: keys and indexes are not in their paths, types are Go's."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.message.go_json import decode_error, decoded_places
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

BODY = {
    "title": "t",
    "tags": ["a", 5, "b"],
    "prices": {"de": "4", "fr": 3},
    "lines": [{"sku": "x", "n": 1}, {"sku": 7, "n": 2}],
    "rules": {"web": [{"port": 80}]},
    "Owner": {"Id": "u-1"},
}


def error(sent: str, field: str, kind: str) -> str:
    return f"json: cannot unmarshal {sent} into Go struct field {field} of type {kind}"


@rows(
    ("message", "found"),
    [
        (error("string", "Order.title", "int"), ["/body/title"]),
        (error("number", "Order.tags", "string"), ["/body/tags/1"]),
        (error("string", "Order.prices", "float64"), ["/body/prices/de"]),
        (error("number", "Line.lines.sku", "string"), ["/body/lines/1/sku"]),
        (error("number", "Line.lines.n", "string"), ["/body/lines/0/n", "/body/lines/1/n"]),
        (error("number 2", "Line.lines.n", "bool"), ["/body/lines/1/n"]),
        (error("number", "Port.rules.port", "string"), ["/body/rules/web/0/port"]),
        (error("string", "User.owner.id", "int64"), ["/body/Owner/Id"]),
        (error("object", "Order.prices", "[]string"), ["/body/prices"]),
        (error("bool", "Order.title", "string"), []),
        (error("string", "Order.absent", "int"), []),
        ("json: cannot unmarshal object into Go value of type []main.Order", ["/body"]),
        ("json: cannot unmarshal string into Go value of type int", []),
    ],
)
def test_a_place_is_found_through_lists_and_maps(message: str, found: list[str]) -> None:
    told = decode_error(message)
    assert told is not None
    assert decoded_places(told, BODY) == found


@rows(
    ("kind", "json_type"),
    [
        *[("int", "integer"), ("uint8", "integer"), ("*int64", "integer"), ("float32", "number"), ("*bool", "boolean")],
        *[("string", "string"), ("[]string", "array"), ("[2]int", "array"), ("[]*main.Line", "array")],
        *[("map[string]string", "object"), ("map[string][]int", "object"), ("[]uint8", "bytes")],
        *[("main.Kind", ""), ("*main.Order", ""), ("json.RawMessage", ""), ("time.Duration", "integer")],
    ],
)
def test_a_type_of_go_is_one_of_json(kind: str, json_type: str) -> None:
    told = decode_error(error("null", "Order.title", kind).replace("null", "string"))
    assert told is not None
    assert told.type == json_type


def test_other_messages_are_none() -> None:
    assert decode_error("cannot unmarshal the cargo") is None
    assert decode_error("") is None


@pytest.mark.parametrize(
    ("body", "message", "pointer", "stated"),
    [
        ({"tags": {"a": "b"}}, error("object", "Order.tags", "[]string"), "/body/tags", {"type": "array"}),
        ({"tags": ["a", 5]}, error("number", "Order.tags", "string"), "/body/tags/1", {"type": "string"}),
        ({"prices": {"de": 4}}, error("number", "Order.prices", "string"), "/body/prices/de", {"type": "string"}),
        ({"scan": 5}, error("number", "Order.scan", "[]uint8"), "/body/scan", {"type": "string", "format": "byte"}),
        # Which of them is not told: the type is none of the list's.
        ({"tags": [4, 5]}, error("number", "Order.tags", "string"), "/body/tags", {}),
        ({"lines": [{"n": 1}, {"n": 2}]}, error("number", "Line.lines.n", "string"), "", {}),
    ],
)
def test_a_type_is_stated_for_the_value_that_has_the_kind(
    body: dict[str, Any], message: str, pointer: str, stated: dict[str, Any]
) -> None:
    exchange = Exchange(Request("POST", "/orders", body=body), 400, {}, b"")
    (read,) = GenericFormat().read(exchange, {"message": message})
    assert (read.pointer, dict(read.stated)) == (pointer, stated)


@pytest.mark.parametrize(
    "message",
    [
        "rpc error: code = InvalidArgument desc = name must be provided",
        "create: rpc error: code = Unknown desc = rpc error: code = InvalidArgument desc = name must be provided",
    ],
)
def test_a_printed_status_of_grpc_is_read_for_its_sentence(message: str) -> None:
    exchange = Exchange(Request("POST", "/things", body={"size": 1}), 400, {}, b"")
    (read,) = GenericFormat().read(exchange, {"message": message})
    assert read.message == "name is required"
