"""Zod lists the errors of every alternative: the type of another one is not what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request


def zod(*alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    errors = [{"issues": issues, "name": "ZodError"} for issues in alternatives]
    union = {"code": "invalid_union", "unionErrors": errors, "path": ["mode"], "message": "Invalid input"}
    return {"error": {"issues": [union], "name": "ZodError"}}


LIST = {"code": "invalid_type", "expected": "array", "received": "string", "path": ["mode"], "message": "Invalid"}
WORDS = {
    "code": "invalid_enum_value",
    "options": ["all", "new"],
    "received": "nwe",
    "path": ["mode"],
    "message": "Invalid value",
}
INNER = {
    "code": "invalid_enum_value",
    "options": ["a", "b"],
    "received": "c",
    "path": ["mode", 0],
    "message": "Invalid value",
}
WORD = {"code": "invalid_type", "expected": "string", "received": "array", "path": ["mode"], "message": "Invalid"}


@pytest.mark.parametrize(
    ("mode", "alternatives", "places"),
    [
        ("nwe", ([LIST], [WORDS]), ["/body/mode"]),
        (["c"], ([INNER], [WORD]), ["/body/mode/0"]),
        ({"a": 1}, ([LIST], [WORD]), ["/body/mode", "/body/mode"]),
    ],
)
def test_the_type_of_another_alternative_is_no_error(mode: Any, alternatives: Any, places: list[str]) -> None:
    """`mode` is one of two words, or a list: of a word that is none of them only that is wrong."""
    exchange = Exchange(Request("POST", "/runs", body={"mode": mode}), 400, {}, b"")
    found = [one for one in GenericFormat().read(exchange, zod(*alternatives)) if one.stated]
    assert [one.pointer for one in found] == places
    assert len(places) > 1 or "enum" in found[0].stated
