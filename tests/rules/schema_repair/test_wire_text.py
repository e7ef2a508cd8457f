"""Texts on the wire read as what schemas ask for."""

from __future__ import annotations

from typing import Any

from corrigible.rules.schema_repair.json_schema import read
from corrigible.schema.exchange import Json
from tests._support.counted import counted
from tests._support.rows import rows

ITEMS = {"type": "array", "items": {"type": "integer"}}


@rows(
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
        (5, {"enum": ["5", "6"]}, True, "5"),
        (7, {"enum": ["5", "6"]}, True, "7"),
        (5, ITEMS, True, [5]),
        (5, {"type": "boolean"}, True, 5),
        (5.0, {"type": "integer"}, True, 5.0),
        (None, {"type": "string"}, True, None),
        ("5", {"type": ["array", "string"], "items": {"type": "integer"}, "pattern": "^x"}, True, "5"),
        ("x", {"type": ["array", "integer"], "items": {"type": "integer"}}, True, "x"),
        ("x", {"type": ["array", "object"], "items": {"type": "string"}}, True, "x"),
        ("x", {"type": ["array", "null"], "items": {"type": "string"}}, True, ["x"]),
        ("x", {"type": ["array", "number"]}, True, "x"),
        ("x", {"type": ["array", "boolean"]}, True, "x"),
        ("5", {"type": ["integer", "string"], "pattern": "^x"}, True, 5),
        ("5", {"type": ["integer", "string"], "enum": [5, "6"]}, True, 5),
        ("6", {"type": ["integer", "string"], "enum": [5, "6"]}, True, "6"),
        ("1.5", {"type": ["integer", "number"]}, True, 1.5),
        ("true", {"type": ["boolean", "integer"]}, True, True),
        ({"a": "5"}, {"properties": {"a": ITEMS}}, False, {"a": "5"}),
        ({"a": "5"}, {"properties": {"a": ITEMS}}, True, {"a": [5]}),
        ([["5"]], {"items": ITEMS}, False, [[5]]),
        (["5"], {"items": ITEMS}, True, [[5]]),
        (["5"], {"items": ITEMS}, False, ["5"]),
        ("5", {"type": "array", "items": ITEMS}, True, [[5]]),
        (5, {"type": ["string", "boolean"]}, True, "5"),
        (True, {"type": "boolean"}, True, True),
    ],
)
def test_read(value: Json, schema: dict[str, Any], single: bool, wanted: Json) -> None:
    found = read(value, [schema], schema, single=single)
    assert (found, type(found)) == (wanted, type(wanted))


def nested(levels: int, value: Json) -> Json:
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_nested_deeper_than_anybody_nests_stays_as_it_is() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(40):
        schema = {"items": schema}
    for levels, wanted in ((30, "5"), (31, "5")):
        assert read(nested(levels, "5"), [schema], schema) == nested(levels, wanted)
    plain: dict[str, Any] = {"type": "integer"}
    for _ in range(30):
        plain = {"items": plain}
    assert read(nested(30, "5"), [plain], plain) == nested(30, 5)
    assert read(nested(31, "5"), [{"items": plain}], {}) == nested(31, "5")


def test_who_reads_counts_it() -> None:
    assert counted(lambda: read([None] * 100, [{}], {}))[1] >= 100
