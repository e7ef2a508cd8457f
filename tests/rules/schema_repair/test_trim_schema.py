"""What is left of a schema in a question."""

from __future__ import annotations

from typing import Any

from corrigible.rules.schema_repair.json_schema import trim_schema
from tests._support.rows import rows

KEPT: dict[str, Any] = {
    "type": "string",
    "default": "a",
    "format": "date",
    "minimum": 1,
    "maximum": 2,
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 3,
    "multipleOf": 1,
    "minLength": 1,
    "maxLength": 9,
    "minItems": 1,
    "maxItems": 2,
    "uniqueItems": True,
    "required": ["a"],
    "const": "a",
}


@rows(
    ("schema", "trimmed"),
    [
        ({**KEPT, "description": "prose", "x-more": 1, "examples": ["a"]}, KEPT),
        (
            {"enum": ["a"], "format": "f", "pattern": "p", "minLength": 1, "maxLength": 2, "type": "t"},
            {"enum": ["a"], "type": "t"},
        ),
        ({"enum": [*range(40)]}, {"enum": [*range(40)]}),
        ({"enum": [*range(41)], "pattern": "p"}, {"pattern": "p"}),
        ({"pattern": "p" * 200}, {"pattern": "p" * 200}),
        ({"pattern": "p" * 201}, {}),
        ({"items": {"type": "t", "title": "x"}}, {"items": {"type": "t"}}),
        ({"items": [{"type": "t"}]}, {}),
        ({"anyOf": [{"type": "t", "title": "x"}, True]}, {"anyOf": [{"type": "t"}]}),
        ({"oneOf": [{"type": "t"}] * 12}, {"oneOf": [{"type": "t"}] * 12}),
        ({"oneOf": [{"type": "t"}] * 13, "anyOf": []}, {}),
        ({"properties": {"a": {"type": "t", "title": "x"}, "b": True}}, {"properties": {"a": {"type": "t"}, "b": {}}}),
        ({"properties": {}}, {}),
        ({"properties": ["a"]}, {}),
    ],
)
def test_trimmed(schema: dict[str, Any], trimmed: dict[str, Any]) -> None:
    assert trim_schema(schema) == trimmed


def test_what_is_required_is_among_the_members_that_are_kept() -> None:
    names = [f"m{number}" for number in range(20)]
    schema = {"required": ["m19", "absent"], "properties": {name: {} for name in names}}
    assert list(trim_schema(schema)["properties"]) == ["m19", *names[:11]]


def test_two_levels_are_kept() -> None:
    nested: dict[str, Any] = {"type": "end"}
    for _ in range(4):
        nested = {"type": "t", "items": nested, "properties": {"a": {}}, "anyOf": [{}]}
    inner = trim_schema(nested)["items"]["items"]
    assert inner == {"type": "t"}
