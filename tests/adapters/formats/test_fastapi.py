"""FastAPI's and pydantic's complaints."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

REQUEST = Request("POST", "/things", body={"size": "x", "tags": {"int": 1}, "items": [{"n": "a"}]})


def read(*items: Any) -> list[tuple[str, str, str]]:
    exchange = Exchange(REQUEST, 422, {}, b"")
    return [(v.pointer, v.code, v.constraint) for v in GenericFormat().read(exchange, {"detail": list(items)})]


@rows(
    ("loc", "kind", "wanted"),
    [
        (["body", "name"], "missing", ("/body/name", "required")),
        (["body", "name"], "value_error.missing", ("/body/name", "required")),
        (["body", "items", 0, "n"], "int_parsing", ("/body/items/0/n", "type")),
        (["body", "items", 0, "n"], "type_error.integer", ("/body/items/0/n", "type")),
        (["body", "state"], "enum", ("/body/state", "enum")),
        (["body", "state"], "literal_error", ("/body/state", "enum")),
        (["body", "n"], "greater_than", ("/body/n", "exclusiveMinimum")),
        (["body", "n"], "greater_than_equal", ("/body/n", "minimum")),
        (["body", "n"], "value_error.number.not_le", ("/body/n", "maximum")),
        (["body", "n"], "string_too_long", ("/body/n", "maxLength")),
        (["body", "n"], "too_long", ("/body/n", "maxItems")),
        (["body", "n"], "string_pattern_mismatch", ("/body/n", "pattern")),
        (["body", "n"], "datetime_from_date_parsing", ("/body/n", "format")),
        (["body", "n"], "extra_forbidden", ("/body/n", "additionalProperties")),
        (["body", "n"], "value_error", ("/body/n", "")),
        (["query", "limit"], "int_parsing", ("/query/limit", "type")),
        (["header", "X-Token"], "missing", ("/headers/x-token", "required")),
        (["path", "thing_id"], "int_parsing", ("/path", "type")),
        (["cookie", "session"], "missing", ("", "required")),
        (["body", 14], "json_invalid", ("/body", "")),
        (["query", "filter"], "json_invalid", ("/query/filter", "")),  # pydantic's Json
        (["body", "settings"], "json_invalid", ("/body/settings", "")),
        (["body", "size", "int"], "int_parsing", ("/body/size", "type")),
        (["body", "size", "list[int]"], "list_type", ("/body/size", "type")),
        (["body", "tags", "int"], "int_parsing", ("/body/tags/int", "type")),
    ],
)
def test_the_place_and_the_keyword(loc: list[Any], kind: str, wanted: tuple[str, str]) -> None:
    ((pointer, code, constraint),) = read({"loc": loc, "msg": "m", "type": kind})
    assert (pointer, constraint) == wanted
    assert code == kind


@pytest.mark.parametrize(
    ("kind", "ctx", "stated"),
    [
        ("less_than_equal", {"le": 100}, {"maximum": 100}),
        ("greater_than", {"gt": 0.5}, {"exclusiveMinimum": 0.5}),
        ("value_error.number.not_le", {"limit_value": 100}, {"maximum": 100}),
        ("string_too_short", {"min_length": 3}, {"minLength": 3}),
        ("too_long", {"field_type": "List", "max_length": 2, "actual_length": 3}, {"maxItems": 2}),
        ("multiple_of", {"multiple_of": 5}, {"multipleOf": 5}),
        ("greater_than", {"gt": "2020-01-01"}, {}),  # a limit of dates
        ("decimal_max_digits", {"max_digits": 4}, {}),
        ("missing", {}, {}),
        ("less_than_equal", "100", {}),
    ],
)
def test_the_limits_that_the_context_states(kind: str, ctx: Any, stated: dict[str, Any]) -> None:
    item = {"loc": ["body", "a"], "msg": "m", "type": kind, "ctx": ctx}
    (violation,) = GenericFormat().read(Exchange(REQUEST, 422, {}, b""), {"detail": [item]})
    assert violation.stated == stated


def test_several_and_noise() -> None:
    found = read({"loc": ["body", "a"], "msg": "m", "type": "missing"}, 7, {"loc": "a"}, {"loc": ["body"], "msg": "m"})
    assert found == [("/body/a", "missing", "required"), ("/body", "", "")]
