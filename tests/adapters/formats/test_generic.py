"""The common JSON error shapes, read without knowing the API."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows


def read(body: Any, request: Request | None = None) -> list[tuple[str, str, str, str]]:
    exchange = Exchange(request or Request("POST", "/v1/orders", body={}), 400, {}, b"")
    return [(v.code, v.written_text, v.pointer, v.param) for v in GenericFormat().read(exchange, body)]


@rows(
    ("body", "violations"),
    [
        ({"error": {"code": "bad", "message": "m", "param": "a[b]"}}, [("bad", "m", "/body/a/b", "a[b]")]),
        ({"code": 7, "message": "m"}, [("7", "m", "", "")]),
        ({"error": "broken"}, [("", "broken", "", "")]),
        ({"error": "invalid_grant", "error_description": "expired"}, [("", "expired", "", "")]),
        (
            {"type": "https://a.test/p", "title": "Bad", "status": 400, "detail": "no such thing"},
            [("https://a.test/p", "no such thing", "", "")],
        ),
        (
            {"detail": [{"loc": ["body", "items", 0, "n"], "msg": "too big", "type": "less_than"}]},
            [("less_than", "too big", "/body/items/0/n", "")],
        ),
        ({"detail": [{"loc": ["query", "limit"], "msg": "m"}]}, [("", "m", "/query/limit", "")]),
        (
            {"errors": [{"code": "a", "detail": "d", "source": {"pointer": "/data/x~1y"}}, "plain"]},
            [("a", "d", "/body/data/x~1y", "/data/x~1y"), ("", "plain", "", "")],
        ),
        ({"errors": [{"detail": "d", "source": {"parameter": "sort"}}]}, [("", "d", "/query/sort", "sort")]),
        ({"errors": [{"field": "a.b[0].c", "message": "m"}]}, [("", "m", "/body/a/b/0/c", "a.b[0].c")]),
        ({"errors": [{"pointer": "#/a/0", "detail": "m"}]}, [("", "m", "/body/a/0", "#/a/0")]),
        ({"errors": [{"path": "items/0", "message": "m"}]}, [("", "m", "/body/items/0", "items/0")]),
        (
            {"timestamp": 1, "status": 400, "error": "Bad Request", "path": "/v1/orders"},
            [("", "Bad Request", "", "")],
        ),
        ({"errors": [], "message": "m"}, [("", "m", "", "")]),
        ({"errors": [7, None], "message": "m"}, [("", "m", "", "")]),
        ({"status": 400}, []),
        ({"message": ["a"]}, [("", "a", "", "")]),
        ({"error": {"details": {"balance": 5, "account": "a_1"}, "message": "m"}}, [("", "m", "", "")]),
        ({"detail": {"code": "c", "message": "m"}}, [("c", "m", "", "")]),
        (
            {"error": {"code": "Bad", "details": [{"code": "c", "target": "a.b", "message": "m"}]}},
            [("c", "m", "/body/a/b", "a.b")],
        ),
        (
            {"errors": [{"type": "field", "msg": "Invalid value", "path": "page", "location": "query"}]},
            [("field", "Invalid value", "/query/page", "page")],
        ),
        (
            {"issues": [{"code": "invalid_type", "path": ["a", 0], "message": "Expected number"}]},
            [("invalid_type", "Expected number", "/body/a/0", "")],
        ),
        ({}, []),
        ([{"message": "m"}, "n", 7], [("", "m", "", ""), ("", "n", "", "")]),
        ("text", [("", "text", "", "")]),
        (" ", []),
        (None, []),
    ],
)
def test_shapes(body: Any, violations: list[tuple[str, str, str, str]]) -> None:
    assert read(body) == violations


def test_a_place_without_a_part_is_in_the_query_where_there_is_no_body() -> None:
    assert read({"field": "limit", "message": "m"}, Request("GET", "/x")) == [("", "m", "/query/limit", "limit")]


@pytest.mark.parametrize(
    ("param", "pointer"),
    [
        ("amount", "/body/amount"),  # nobody has it: missing in the body
        ("dry_run", "/query/dry_run"),
        ("Shop-Region", "/headers/shop-region"),
        ("both", "/body/both"),
        ("accept", "/body/accept"),  # every request has that header: a member is meant
    ],
)
def test_a_name_that_only_one_part_of_the_request_has_is_found_there(param: str, pointer: str) -> None:
    request = Request(
        "POST", "/x", {"dry_run": "tru", "both": "1"}, {"shop-region": "europ", "accept": "*/*"}, {"both": 1}
    )
    assert read({"error": {"code": "c", "message": "m", "param": param}}, request) == [("c", "m", pointer, param)]


SENT = ("message", "detail", "error", "title", "code", "type", "reason", "name", "field", "status", "text")


@rows(
    "answer",
    [
        {"message": "Not in this state"},
        {"error": "Not in this state"},
        {"error": {"code": "BAD", "message": "Not in this state"}},
        {"error": "BadRequest", "message": "Not in this state", "status": 400},
        {"title": "Bad Request", "detail": "Not in this state", "type": "about:blank", "status": 400},
        {"code": "BAD", "reason": "Not in this state"},
        {"name": "StateError", "message": "Not in this state"},
        {"errors": [{"message": "Not in this state"}]},
        {"errors": [{"title": "Bad", "detail": "Not in this state"}]},
    ],
)
def test_members_of_errors_that_requests_have_too_are_no_places(answer: Json) -> None:
    request = Request("POST", "/posts", body={name: f"the {name}" for name in SENT})
    assert [(message, place) for _, message, place, _ in read(answer, request)] == [("Not in this state", "")]


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ({"errors": {"message": "is required"}}, ["/body/message"]),
        ({"message": ["is required"]}, ["/body/message"]),
        ({"message": "is required", "name": "is too long"}, ["/body/message", "/body/name"]),
        ({"title": "is too long"}, ["/body/title"]),
    ],
)
def test_members_of_errors_that_are_places(answer: Json, places: list[str]) -> None:
    request = Request("POST", "/posts", body={name: f"the {name}" for name in SENT})
    assert [place for _, _, place, _ in read(answer, request)] == places


@pytest.mark.parametrize(
    "message",
    [
        "upstream response: missing field 'total'",
        "Property 'total' is required in the response of the payment service",
    ],
)
def test_what_another_service_answered_names_no_member(message: str) -> None:
    assert [place for _, _, place, _ in read({"message": message}, Request("POST", "/x", body={"a": 1}))] == [""]


def test_errors_that_texts_hold_are_not_more_than_others() -> None:
    answer = {"errors": [{"message": str({f"m{n}": ["is required"] for n in range(20)})} for _ in range(10)]}
    assert len(read(answer, Request("POST", "/x", body={"a": 1}))) == 64


def test_further_members_are_kept() -> None:
    exchange = Exchange(Request("POST", "/x"), 400, {}, b"")
    (violation,) = GenericFormat().read(exchange, {"error": {"code": "bad", "limit": 5, "type": "t"}})
    assert (violation.type, violation.scope()["limit"], violation.scope()["code"]) == ("t", 5, "bad")


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("This is wrong", ""),
        ("Invalid repository name", ""),
        ("other is too long", ""),
        ("The content server is down", ""),
    ],
)
def test_a_message_that_begins_with_a_member_of_the_request(message: str, place: str) -> None:
    request = Request("POST", "/x", body={"content": "!", "parent_team_id": 9, "config": {"url": "x"}})
    assert read({"message": message}, request) == [("", message, place, "")]
