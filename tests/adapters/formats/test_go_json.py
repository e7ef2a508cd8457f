"""Errors of Go's encoding/json: keys and indexes are not in their paths, types are Go's."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request

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
