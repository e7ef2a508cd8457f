"""FastAPI's and pydantic's complaints."""

from __future__ import annotations

from typing import Any

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


def test_several_and_noise() -> None:
    found = read({"loc": ["body", "a"], "msg": "m", "type": "missing"}, 7, {"loc": "a"}, {"loc": ["body"], "msg": "m"})
    assert found == [("/body/a", "missing", "required"), ("/body", "", "")]
