"""Where the body, the path and the headers of a request break their description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.json_schema import SELECTS
from corrigible.schema.exchange import Request
from tests._support.rows import rows

HERE = Path(__file__).parent
ORDER: dict[str, Any] = {"buyer": {"name": "b"}, "lines": [{"item": "a"}]}
HEADERS = {"x-tenant": "red"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Description:
    return load(HERE / "shop.yaml", cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Description:
    return load(HERE / "ledger.json", cache=tmp_path_factory.mktemp("cache"))


def broken(description: Description, request: Request, at: str = "") -> list[tuple[str, str]]:
    found = description.operations.find(request.method, request.path)
    assert found is not None
    return [
        (violation.pointer, violation.keyword) for violation in description.schema_violations(request, found[0], at)
    ]


def order(**members: Any) -> Request:
    return Request("POST", "/v2/orders", headers=HEADERS, body={**ORDER, **members})


@rows(
    "members",
    [
        {},
        {"note": None, "state": None},  # nullable, also beside an enum that does not list null
        {"id": "sent although only answers have it", "unheard": "of"},
        {"discount": 1, "due": "2026-11-21", "labels": ["a", {"name": "b", "color": "00ff00"}]},
        {"review": {"status": "running"}, "ids": [1, 2], "shipping": {"method": "pickup", "shop": 1}},
        {"lines": [{"item": "a", "quantity": 4.0, "price": "list"}]},
    ],
)
def test_a_good_order_breaks_nothing(shop: Description, members: dict[str, Any]) -> None:
    assert broken(shop, order(**members)) == []


@rows(
    ("members", "expected"),
    [
        ({"discount": 0}, ("/body/discount", "exclusiveMinimum")),
        ({"discount": 1.5}, ("/body/discount", "maximum")),
        ({"note": "x" * 21}, ("/body/note", "maxLength")),
        ({"state": "opened"}, ("/body/state", "enum")),
        ({"due": "21.11.2026"}, ("/body/due", "format")),
        ({"lines": []}, ("/body/lines", "minItems")),
        ({"lines": [{"item": 5}]}, ("/body/lines/0/item", "type")),
        ({"lines": [{"item": "a", "quantity": 3}]}, ("/body/lines/0/quantity", "multipleOf")),
        ({"labels": ["a", "a"]}, ("/body/labels", "uniqueItems")),
        ({"buyer": {}}, ("/body/buyer/name", "required")),
        ({"buyer": {"name": "b", "friend": {"name": ""}}}, ("/body/buyer/friend/name", "minLength")),
        # of alternatives the nearest one's breach
        ({"labels": "a"}, ("/body/labels", "type")),
        ({"labels": [{"name": "a", "color": "red"}]}, ("/body/labels/0/color", "pattern")),
        ({"labels": [{"color": "00ff00"}]}, ("/body/labels/0/name", "required")),
        ({"shipping": {"method": "courier"}}, ("/body/shipping/street", "required")),
        ({"shipping": {"method": "Pickup", "shop": "x"}}, ("/body/shipping/shop", "type")),
        ({"shipping": {"method": 5, "street": 5}}, ("/body/shipping/method", "enum")),
        ({"shipping": {"street": "s"}}, ("/body/shipping/method", "required")),
        ({"review": {"status": "completed"}}, ("/body/review/conclusion", "required")),
        ({"review": {"status": "complete", "conclusion": "x"}}, ("/body/review/status", "enum")),
        ({"lines": [{"item": "a", "price": "fre"}]}, ("/body/lines/0/price", "enum")),
        ({"ids": "a"}, ("/body/ids", "type")),
        ({"ids": {}}, ("/body/ids", "anyOf")),
    ],
)
def test_what_an_order_breaks(shop: Description, members: dict[str, Any], expected: tuple[str, str]) -> None:
    assert broken(shop, order(**members)) == [expected]


def violation(description: Description, request: Request, operation: str) -> Any:
    (found,) = description.schema_violations(request, operation)
    return found


def test_a_breach_carries_the_schema_of_its_place_and_the_value(shop: Description) -> None:
    found = violation(shop, order(discount=0), "CreateOrder")
    assert (found.schema, found.value) == ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, 0)
    found = violation(shop, order(state="opened"), "CreateOrder")
    assert found.schema == {"type": ["string", "null"], "enum": ["open", "closed", None]}
    found = violation(shop, order(lines=[{"item": "a", "price": "fre"}]), "CreateOrder")
    assert (found.schema, found.value) == ({"enum": ["free", "list"]}, "fre")
    for shipping in ({"method": "couriers"}, {"shop": 5}):
        found = violation(shop, order(shipping=shipping), "CreateOrder")
        told = {SELECTS: True} if "method" in shipping else {}
        assert found.schema == {"type": "string", "enum": ["Pickup", "courier"], **told}
    found = violation(shop, order(ids="a"), "CreateOrder")
    assert found.schema == {"type": "array", "items": {"type": "string"}}
    found = violation(shop, order(ids={}), "CreateOrder")
    assert [one["items"]["type"] for one in found.schema["anyOf"]] == ["string", "integer"]


def test_a_missing_member_has_its_own_place_and_schema_and_the_declared_names(shop: Description) -> None:
    found = violation(shop, order(buyer={}), "CreateOrder")
    assert found.value is MISSING
    assert (found.schema, found.siblings) == ({"type": "string", "minLength": 1}, ("name", "email", "friend"))


def test_a_missing_body_is_one_breach_without_what_only_answers_have(shop: Description) -> None:
    found = violation(shop, Request("POST", "/orders", headers=HEADERS), "CreateOrder")
    assert (found.pointer, found.keyword, found.value) == ("/body", "required", MISSING)
    assert found.schema["required"] == ["buyer", "lines"]
    assert broken(shop, Request("POST", "/categories")) == [("/body", "required")]
    assert broken(shop, Request("PATCH", "/orders/1")) == []


def test_a_misspelt_member_comes_before_the_missing_one_it_stands_for(shop: Description) -> None:
    first, second = shop.schema_violations(order(buyer={"nam": "x", "unheard": 1}), "CreateOrder")
    assert (first.pointer, first.keyword, first.value) == ("/body/buyer/nam", "additionalProperties", "x")
    assert first.siblings == ("name", "email", "friend")
    assert (second.pointer, second.keyword) == ("/body/buyer/name", "required")


def test_only_what_a_complaint_names(shop: Description) -> None:
    request = order(note=5, buyer={"nam": "x", "emial": "y@z"})
    assert broken(shop, request, "/body/note") == [("/body/note", "type")]
    assert broken(shop, request, "/body/buyer") == [
        ("/body/buyer/nam", "additionalProperties"),
        ("/body/buyer/name", "required"),
    ]
    assert broken(shop, request, "/body/buyer/emial") == [("/body/buyer/emial", "additionalProperties")]
    assert broken(shop, request, "/body/buyer/email") == []
    assert broken(shop, request, "/body/state") == []
    assert broken(shop, Request("GET", "/orders", {"unheard": "1"}, HEADERS), "/query/unheard") == [
        ("/query/unheard", "additionalProperties")
    ]


def test_alternatives_that_differ_in_what_they_require_are_a_choice(shop: Description) -> None:
    found = violation(shop, Request("PATCH", "/orders/1", headers=HEADERS, body={}), "UpdateOrder")
    assert (found.pointer, found.keyword) == ("/body", "anyOf")
    assert found.schema["anyOf"] == [
        {"required": ["note"], "properties": {"note": {"type": "string"}}},
        {"required": ["state"], "properties": {"state": {"type": "string", "enum": ["open", "closed"]}}},
    ]


def test_a_schema_that_holds_itself(shop: Description) -> None:
    body = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": [{}]}]}]}
    assert broken(shop, Request("POST", "/categories", body=body)) == [
        ("/body/children/0/children/0/children/0/name", "required")
    ]


@rows(
    ("media", "body", "expected"),
    [
        ("application/json; charset=utf-8", {}, [("/body", "anyOf")]),
        ("application/vnd.shop+json", {}, [("/body", "anyOf")]),
        ("application/merge-patch+json", {"a": 1, "b": 2}, [("/body", "maxProperties")]),
        ("application/json-patch+json", [], []),  # not documented: not judged
        ("text/plain", "x", []),
        ("", "{not json", []),
    ],
)
def test_the_media_type_decides_the_schema(
    shop: Description, media: str, body: Any, expected: list[tuple[str, str]]
) -> None:
    headers = {**HEADERS, "content-type": media} if media else HEADERS
    assert broken(shop, Request("PATCH", "/orders/1", headers=headers, body=body)) == expected


def form(**body: Any) -> Request:
    return Request("POST", "/payments", body=body, form=True)


def test_a_form_knows_only_text(shop: Description) -> None:
    good = form(
        amount="500",
        currency="123",
        capture="true",
        rate="1.5",
        metadata={"a": "1"},
        shipping={"name": "n", "zip": "10115"},
        expand=["x"],
        lines=[{"quantity": "2"}],
        tax="7",
    )
    assert broken(shop, good) == []
    assert broken(shop, form(amount="500", currency="eur", metadata="", tax="auto")) == []
    found = {
        (one.pointer, one.keyword, one.value)
        for one in shop.schema_violations(
            form(
                amount="5.5",
                currency="euro",
                capture="yes",
                rate="x",
                metadata="m",
                shipping={"name": "n", "zip": "x"},
                expand="x",
                lines=[{"quantity": "z"}],
                tax="aut",
            ),
            "CreatePayment",
        )
    }
    assert found == {
        ("/body/amount", "type", "5.5"),
        ("/body/currency", "maxLength", "euro"),
        ("/body/capture", "type", "yes"),
        ("/body/rate", "type", "x"),
        ("/body/metadata", "type", "m"),
        ("/body/shipping/zip", "type", "x"),
        ("/body/expand", "type", "x"),
        ("/body/lines/0/quantity", "type", "z"),
        ("/body/tax", "enum", "aut"),
    }
    assert broken(shop, form(amount="0", currency="eur")) == [("/body/amount", "minimum")]


def test_an_undeclared_member_where_none_may_be(shop: Description) -> None:
    assert broken(shop, form(amount="1", curency="eur")) == [
        ("/body/curency", "additionalProperties"),
        ("/body/currency", "required"),
    ]
    assert broken(shop, form(amount="1", currency="eur", unheard="x")) == [("/body/unheard", "additionalProperties")]


def test_path_parameters(shop: Description) -> None:
    found = violation(shop, Request("GET", "/v2/orders/abc", headers=HEADERS), "GetOrder")
    assert (found.pointer, found.keyword, found.schema, found.value) == ("/path", "type", {"type": "integer"}, "abc")
    name = "DELETE /orders/{order}/lines/{kind}"
    found = violation(shop, Request("DELETE", "/orders/1/lines/gif"), name)
    assert (found.keyword, found.schema["enum"], found.value) == ("enum", ["gift", "paid"], "gif")
    assert broken(shop, Request("GET", "/v2/orders/12")) == []
    assert broken(shop, Request("GET", "/reports/2026-12.csv")) == []
    found = violation(shop, Request("GET", "/reports/2026-13.csv"), "GetReport")
    assert (found.pointer, found.keyword, found.value) == ("/path", "maximum", "13")


def test_headers(shop: Description) -> None:
    assert broken(shop, Request("GET", "/orders")) == [("/headers/x-tenant", "required")]
    assert broken(shop, Request("GET", "/orders", headers={"x-tenant": "rd"})) == [("/headers/x-tenant", "enum")]


def test_an_operation_that_is_not_described(shop: Description) -> None:
    assert shop.schema_violations(Request("GET", "/elsewhere"), "Nothing") == ()
    assert shop.facts("Nothing") == {}
    assert tuple(shop.refusals("Nothing")) == ()


def test_openapi_3_1(ledger: Description) -> None:
    good = {"kind": "booking", "amount": 1, "note": None, "author": "a", "pair": ["a", 1], "blob": "YQ=="}
    assert broken(ledger, Request("POST", "/entries", body=good)) == []
    wrong = {
        "kind": "bookin",
        "amount": 0,
        "note": "x",
        "parent": {"parent": {"id": "q"}},
        "pair": ["a", "b", 3],
        "blob": "%",
        "old": 1,
    }
    assert set(broken(ledger, Request("POST", "/entries", body=wrong))) == {
        ("/body/author", "required"),
        ("/body/kind", "const"),
        ("/body/amount", "exclusiveMinimum"),
        ("/body/parent/parent/id", "format"),
        ("/body/pair", "maxItems"),
        ("/body/pair/1", "type"),
        ("/body/blob", "format"),
        ("/body/old", "additionalProperties"),
    }


def test_facts_for_rules(shop: Description) -> None:
    said = shop.facts("CreatePayment")
    assert said["required"] == ["amount", "currency"]
    assert said["properties"]["amount"] == {"type": "integer", "minimum": 1}
    assert said["properties"]["metadata"] == {"type": "object"}
    assert said["properties"]["tax"] == {"type": ["integer", "string"]}
    assert said["properties"]["expand"] == {"type": "array", "items": {"type": "string"}}
    assert said["properties"]["shipping"]["required"] == ["name"]
    said = shop.facts("CreateOrder")
    assert said["required"] == ["buyer", "lines"]
    assert said["properties"]["note"] == {"type": "string", "maxLength": 20}
    assert said["properties"]["state"] == {"type": "string", "enum": ["open", "closed"]}
    assert shop.facts("ListOrders")["properties"]["state"] == {
        "type": "string",
        "enum": ["open", "closed", "all"],
        "default": "open",
    }
    assert shop.facts("GetOrder") == {}


def test_documented_refusals(shop: Description, ledger: Description) -> None:
    assert tuple(shop.refusals("ListOrders")) == ("400", "4XX")
    assert shop.refusals("CreateOrder") == {"422": ("bad_buyer", "too_many"), "default": ()}
    assert shop.refusals("CreatePayment") == {"402": ("card_declined", "expired_card")}
    assert ledger.refusals("CreateEntry") == {"409": ("DUPLICATE",)}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"$ref": "#/components/schemas/A"}], "required": ["x"]},
        {"anyOf": [{"$ref": "#/components/schemas/A"}, {"type": "string"}], "required": ["x"]},
        {"type": "array", "items": {"$ref": "#/components/schemas/A"}, "required": ["x"]},
        {"$ref": "#/components/schemas/A", "nullable": True},
        {"additionalProperties": {"$ref": "#/components/schemas/A"}, "required": ["x"]},
    ],
)
def test_schemas_that_lead_back_to_themselves_at_once_end(tmp_path: Path, schema: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    document = {
        "openapi": "3.0.3",
        "paths": {"/a": {"post": {"operationId": "P", "requestBody": body}}},
        "components": {"schemas": {"A": schema}},
    }
    path.write_text(json.dumps(document))
    description = load(path, cache=tmp_path)
    bodies: list[Any] = [{}, {"y": {"z": {}}}, [[[]]], "text", None]
    for given in bodies:
        description.schema_violations(Request("POST", "/a", body=given), "P")
        description.schema_violations(Request("POST", "/a", body={"a": "1"}, form=True), "P", "/body/a/b")
    assert isinstance(description.facts("P"), dict)


SMALL: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "t", "version": "1"},
    "paths": {
        "/user/{id}": {
            "get": {
                "operationId": "user",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "d"}},
            }
        },
        "/user/repos": {"get": {"operationId": "repos", "responses": {"200": {"description": "d"}}}},
        "/reviews": {
            "post": {
                "operationId": "review",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {name: {"type": "integer"} for name in "abc"},
                                "oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}],
                            }
                        }
                    }
                },
                "responses": {"200": {"description": "d"}},
            }
        },
    },
}


@pytest.fixture
def small(tmp_path: Path) -> Description:
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    return load(tmp_path / "small.json", cache=tmp_path / "cache")


def test_a_value_of_the_path_that_cannot_be_one_and_is_near_another_path(small: Description) -> None:
    found = violation(small, Request("GET", "/user/repo"), "user")
    assert (found.pointer, found.keyword, found.schema) == ("/path", "path", {"enum": ["/user/repos"]})
    assert violation(small, Request("GET", "/user/abc"), "user").keyword == "type"
