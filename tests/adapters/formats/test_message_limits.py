"""What sentences state about a value, and what looks like it and states nothing."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.keywords import keyword_of, stated_keywords
from corrigible.adapters.formats.literals import find_literal
from tests._support.rows import rows


@rows(
    ("text", "value"),
    [
        ("{'value': ['Missing data for required field.']}", {"value": ["Missing data for required field."]}),
        ('x [{"code": "a", "path": ["b", 0]}] y', [{"code": "a", "path": ["b", 0]}]),
        ('{:a=>["can\'t be blank"]}', {"a": ["can't be blank"]}),
        ("{'a': (1, -2.5, None, True)}", {"a": [1, -2.5, None, True]}),
        ("{'a', 'b'}", ["a", "b"]),
        ("{name: 'x'}", {"name": "x"}),
        ("{a: 1", None),
        ("[IGNORE, OVERWRITE]", None),
        ("{}", None),
        ("[__import__('os')]", None),
        ("[" * 3000, None),
        ("{'a': 1, 'b'}", None),
        ("[1 2]", None),
        ("no data", None),
    ],
)
def test_data_in_a_text(text: str, value: Any) -> None:
    literal = find_literal(text)
    assert (None if literal is None else literal.value) == value


@pytest.mark.parametrize(
    ("code", "keyword"),
    [
        *(("NotNull", "required"), ("any.required", "required"), ("object.unknown", "additionalProperties")),
        *(
            ("number.max", "maximum"),
            ("minLength", "minLength"),
            ("isIn", "enum"),
            ("E1", ""),
            ("", ""),
            ("x" * 99, ""),
        ),
    ],
)
def test_codes(code: str, keyword: str) -> None:
    assert keyword_of(code) == keyword


@rows(
    ("code", "keyword", "members", "stated"),
    [
        ("less_than_equal", "maximum", {"ctx": {"le": 200}}, {"maximum": 200}),
        ("too_small", "", {"minimum": 3, "type": "string"}, {"minLength": 3}),
        ("too_big", "", {"maximum": 3, "origin": "array", "inclusive": True}, {"maxItems": 3}),
        ("too_big", "", {"maximum": 3, "inclusive": False}, {"exclusiveMaximum": 3}),
        ("number.max", "maximum", {"context": {"limit": 5}}, {"maximum": 5}),
        ("any.only", "enum", {"context": {"valids": ["a", 1]}}, {"enum": ["a", 1]}),
        ("max", "maximum", {"param": "10"}, {"maximum": 10}),
        ("oneof", "enum", {"param": "a b"}, {"enum": ["a", "b"]}),
        ("pattern", "pattern", {"params": {"pattern": "^a$"}}, {"pattern": "^a$"}),
        ("isInt", "type", {}, {"type": "integer"}),
        ("x", "", {"values": [{"a": 1}]}, {}),
        ("x", "", {"max": True}, {}),
        ("minLength", "minLength", {"limit": -1}, {}),
        ("maxItems", "maxItems", {"limit": 2.5}, {}),
        ("multipleOf", "multipleOf", {"limit": 0}, {}),
        ("pattern", "pattern", {"params": {"pattern": "((("}}, {}),
        ("pattern", "pattern", {"params": {"pattern": "a" * 201}}, {}),
        ("x", "", {"tags": ["a"]}, {}),
    ],
)
def test_structured_members(code: str, keyword: str, members: dict[str, Any], stated: dict[str, Any]) -> None:
    assert stated_keywords(code, keyword, members, "") == stated
