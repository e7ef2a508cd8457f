"""RFC 9457 problem documents, Prism's and others' lists of complaints among them."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

POST = Request("POST", "/things/7", body={"name": "n", "items": [{"a": 1}], "firstName": "x"})
GET = Request("GET", "/things/seven", query={"created[gte]": "x", "expand[]": ["a"]})


def read(body: Any, request: Request = POST, content_type: str = "application/problem+json") -> list[tuple[str, ...]]:
    exchange = Exchange(request, 422, {"content-type": content_type}, b"")
    return [(v.pointer, v.code, v.constraint, v.written_text) for v in GenericFormat().read(exchange, body)]


def prism(code: str | int, message: str, *location: str) -> dict[str, Any]:
    item: dict[str, Any] = {"severity": "Error", "code": code, "message": message}
    if location:
        item["location"] = list(location)
    kind = "https://stoplight.io/prism/errors#UNPROCESSABLE_ENTITY"
    return {"type": kind, "title": "Invalid request", "status": 422, "detail": "prose", "validation": [item]}


@rows(
    ("request_", "said", "place"),
    [
        (POST, prism("enum", "Request body property state must be ...", "body", "state"), "/body/state"),
        (POST, prism("type", "m", "body", "items", "0", "a"), "/body/items/0/a"),
        (POST, prism("required", "Request body must have required property 'sha'", "body"), "/body/sha"),
        (
            POST,
            prism("required", "Request body property items.0 must have required property 'b.c'", "body", "items", "0"),
            "/body/items/0/b.c",
        ),
        (GET, prism("type", "Request query parameter limit must be integer", "query", "limit"), "/query/limit"),
        (GET, prism("required", "Request query must have required property 'q'", "query"), "/query/q"),
        (GET, prism("type", "m", "query", "created", "gte"), "/query/created[gte]"),
        (GET, prism("enum", "m", "query", "expand", "0"), "/query/expand[]/0"),
        (GET, prism("required", "Request header must have required property 'X-Api'", "header"), "/headers/x-api"),
        (GET, prism("type", "m", "path", "number"), "/path"),
        (GET, prism("required", "Request path must have required property 'number'", "path"), "/path"),
        (POST, prism(415, "Supported content types: application/json"), "/headers/content-type"),
    ],
)
def test_prism_names_the_place(request_: Request, said: dict[str, Any], place: str) -> None:
    ((pointer, code, constraint, _),) = read(said, request_)
    assert pointer == place
    assert code == str(said["validation"][0]["code"])
    assert constraint == ("" if code == "415" else code)


def test_several_complaints_come_in_their_order() -> None:
    said = prism("type", "one", "body", "a")
    said["validation"] += [{"location": ["body", "b"], "code": "enum", "message": "two"}, 7]
    assert read(said) == [("/body/a", "type", "type", "one"), ("/body/b", "enum", "enum", "two")]


def test_what_is_wrong_with_the_answer_is_no_complaint_about_the_request() -> None:
    said = prism("required", "Response body must have required property 'id'", "response", "body")
    assert read(said) == [("", "UNPROCESSABLE_ENTITY", "", "prose")]


@pytest.mark.parametrize(
    ("word", "place"),
    [("NO_PATH_MATCHED_ERROR", "/path"), ("NO_METHOD_MATCHED_ERROR", "/method"), ("UNAUTHORIZED", "")],
)
def test_a_request_that_leads_to_no_operation(word: str, place: str) -> None:
    said = {"type": f"https://stoplight.io/prism/errors#{word}", "title": "t", "status": 404, "detail": "d"}
    assert read(said) == [(place, word, "", "d")]


@rows(
    ("said", "wanted"),
    [
        (
            {"title": "t", "errors": [{"detail": "must be positive", "pointer": "#/items/0/a"}]},
            [("/body/items/0/a", "", "", "must be positive")],
        ),
        (
            {"title": "t", "violations": [{"propertyPath": "items[0].a", "message": "m", "code": "c1"}]},
            [("/body/items/0/a", "c1", "", "m")],
        ),
        (
            {"title": "t", "violations": [{"field": "limit", "in": "query", "message": "m"}]},
            [("/query/limit", "", "", "m")],
        ),
        ({"title": "t", "invalid-params": [{"name": "age", "reason": "m"}]}, [("/body/age", "", "", "m")]),
        ({"type": "https://a.test/out-of-credit", "title": "t"}, [("", "https://a.test/out-of-credit", "", "t")]),
        ({"code": "E7", "title": "t", "detail": "d"}, [("", "E7", "", "d")]),
        ({"status": 400}, []),
    ],
)
def test_the_lists_of_others(said: dict[str, Any], wanted: list[tuple[str, ...]]) -> None:
    assert read(said) == wanted


def test_the_rest_is_kept_for_rules() -> None:
    exchange = Exchange(POST, 400, {"content-type": "application/problem+json"}, b"")
    (violation,) = GenericFormat().read(exchange, {"type": "about:blank", "title": "t", "balance": 30, "pointer": "x"})
    assert violation.type == "about:blank"
    assert violation.native == {
        "title": "t",
        "balance": 30,
        "members": {"balance": 30, "pointer": "x"},
        "told_place": ["x"],
    }
