"""What sentences state about a value, and what looks like it and states nothing."""

from __future__ import annotations

from typing import Any

from corrigible.adapters.formats.keywords import keyword_of, stated_keywords
from corrigible.adapters.formats.text_shapes import find_literal
from tests._support.rows import rows


@rows(
    ("text", "value"),
    [
        ("{'value': ['Missing data for required field.']}", {"value": ["Missing data for required field."]}),
        ('x [{"code": "a", "path": ["b", 0]}] y', [{"code": "a", "path": ["b", 0]}]),
        ("{'a': (1, -2.5, None, True)}", {"a": [1, -2.5, None, True]}),
        ("{a: 1", None),
        ("[IGNORE, OVERWRITE]", None),
        ("{}", None),
        ("[__import__('os')]", None),
        ("[" * 3000, None),
        ("{'a': 1, 'b'}", None),
        ("[1 2]", None),
        (r"{'a': '\d+ \u1 \'x\''}", {"a": r"\d+ \u1 'x'"}),
        ("{'a', 'b'}", None),
        ("no data", None),
    ],
)
def test_data_in_a_text(text: str, value: Any) -> None:
    literal = find_literal(text)
    assert (None if literal is None else literal.value) == value


@rows(
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
        ("any.only", "enum", {"context": {"valids": ["a", 1]}}, {"enum": ["a", 1]}),
        ("oneof", "enum", {"param": "a b"}, {"enum": ["a", "b"]}),
        ("x", "", {"values": [{"a": 1}]}, {}),
        ("x", "", {"max": True}, {}),
        ("x", "", {"tags": ["a"]}, {}),
    ],
)
def test_structured_members(code: str, keyword: str, members: dict[str, Any], stated: dict[str, Any]) -> None:
    assert stated_keywords(code, keyword, members, "") == stated
