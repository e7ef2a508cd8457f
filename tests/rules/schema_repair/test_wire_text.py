"""Texts on the wire read as what schemas ask for."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.wire_text import read
from corrigible.schema.exchange import Json

ITEMS = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("value", "schema", "single", "wanted"),
    [
        ("5", {"type": "integer"}, True, 5),
        ("05", {"type": "integer"}, True, "05"),
        ("5", {"type": ["integer", "string"]}, True, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["all"]}]}, True, 5),
        ("all", {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["all"]}]}, True, "all"),
        ("5", {"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}, True, 5.0),
        ("", {"type": ["integer", "null"]}, True, None),
        ("", {"type": "integer"}, True, ""),
        ("2", {"enum": [1, 2]}, True, 2),
        ("true", {"const": True}, True, True),
        ("5", ITEMS, True, [5]),
        ("5", ITEMS, False, "5"),
        (["5", "x"], ITEMS, False, [5, "x"]),
        (
            {"a": {"b": "5"}},
            {"properties": {"a": {"additionalProperties": {"type": "integer"}}}},
            True,
            {"a": {"b": 5}},
        ),
        (5, {"type": "string"}, True, "5"),
        (True, {"type": "string"}, True, "true"),
        (5, {"type": "integer"}, True, 5),
        (5, {"type": "boolean"}, True, 5),
        (5.0, {"type": "integer"}, True, 5.0),
        (None, {"type": "string"}, True, None),
    ],
)
def test_read(value: Json, schema: dict[str, Any], single: bool, wanted: Json) -> None:
    found = read(value, [schema], schema, single=single)
    assert (found, type(found)) == (wanted, type(wanted))
