"""What a JSON Schema says about types, values, members."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.schema_translator import is_shaped
from corrigible.rules.schema_repair.json_schema import all_types, choices, kind_of, member, parts, types
from tests._support.counted import counted
from tests._support.rows import rows


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"type": "string"}, ("string",)),
        ({"type": ["string", "null"]}, ("string", "null")),
        ({"type": ("string",)}, ("string",)),
        ({"type": 5}, ()),
        ({}, ()),
    ],
)
def test_types(schema: dict[str, Any], named: tuple[str, ...]) -> None:
    assert types(schema) == named


@pytest.mark.parametrize(
    ("schema", "listed"),
    [
        ({"const": None}, (None,)),
        ({"const": 1, "enum": [2]}, (1,)),
        ({"enum": [1, 2]}, (1, 2)),
        ({"enum": "ab"}, ()),
        ({}, ()),
    ],
)
def test_choices(schema: dict[str, Any], listed: tuple[Any, ...]) -> None:
    assert choices(schema) == listed


@rows(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "integer"),
        (1.0, "number"),
        ("", "string"),
        ([], "array"),
        ({}, "object"),
        (b"", ""),
    ],
)
def test_kind_of(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


ROOT: dict[str, Any] = {
    "$defs": {
        "text": {"type": "string"},
        "loop": {"$ref": "#/$defs/loop", "type": "array"},
        "same": {"$ref": "#/$defs/text"},
    }
}


@rows(
    ("schema", "named"),
    [
        ({"type": "object", "allOf": [{"type": "array"}]}, {"object", "array"}),
        ({"anyOf": [{"type": "integer"}], "oneOf": [{"type": "null"}]}, {"integer", "null"}),
        ({"$ref": "#/$defs/text", "type": "null"}, {"string", "null"}),
        ({"$ref": "#/$defs/loop"}, {"array"}),
        ({"$ref": "#/$defs/absent", "type": "null"}, {"null"}),
        ({"anyOf": None, "allOf": [True]}, set()),
        (True, set()),
    ],
)
def test_all_types(schema: Any, named: set[str]) -> None:
    assert all_types(schema, ROOT) == named


def test_alternatives_may_be_left_out() -> None:
    schema = {"allOf": [{"type": "a"}], "anyOf": [{"type": "b"}]}
    assert [types(one) for one in parts(schema, {}, alternatives=False)] == [(), ("a",)]
    assert [types(one) for one in parts(schema, {})] == [(), ("a",), ("b",)]
    seen: set[int] = set()
    assert len([*parts(schema, {}, seen=seen)]) == len(seen) == 3
    assert [*parts(schema, {}, seen=seen)] == []


@rows(
    ("schemas", "name", "inner"),
    [
        ([{"properties": {"a": {"type": "x"}}, "additionalProperties": {"type": "y"}}], "a", [{"type": "x"}]),
        ([{"properties": {"a": {"type": "x"}}, "additionalProperties": {"type": "y"}}], "b", [{"type": "y"}]),
        ([{"additionalProperties": False}], "b", []),
        ([{"items": {"type": "x"}}], "0", [{"type": "x"}]),
        ([{"items": {"type": "x"}}], "a", []),
        ([{"items": [{"type": "x"}]}], "0", []),
        (
            [{"allOf": [{"properties": {"a": {"type": "x"}}}]}, {"properties": {"a": {"type": "y"}}}],
            "a",
            [{"type": "x"}, {"type": "y"}],
        ),
        (  # what two references lead to is there once
            [{"properties": {"a": {"$ref": "#/$defs/text"}}}, {"properties": {"a": {"$ref": "#/$defs/same"}}}],
            "a",
            [{"$ref": "#/$defs/text"}],
        ),
        (
            [{"properties": {"a": {"$ref": "#/$defs/text", "x": 1}}}, {"properties": {"a": {"$ref": "#/$defs/text"}}}],
            "a",
            [{"$ref": "#/$defs/text", "x": 1}, {"$ref": "#/$defs/text"}],
        ),
    ],
)
def test_members(schemas: list[Any], name: str, inner: list[Any]) -> None:
    assert member(schemas, name, ROOT) == inner


def test_who_walks_a_schema_counts_it() -> None:
    schema = {"allOf": [{"type": "x"} for _ in range(100)]}
    assert counted(lambda: [*parts(schema, {})])[1] >= 100


@rows(
    ("schema", "shaped"),
    [
        ({"example": "0 5 * * *"}, True),
        ({"examples": ["a@example.com", "10:30"]}, True),
        ({"example": "0E:02:9A"}, True),
        ({"example": "94110"}, False),
        ({"example": "+49 30 1234"}, False),
        ({"example": "Ann"}, False),
        ({"example": "c2db17b8-4f9f-4fb1"}, False),
        ({"example": "10:30", "examples": ["7"]}, False),
        ({"example": 5}, False),
        ({"examples": {"a": {"value": "10:30"}}}, False),
        ({}, False),
    ],
)
def test_examples_that_show_another_form_than_a_number(schema: dict[str, Any], shaped: bool) -> None:
    assert is_shaped(schema) is shaped
