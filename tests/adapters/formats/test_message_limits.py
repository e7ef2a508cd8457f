"""What sentences state about a value, and what looks like it and states nothing."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.keywords import keyword_of, stated_keywords
from corrigible.adapters.formats.message.limits import limits_in
from corrigible.adapters.formats.message.lists import read_list
from corrigible.adapters.formats.message.literals import find_literal
from tests._support.rows import rows


@rows(
    ("message", "stated"),
    [
        ("Invalid limit: must be less than or equal to 200.", {"maximum": 200}),
        ("not one of the values accepted for Enum class: [IGNORE, OVERWRITE]", {"enum": ["IGNORE", "OVERWRITE"]}),
        ("Available inputs are 'first', 'second'", {"enum": ["first", "second"]}),
        ("unknown variant `x`, expected `a` or `b`", {"enum": ["a", "b"]}),
        ("allowed values: red, green", {"enum": ["red", "green"]}),
        ('invalid roof value "starw": must be straw, tile or slate', {"enum": ["straw", "tile", "slate"]}),
        ('invalid roof value "starw": must be a tile', {}),
        ("must be one of: 1, 2, 3.", {"enum": [1, 2, 3]}),
        ("status in body should be one of [active inactive]", {"enum": ["active", "inactive"]}),
        ("Invalid enum value. Expected 'a' | 'b', received 'c'", {"enum": ["a", "b"]}),
        ("must be between 1 and 200", {"minimum": 1, "maximum": 200}),
        ("Ensure this field has no more than 10 characters.", {"maxLength": 10}),
        ("Shorter than minimum length 3.", {"minLength": 3}),
        ("The tags field must not have more than 3 items.", {"maxItems": 3}),
        ("Number must be greater than 0", {"exclusiveMinimum": 0}),
        ("must be less than 4 characters", {"maxLength": 3}),
        ("-1 is less than the minimum of 0", {"minimum": 0}),
        ("must be a positive number", {"exclusiveMinimum": 0}),
        ("Value must be a multiple of 5", {"multipleOf": 5}),
        ("must be exactly 4 characters", {"minLength": 4, "maxLength": 4}),
        ("Expected number, received string", {"type": "number"}),
        ("cannot unmarshal string into Go struct field User.age of type int", {"type": "integer"}),
        ('Cannot deserialize value of type `java.lang.Integer` from String "x"', {"type": "integer"}),
        ("string found, integer expected", {"type": "integer"}),
        ("must be a list of strings", {"type": "array"}),
        ("must be between 3 and 5 (exclusive)", {"exclusiveMinimum": 3, "exclusiveMaximum": 5}),
        ("must be strictly between 3 and 5", {"exclusiveMinimum": 3, "exclusiveMaximum": 5}),
        ("retention_days must be at most 30 days", {"maximum": 30}),
        ("must be at most 30 seconds", {"maximum": 30}),
        # These state nothing.
        ("title must be at most 3 words", {}),
        ("name 'foo' is reserved. Available options: 'foo2'", {}),
        ("name 'foo' is already taken, choose from [foo2, foo3]", {}),
        ("amount should be a string like '10 EUR'", {}),
        ("amount must be a string of 3 letters", {}),
        ("title must have at least 10 words", {}),
        ("timeout must be at most 5 minutes", {}),
        ("must be between 1 and 2 hours", {}),
        ("must be smaller than 3 MB", {}),
        ("unknown field `nam`, expected one of `name`, `age`", {}),
        ("expected `,` or `}` at line 1 column 7", {}),
        ("Expected 'object' but got 'string'", {"type": "object"}),
        ("This is one of a kind", {}),
        ("one of the fields name, age is needed", {}),
        ("does not match any of the schemas 'a', 'b'", {}),
        ("You have 5 items and 3 more than yesterday", {}),
        ("Request 200 failed with 5 errors", {}),
        ("must be a valid uuid", {}),
        ("'x' is not a valid choice.", {}),
        ("must be one of the values that the owner allows", {}),
        ("must be at least", {}),
        ("", {}),
        ("must be at most 5 " * 200, {}),
    ],
)
def test_constraints_in_a_sentence(message: str, stated: dict[str, Any]) -> None:
    assert limits_in(message) == stated


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
    ("text", "items", "is_closed"),
    [
        ("'a', 'b' or 'c', received 'd'", ["a", "b", "c"], True),
        ("[a, b] and more", ["a", "b"], True),
        ("a, b.", ["a", "b"], False),
        ('("a" | "b")', ["a", "b"], True),
        (":a, :b", ["a", "b"], False),
        ('`"a","b"`', ["a", "b"], True),
        ("[a, b", [], False),
        ("1, 2.5, true", [1, 2.5, True], False),
        ("", [], True),
    ],
)
def test_lists(text: str, items: list[Any], is_closed: bool) -> None:
    listed = read_list(text)
    assert list(listed.items) == items
    assert listed.is_closed == is_closed


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
