"""Query parameters in the styles of OpenAPI, and paths and methods that no operation has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.repair import repair
from corrigible.schema.exchange import Request
from tests._support.rows import rows

SHOP = Path(__file__).with_name("shop.yaml")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Description:
    return load(SHOP, cache=tmp_path_factory.mktemp("cache"))


def broken(shop: Description, **query: Any) -> list[tuple[str, str, Any]]:
    request = Request("GET", "/orders", query, {"x-tenant": "red"})
    return [
        (violation.pointer, violation.keyword, violation.value)
        for violation in shop.schema_violations(request, "ListOrders")
    ]


@rows(
    "query",
    [
        {"limit": "50", "state": "all"},
        {"fields": "id,total"},
        {"tag": ["a", "b"]},
        {"tag": "a"},
        {"scores": "1|2"},
        {"created[gte]": "1", "created[lt]": "2"},
        {"expand[]": "buyer"},
        {"expand[]": ["buyer", "lines"]},
        {"expand[0]": "buyer", "expand[1]": "lines"},
        {"filter": '{"by": 1}'},
        {"flag": ""},
        {"utm_source": "x"},  # most APIs ignore what they do not know
    ],
)
def test_good_queries(shop: Description, query: dict[str, Any]) -> None:
    assert broken(shop, **query) == []


@rows(
    ("query", "expected"),
    [
        ({"limit": "ten"}, ("/query/limit", "type", "ten")),
        ({"limit": "0"}, ("/query/limit", "minimum", "0")),
        ({"state": "opened"}, ("/query/state", "enum", "opened")),
        ({"tag": ["a", "toolong"]}, ("/query/tag/1", "maxLength", "toolong")),
        ({"tag": "toolong"}, ("/query/tag", "maxLength", "toolong")),
        ({"scores": "1|x"}, ("/query/scores", "items", "1|x")),
        ({"created[gte]": "now"}, ("/query/created[gte]", "type", "now")),
        ({"expand[]": "buyr"}, ("/query/expand[]", "enum", "buyr")),
        ({"expand[]": ["buyer", "line"]}, ("/query/expand[]/1", "enum", "line")),
        ({"expand[1]": "lines", "expand[0]": "buyr"}, ("/query/expand[0]", "enum", "buyr")),
        ({"filter": "{}"}, ("/query/filter", "contentSchema", "{}")),
        ({"filter": "by=1"}, ("/query/filter", "contentSchema", "by=1")),
        ({"flag": "yes"}, ("/query/flag", "type", "yes")),
        ({"limt": "5"}, ("/query/limt", "additionalProperties", "5")),
        ({"creatd[gte]": "5"}, ("/query/creatd[gte]", "additionalProperties", "5")),
    ],
)
def test_what_a_query_breaks(shop: Description, query: dict[str, Any], expected: tuple[str, str, Any]) -> None:
    assert broken(shop, **query) == [expected]


@rows(
    ("text", "expected"),
    [
        ("{}", [("/body/by", "required", MISSING)]),
        ('{"by": 1, "max": "x"}', [("/body/max", "type", "x")]),
        ('{"in": {"max": 1}}', [("/body/by", "required", MISSING), ("/body/in/max", "minimum", 1)]),
        ("{by: 1}", []),  # no JSON, but nothing is wrong inside
        ("{'by': 1, 'max': 'x'}", [("/body/max", "type", "x")]),
        ("by=1", []),
        ("[1]", [("/body", "type", [1])]),
    ],
)
def test_what_is_wrong_inside_a_parameter_of_json_text(
    shop: Description, text: str, expected: list[tuple[str, str, Any]]
) -> None:
    (found,) = shop.schema_violations(Request("GET", "/rows", {"q": text}), "ListRows")
    assert (found.pointer, found.keyword, found.value) == ("/query/q", "contentSchema", text)
    assert [(one.pointer, one.keyword, one.value) for one in found.inside] == expected
    assert found.schema["contentSchema"]["required"] == ["by"]


@pytest.mark.parametrize("query", [{"fields": "id totl"}, {"scores": "1,x"}, {"tag": "much too long"}])
def test_what_no_separator_puts_right_stays_one_value(shop: Description, query: dict[str, str]) -> None:
    request = Request("GET", "/orders", query, {"x-tenant": "red"})
    (violation,) = shop.schema_violations(request, "ListOrders")
    repaired = repair(violation, request, "1.")
    edits = [] if repaired is None else [one.get("parameters", {}) for one in repaired.suggestions]
    assert not any("id,to" in str(edit) or "1|" in str(edit) for edit in edits)


def test_of_a_list_in_one_text_the_whole_texts_with_a_near_element_are_offered(shop: Description) -> None:
    request = Request("GET", "/orders", {"fields": "id,totl"}, {"x-tenant": "red"})
    (found,) = shop.schema_violations(request, "ListOrders")
    assert (found.value, found.schema) == ("id,totl", {"type": "string", "enum": ["id,total"]})


def test_a_missing_member_of_an_object_in_brackets_has_a_name_in_brackets(shop: Description) -> None:
    (found,) = shop.schema_violations(Request("GET", "/places", {"near[lat]": "1.5"}), "ListPlaces")
    assert (found.pointer, found.keyword, found.value) == ("/query/near[lon]", "required", MISSING)
    (found,) = shop.schema_violations(Request("GET", "/places", {"near[lat]": "x", "near[lon]": "2"}), "ListPlaces")
    assert (found.pointer, found.keyword, found.value) == ("/query/near[lat]", "type", "x")
    assert shop.schema_violations(Request("GET", "/places"), "ListPlaces") == ()


def test_a_misspelt_name_keeps_its_brackets(shop: Description) -> None:
    (found,) = shop.schema_violations(
        Request("GET", "/orders", {"creatd[gte]": "5"}, {"x-tenant": "red"}), "ListOrders"
    )
    assert "created[gte]" in found.siblings


@rows(
    ("method", "path", "offered"),
    [
        ("GET", "/order", ["/orders"]),
        ("GET", "/v2/order/5", ["/v2/orders/5"]),
        ("GET", "/v2//orders/5/", ["/v2/orders/5"]),
        ("GET", "/Orders/5", ["/orders/5"]),
        ("POST", "/category", ["/categories"]),
        ("GET", "/v1/orders", ["/v2/orders"]),
        ("GET", "/V2/orders", ["/v2/orders"]),
        ("GET", "/api/v2/orders", ["/v2/orders"]),
        ("DELETE", "/orders/1/line/gift", ["/orders/1/lines/gift"]),
        ("PUT", "/file/a/b c.txt", ["/files/a/b c.txt"]),
        ("GET", "/report/2026-12.csv", ["/reports/2026-12.csv"]),
        ("GET", "/report/2026-12", None),
        ("GET", "/nothing", None),
        ("DELETE", "/category", None),  # near, but not with that method
        ("GET", "/", None),
        ("GET", "/a" * 100, None),
    ],
)
def test_the_path_that_may_have_been_meant(
    shop: Description, method: str, path: str, offered: list[str] | None
) -> None:
    found = shop.nearest_operation(Request(method, path))
    if offered is None:
        assert found is None
        return
    assert found is not None
    assert (found.pointer, found.keyword, found.value) == ("/path", "path", path)
    assert found.schema == {"enum": offered}


def test_the_methods_of_a_known_path(shop: Description) -> None:
    found = shop.nearest_operation(Request("PUT", "/v2/orders/5"))
    assert found is not None
    assert (found.pointer, found.keyword, found.value, found.schema) == (
        "/method",
        "method",
        "PUT",
        {"enum": ["GET", "PATCH"]},
    )
    assert shop.nearest_operation(Request("GET", "/v2/orders/5")) is None


@pytest.mark.parametrize(
    ("method", "path", "around"),
    [
        ("GET", "/orders/5/lines", ["/orders/5"]),
        ("POST", "/orders/5/cancel", ["/orders/5"]),
        ("POST", "/orders/5/cancel/now", ["/orders/5"]),
        ("GET", "/nothing/at/all", None),
        ("GET", "/a" * 100, None),
    ],
)
def test_the_known_paths_around_one_that_goes_on_below_them(
    shop: Description, method: str, path: str, around: list[str] | None
) -> None:
    found = shop.nearest_operation(Request(method, path))
    assert (found.keyword, found.schema["enum"]) == ("around", around) if found is not None else around is None
