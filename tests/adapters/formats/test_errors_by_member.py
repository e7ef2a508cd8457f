"""Complaints under the names of members, and what their sentences say."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

REQUEST = Request("POST", "/things", query={"page": "x"}, body={"email": "x", "items": [{"price": "x"}], "form": 1})


def read(body: Any, request: Request = REQUEST) -> list[tuple[str, str, str]]:
    exchange = Exchange(request, 422, {"content-type": "application/json"}, b"")
    return [(v.pointer, v.constraint, v.written_text) for v in GenericFormat().read(exchange, body)]


HOOK = Request("POST", "/hooks", query={"q": "x"}, body={"headers": "X-Key: abc", "path": 7, "body": "x"})


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"errors": {"headers": ["Not an object."]}}, ["/body/headers"]),
        ({"errors": {"headers": "Not an object.", "path": ["Not a text."]}}, ["/body/headers", "/body/path"]),
        ({"errors": {"query": {"q": ["Not a number."]}}}, ["/query/q"]),
        ({"errors": {"headers": {"accept": ["Not a media type."]}}}, ["/headers/accept"]),  # marshmallow, webargs
    ],
)
def test_a_member_may_be_called_as_a_part_of_the_request(body: Any, wanted: list[str]) -> None:
    assert [place for place, _, _ in read(body, HOOK)] == wanted


@rows(
    ("body", "wanted"),
    [
        (
            {"message": "The given data was invalid.", "errors": {"email": ["The email field is required."]}},
            [("/body/email", "required", "The email field is required.")],
        ),
        (
            {"errors": {"items.0.price": ["The items.0.price must be a number."]}},
            [("/body/items/0/price", "", "The items.0.price must be a number.")],
        ),
        ({"errors": {"name": ["can't be blank"]}}, [("/body/name", "required", "can't be blank")]),
        ({"errors": {"base": ["is closed"]}}, [("", "", "is closed")]),
        (
            {"email": ["This field is required."], "items": ["Too many."]},
            [("/body/email", "required", "This field is required."), ("/body/items", "", "Too many.")],
        ),
        ({"non_field_errors": ["No."]}, [("", "", "No.")]),
        (
            {"code": 422, "errors": {"json": {"name": ["Missing data for required field."]}}, "status": "x"},
            [("/body/name", "required", "Missing data for required field.")],
        ),
        ({"errors": {"query": {"page": ["Not a valid integer."]}}}, [("/query/page", "", "Not a valid integer.")]),
        (
            {"errors": {"items": {"0": {"price": ["Not a valid number."]}}}},
            [("/body/items/0/price", "", "Not a valid number.")],
        ),
        ({"message": {"name": ["has already been taken"]}}, [("/body/name", "", "has already been taken")]),
        ({"errors": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {"j": "deep"}}}}}}}}}}}, []),
        ({"errors": {"n": 7}}, []),
    ],
)
def test_complaints_by_member(body: Any, wanted: list[tuple[str, str, str]]) -> None:
    assert read(body) == wanted


@rows("name", ["", "_", "base", "non_field_errors", "__all__", "_schema", "form"])
def test_names_for_the_whole(name: str) -> None:
    assert read({"errors": {name: ["No."]}}) == [("", "", "No.")]
