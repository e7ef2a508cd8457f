"""Ajv lists the errors of every alternative: the value that tells them apart is what is wrong."""

from __future__ import annotations

from typing import Any

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
