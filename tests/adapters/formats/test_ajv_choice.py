"""Ajv and zod list the errors of every alternative: the value that tells them apart is what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request

REQUEST = Request("POST", "/shapes", body={"shape": {"kind": "circle", "points": [[1, 2]]}})


def error(keyword: str, path: str, number: int, **params: Any) -> dict[str, Any]:
    schema = f"#/properties/shape/oneOf/{number}/properties/{path.rpartition('/')[2]}/{keyword}"
    return {"keyword": keyword, "instancePath": path, "schemaPath": schema, "params": params, "message": "is wrong"}


def read(errors: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    exchange = Exchange(REQUEST, 400, {}, b"")
    return [(one.pointer, one.constraint, one.stated.get("enum")) for one in GenericFormat().read(exchange, errors)]


def test_what_no_alternative_takes_is_the_error_with_the_values_of_all() -> None:
    whole = {"keyword": "oneOf", "instancePath": "/shape", "schemaPath": "#/properties/shape/oneOf", "params": {}}
    listed = [
        error("enum", "/shape/kind", 0, allowedValues=["line"]),
        error("const", "/shape/kind", 1, allowedValue="area"),
        error("type", "/shape/points/0/0", 1, type="array"),
        whole,
    ]
    assert read(listed) == [("/body/shape/kind", "enum", ["line", "area"])]


def test_errors_stay_where_one_alternative_takes_the_value() -> None:
    listed = [
        error("enum", "/shape/kind", 0, allowedValues=["line"]),
        error("type", "/shape/points/0/0", 1, type="array"),
    ]
    assert [pointer for pointer, *_ in read(listed)] == ["/body/shape/kind", "/body/shape/points/0/0"]


def test_errors_outside_of_alternatives_stay() -> None:
    outside = {"keyword": "type", "instancePath": "/shape/points", "schemaPath": "#/type", "params": {}}
    listed = [
        outside,
        error("enum", "/shape/kind", 0, allowedValues=["line"]),
        error("enum", "/shape/kind", 1, allowedValues=["area"]),
    ]
    assert [pointer for pointer, *_ in read(listed)] == ["/body/shape/points", "/body/shape/kind"]


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
