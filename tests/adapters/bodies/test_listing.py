"""What a listing shows: whether it is one, whether it is whole, and which resource a text means."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.bodies.listing import Listing, read_listing, with_references
from corrigible.rules.budget import Budget, Exhausted, within
from tests._support.rows import rows

A, B = {"id": "1", "name": "alpha"}, {"id": "2", "name": "beta"}


def many(count: int) -> list[dict[str, Any]]:
    return [{"id": number} for number in range(count)]


@rows(
    ("answer", "resources"),
    [
        ([A, B], [A, B]),
        ([], []),
        *(
            ({name: [A], "others": [B]}, [A])
            for name in ("data", "items", "results", "values", "records", "entries", "content", "resources", "hits")
        ),
        ({"_embedded": [A], "others": [B]}, [A]),
        ({"widgets": [A], "page": 1}, [A]),
        ({"widgets": [A], "gadgets": [B]}, None),
        ({"items": [A], "data": [B]}, [B]),
        ({"items": {"a": 1}}, None),
        ({"items": [A, "b"]}, None),
        ({}, None),
        ("text", None),
        (None, None),
        ([{"id": "1", "attributes": {"name": "n", "id": "x"}}], [{"id": "1", "name": "n"}]),
        ([{"metadata": {"name": "n"}}], [{"name": "n"}]),
        ([{"attributes": "text", "metadata": {"name": "n"}}], [{"name": "n"}]),
    ],
)
def test_what_is_listed(answer: Any, resources: Any) -> None:
    listing = read_listing(answer)
    nested = ("attributes", "metadata")
    shown = listing and [{name: value for name, value in one.items() if name not in nested} for one in listing[0]]
    assert shown == resources


@rows(
    ("answer", "is_whole"),
    [
        ([A, B], True),
        *((many(size), False) for size in (10, 15, 20, 25, 30, 50, 100, 200, 250, 500)),
        (many(11), True),
        ({"items": many(10), "total": 10}, True),
        ({"items": many(10), "total": 9}, False),
        ({"items": many(2), "count": 3}, False),
        ({"items": many(2), "totalItems": 2}, True),
        ({"items": many(2), "total_count": 3}, False),
        ({"items": many(2), "subtotal": 3}, True),
        ({"items": many(2), "total": "3"}, False),
        (many(501), False),
        ({"items": many(501), "total": 501}, False),
        *(({"items": [A], name: "x"}, False) for name in ("next", "nextPageToken", "next_url", "hasMore", "continue")),
        *(({"items": [A], name: "x"}, False) for name in ("cursor", "@odata.nextLink", "NEXT")),
        *(({"items": [A], "next": value}, True) for value in (None, False, "")),
        ({"items": [A], "nextday": "x"}, True),
    ],
)
def test_whether_there_may_be_more(answer: Any, is_whole: bool) -> None:
    listing = read_listing(answer)
    assert listing is not None and listing.is_whole is is_whole


@rows(
    ("around", "size", "is_whole"),
    [
        ({"links": {"next": "/orders?page=2"}}, 12, False),
        ({"_links": {"next": {"href": "/orders?page=2"}}}, 12, False),
        ({"links": {"self": "/orders", "next": None}}, 20, True),
        ({"links": {"self": "/orders", "first": "/orders", "last": "/orders"}}, 12, True),
        ({"meta": {"total": 900}}, 12, False),
        ({"meta": {"total": 12}}, 12, True),
        ({"meta": {"pagination": {"total": 900}}}, 12, False),
        ({"meta": {"page": {"total": 20}}}, 20, True),
        ({"meta": {"next_cursor": "x"}}, 12, False),
        ({"meta": {"cursors": {"after": "x"}}}, 12, False),
        ({"response_metadata": {"next_cursor": ""}}, 100, True),
        ({"pagination": {"next": "/orders?page=2"}}, 1, False),
        ({"pageInfo": {"hasNextPage": True}}, 12, False),
        ({"pageInfo": {"hasNextPage": False, "endCursor": None}}, 12, True),
        ({"metadata": {"continue": "x", "remainingItemCount": 3}}, 12, False),
        ({"metadata": {"resourceVersion": "7"}}, 12, True),
        ({"other": {"next": "x"}}, 12, False),
        ({"other": {"total": 10}}, 10, False),
        ({"page": 1, "pages": 9}, 12, False),
        ({"page": 1, "pages": 1}, 20, True),
        ({"page": 1}, 12, False),
        ({"page": 2, "per_page": 50}, 12, False),
        ({"page": 1, "per_page": 50}, 12, True),
        ({"page": 1, "per_page": 12}, 12, False),
        ({"offset": 0, "limit": 100}, 12, True),
        ({"offset": 100, "limit": 100}, 12, False),
        ({"offset": 0, "limit": 12}, 12, False),
        ({"limit": 12, "total": 12}, 12, True),
        ({"total_pages": 3}, 12, False),
        ({"last_page": 2, "total": 12}, 12, False),
        ({"last": False, "size": 20}, 12, False),
        ({"last": True, "size": 20, "number": 0}, 20, True),
        ({"done": False}, 12, False),
        ({"totalSize": 900}, 12, False),
        ({"count": 20}, 20, False),
        ({"count": 20, "next": None}, 20, True),
        ({"count": 12}, 12, True),
        ({"size": 12}, 12, True),
        ({"size": 20}, 20, False),
        ({"total": {"value": 900, "relation": "eq"}}, 12, False),
        ({"total": {"value": 12, "relation": "gte"}}, 12, False),
        ({"total": {"value": 20, "relation": "eq"}}, 20, True),
        ({"truncated": True}, 12, False),
        ({"previous": "/orders?page=1", "next": None}, 12, False),
        ({"orders_page": "x", "currency": "EUR", "customer": {"name": "next"}}, 12, True),
        ({"summary": {"price": 900}}, 12, True),
    ],
)
def test_what_stands_around_a_listing(around: dict[str, Any], size: int, is_whole: bool) -> None:
    listing = read_listing({"data": many(size), **around})
    assert listing is not None and listing.is_whole is is_whole


@rows(
    ("headers", "size", "is_whole"),
    [
        ({}, 12, True),
        ({"link": '</orders?page=2>; rel="next", </orders?page=9>; rel="last"'}, 12, False),
        ({"link": "</orders?page=2>; rel=next"}, 12, False),
        ({"link": '</orders?page=1>; title="a"; rel="first next"'}, 12, False),
        ({"link": '</orders?page=1>; rel="prev", </orders?page=1>; rel="first"'}, 12, False),
        ({"link": '</orders?page=1>; rel="last"'}, 20, True),
        ({"link": '</schema>; rel="describedby"'}, 20, False),
        ({"link": '</schema>; rel="describedby"'}, 12, True),
        ({"x-total-count": "900"}, 12, False),
        ({"x-total-count": "20"}, 20, True),
        ({"x-total": "900", "x-total-pages": "9"}, 12, False),
        ({"x-wp-total": "20", "x-wp-totalpages": "1"}, 20, True),
        ({"x-next-page": "2"}, 12, False),
        ({"x-next-page": ""}, 20, True),
        ({"content-range": "items 0-11/900"}, 12, False),
        ({"content-range": "items 0-19/20"}, 20, True),
        ({"content-range": "0-11/*"}, 12, False),
        ({"content-range": "items 0-11/*"}, 12, False),
        ({"content-range": "items 12-23/24"}, 12, False),
        ({"content-range": "items */0"}, 0, True),
    ],
)
def test_headers_of_a_listing(headers: dict[str, str], size: int, is_whole: bool) -> None:
    listing = read_listing(many(size), headers)
    assert listing is not None and listing.is_whole is is_whole


def test_only_so_many_are_looked_at_and_counted() -> None:
    listing = read_listing(many(600))
    assert listing is not None and len(listing.resources) == 500

    def counted() -> Any:
        yield read_listing(many(9))

    next(within(Budget(9), counted()))
    with pytest.raises(Exhausted):
        next(within(Budget(8), counted()))


@rows(
    ("resources", "variable", "identifiers"),
    [
        ([A, B], "id", ["1", "2"]),
        ([{"widget_id": 7, "id": 8}], "widget_id", ["7"]),
        ([{"widgetId": 7, "id": 8}], "widget_id", ["7"]),
        ([{"slug": "s", "uid": "u"}], "widget_uid", ["u"]),
        ([{"slug": "s", "uid": "u"}], "widgetUid", ["u"]),
        ([{"slug": "s", "id": "u"}], "widget", ["u"]),
        ([{"slug": "s", "uuid": "u"}], "widget", ["u"]),
        ([{"key": "k", "name": "n"}], "widget", ["n"]),
        ([{"slug": "s", "key": "k"}], "widget", ["k"]),
        ([{"slug": "s"}], "widget", ["s"]),
        ([{"id": None, "name": "n"}], "id", ["n"]),
        ([{"id": "x" * 257, "name": "n"}], "id", ["n"]),
        ([{"id": "x" * 256, "name": "n"}], "id", ["x" * 256]),
        ([{"id": "", "name": "n"}], "id", ["n"]),
        ([{"id": True, "name": "n"}], "id", ["n"]),
        ([{"id": 1, "name": "n"}, {"name": "m"}], "id", ["n", "m"]),
        ([{"other": 1}], "id", []),
        ([], "id", []),
    ],
)
def test_what_identifies_a_resource(resources: Any, variable: str, identifiers: list[str]) -> None:
    by_identifier = Listing(resources, True).identifiers(variable)
    assert list(by_identifier) == identifiers
    assert list(by_identifier.values()) == (resources if identifiers else [])


@rows(("value", "holds"), [("alpha", True), ("Alpha", True), ("2", True), ("3", False), ("True", False), ("x", False)])
def test_a_value_that_a_resource_has(value: str, holds: bool) -> None:
    assert Listing([A, {**B, "live": True, "tags": ["x"]}], True).holds(value) is holds


def test_of_a_resource_with_thousands_of_members_some_are_looked_at() -> None:
    wide = {**{f"m{number}": "x" for number in range(1000)}, "id": "7", "name": "alpha"}
    listing = Listing([wide], True)
    assert listing.holds("omega")  # nobody can tell
    assert listing.identifiers("id") == {}


@rows(
    ("value", "identifier"),
    [("alpha", "1"), ("beta", "2"), ("both", None), ("Alpha", None), ("3", None), ("red", None)],
)
def test_the_only_resource_of_a_name(value: str, identifier: str | None) -> None:
    resources = [{**A, "title": "both", "colour": "red"}, {**B, "title": "both"}]
    assert Listing(resources, True).called(value, "id") == identifier


@rows("name", ["name", "title", "slug", "key", "code", "login", "username", "label", "alias", "displayName"])
def test_names_of_a_resource(name: str) -> None:
    listing = Listing([{"id": "1", name: "alpha"}, {"id": "2", name: "omega"}], True)
    assert (listing.called("alpha", "id"), listing.near("alhpa", "id")) == ("1", ["1"])


@pytest.mark.parametrize(
    ("value", "near"), [("alhpa", ["a-1"]), ("b-2222x", ["b-2222"]), ("gamma", []), ("twins", ["a-1", "b-2222"])]
)
def test_what_is_near(value: str, near: list[str]) -> None:
    resources: list[Any] = [
        {"id": "a-1", "name": "alpha", "title": "twinz"},
        {"id": "b-2222", "name": 7, "title": "twinz"},
    ]
    assert Listing([*resources, {"id": "c", "name": "n" * 257}], True).near(value, "id") == near


@rows(
    ("resource", "references"),
    [
        ({"owner": {"id": 7}}, {"owner_id": 7}),
        ({"owner": {"name": "a"}}, {}),
        ({"owner": {"id": 7}, "owner_id": 8}, {}),
        ({"roles": [{"id": 1}, {"id": 2}]}, {"role_ids": [1, 2]}),
        ({"roles": [{"id": 1}, {"name": "a"}]}, {}),
        ({"roles": [{"id": 1}, 2]}, {}),
        ({"roles": []}, {}),
    ],
)
def test_a_resource_has_what_it_refers_to_as_requests_have_it(resource: Any, references: Any) -> None:
    assert with_references(resource) == {**resource, **references}
