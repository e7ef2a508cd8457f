"""What hapi-swagger keeps of joi's rules, and patterns as JavaScript writes them."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.schema_translator import checkable, of_joi
from tests._support.rows import rows


@rows(
    ("node", "keywords"),
    [
        ({"type": "integer", "x-constraint": {"sign": "positive"}}, {"exclusiveMinimum": 0}),
        ({"type": "number", "x-constraint": {"sign": "negative"}}, {"exclusiveMaximum": 0}),
        (
            {"type": "number", "x-constraint": {"greater": 1, "less": 9.5, "multiple": 0.5}},
            {"exclusiveMinimum": 1, "exclusiveMaximum": 9.5, "multipleOf": 0.5},
        ),
        ({"type": "string", "x-constraint": {"length": 40}}, {"minLength": 40, "maxLength": 40}),
        ({"type": "array", "x-constraint": {"length": 4}}, {}),
        ({"type": "number", "x-constraint": {"multiple": 0, "greater": True, "less": "9", "sign": "any"}}, {}),
        ({"type": "string", "x-format": {"email": True}}, {"format": "email"}),
        ({"type": "string", "x-format": {"guid": True}}, {"format": "uuid"}),
        ({"type": "string", "x-format": {"uri": {"relativeOnly": True}}}, {}),
        (
            {"type": "string", "x-format": {"hex": {"byteAligned": False, "prefix": False}}},
            {"pattern": "^[0-9a-fA-F]+$"},
        ),
        ({"type": "string", "x-format": {"hex": {"prefix": "optional"}}}, {}),
        ({"type": "string", "x-format": {"isoDate": True}}, {"anyOf": [{"format": "date-time"}, {"format": "date"}]}),
        ({"type": "integer", "x-format": {"email": True}}, {}),
        ({"x-constraint": [1], "x-format": "email"}, {}),
    ],
)
def test_what_joi_demands(node: dict[str, Any], keywords: dict[str, Any]) -> None:
    assert of_joi(node) == keywords


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"^[a-zA-Z][\w-.]+$", r"^[a-zA-Z][\w\-.]+$"),
        (r"^[\d-x]+$", r"^[\d\-x]+$"),
        (r"^[\w-]+$", r"^[\w-]+$"),
        (r"^\d-\d$", r"^\d-\d$"),
        (r"\p{Foo}", None),
        (r"[\w-.", None),
    ],
)
def test_a_hyphen_behind_a_class_is_a_hyphen(pattern: str, written: str | None) -> None:
    assert checkable(pattern) == written
