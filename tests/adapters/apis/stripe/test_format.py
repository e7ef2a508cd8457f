"""Stripe's error object, and where its complaints belong in the request."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.apis.stripe.format import GATEWAY, STRIPE
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows


def read(request: Request, body: Json, status: int = 400) -> tuple[Violation, ...]:
    return tuple(STRIPE.read(Exchange(request, status, {}, b""), body))


def only(request: Request, **error: Any) -> Violation:
    (violation,) = read(request, {"error": error})
    return violation


def post(path: str, body: Json = None, **more: Any) -> Request:
    return Request("POST", path, body=body, form=True, **more)


def test_every_member_is_read() -> None:
    violation = only(
        post("/v1/charges", {"amount": "1000"}),
        type="card_error",
        code="card_declined",
        decline_code="insufficient_funds",
        advice_code="try_again_later",
        message="Your card has insufficient funds.",
        charge="ch_1",
        payment_intent={"id": "pi_1", "status": "requires_payment_method"},
        doc_url="https://stripe.com/docs/error-codes/card-declined",
    )
    assert (violation.type, violation.code, violation.param) == ("card_error", "card_declined", "")
    assert violation.message == "Your card has insufficient funds."
    assert violation.pointer == ""
    assert violation.native["decline_code"] == "insufficient_funds"
    assert violation.native["advice_code"] == "try_again_later"
    assert violation.native["charge"] == "ch_1"
    assert (violation.native["intent"], violation.native["intent_status"]) == ("pi_1", "requires_payment_method")


def test_what_is_absent_is_empty_text() -> None:
    violation = only(post("/v1/payment_intents", {"amount": "-5"}), type="invalid_request_error", message="Bad request")
    assert (violation.code, violation.param, violation.pointer) == ("", "", "")
    assert violation.native["decline_code"] == violation.native["charge"] == violation.native["named"] == ""
    assert violation.native["under"] == "/body"


@pytest.mark.parametrize(
    ("param", "body", "pointer", "schema"),
    [
        ("amount", {"amount": "49"}, "/body/amount", "/properties/amount"),
        ("currency", {"amount": "49"}, "/body/currency", "/properties/currency"),
        (
            "line_items[0][price]",
            {"line_items": [{"quantity": "1"}]},
            "/body/line_items/0/price",
            "/properties/line_items/items/properties/price",
        ),
        ("metadata[a/b]", {"metadata": {"a/b": "x"}}, "/body/metadata/a~1b", "/properties/metadata/properties/a~1b"),
    ],
)
def test_a_parameter_becomes_a_pointer(param: str, body: Json, pointer: str, schema: str) -> None:
    violation = only(post("/v1/checkout/sessions", body), type="invalid_request_error", message="m", param=param)
    assert violation.pointer == pointer
    assert violation.native["schema"] == schema


def test_parameters_of_a_read_are_in_the_query() -> None:
    violation = only(
        Request("GET", "/v1/charges", query={"limit": "ten"}), type="invalid_request_error", message="m", param="limit"
    )
    assert (violation.pointer, violation.native["under"]) == ("/query/limit", "/query")


@rows(
    ("request_", "message", "param", "pointer", "named"),
    [
        (post("/v1/refunds", {"charge": "ch_nope"}), "No such charge: ch_nope", "id", "/body/charge", "ch_nope"),
        (post("/v1/charges/ch_nope/capture", {}), "No such charge: ch_nope", "charge", "/path", "ch_nope"),
        (post("/v1/payment_intents/pi_x/confirm"), "No such payment_intent: 'pi_x'", "intent", "/path", "pi_x"),
        (post("/v1/customers/cus_1", {"default_source": "card_x"}), "No such source: card_x", "source",
         "/body/default_source", "card_x"),
        (post("/v1/subscriptions", {"items": [{"price": "price_x"}]}), "No such price: price_x", "price",
         "/body/items/0/price", "price_x"),
        (Request("DELETE", "/v1/customers/cus_1/sources/card_x"),
         "Customer cus_1 does not have card with ID card_x", "id", "/path", "card_x"),
        (Request("GET", "/v1/charges", headers={"stripe-account": "acct_x"}),
         "The provided key 'sk_test_***' does not have access to account 'acct_x' (or that account does not exist).",
         "", "/headers/stripe-account", "acct_x"),
        (Request("GET", "/v1/charges", query={"starting_after": "ch_x"}), "No such charge: ch_x", "starting_after",
         "/query/starting_after", "ch_x"),
        (post("/v1/refunds", {"amount": "10"}), "No such charge: undefined", "id", "/body/id", "undefined"),
        (post("/v1/refunds", {"charge": "ch_1"}),
         "No such charge: 'ch_1'; a similar object exists in test mode, but a live mode key was used.",
         "charge", "/body/charge", "ch_1"),
    ],
)  # fmt: skip
def test_an_identifier_in_the_message_tells_the_place(
    request_: Request, message: str, param: str, pointer: str, named: str
) -> None:
    violation = only(request_, type="invalid_request_error", message=message, param=param)
    assert violation.pointer == pointer
    assert violation.native["named"] == named


def test_an_unknown_error_of_the_shape_is_still_a_violation() -> None:
    (violation,) = read(post("/v1/charges", {}), {"error": {"type": "brand_new_error", "message": "?"}})
    assert (violation.type, violation.code) == ("brand_new_error", "")


def test_a_crash_of_the_mock() -> None:
    body = {"message": "Unexpected error: Unhandled source token 'tok_x'", "stack": "Error: at cards.js"}
    (violation,) = read(post("/v1/charges", {"source": "tok_x"}), body, 500)
    assert (violation.type, violation.pointer, violation.native["named"]) == ("server_crash", "/body/source", "tok_x")
    assert read(post("/v1/charges", {"source": "tok_x"}), body, 400) == ()


@rows(
    "body",
    [
        None,
        [],
        "Bad gateway",
        {},
        {"error": "invalid_grant", "error_description": "This authorization code has expired."},
        {"error": {}},
        {"error": {"type": 1, "message": None}},
        {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"},
        {"id": "ch_1", "object": "charge"},
    ],
)
def test_anything_else_is_not_this_dialect(body: Json) -> None:
    assert read(post("/v1/charges", {"amount": "1"}), body, 500) == ()


def test_members_of_other_types_are_not_trusted() -> None:
    violation = only(
        post("/v1/charges", {"amount": "1"}),
        type="invalid_request_error",
        message="m",
        param=["amount"],
        code=7,
        charge={"id": "ch_1", "status": "failed"},
        payment_intent="pi_1",
    )
    assert (violation.param, violation.code, violation.pointer) == ("", "", "")
    assert (violation.native["charge"], violation.native["intent"], violation.native["intent_status"]) == (
        "ch_1",
        "pi_1",
        "",
    )


@pytest.mark.parametrize(
    ("query", "param", "pointer", "schema"),
    [
        ({"expand[]": "foo"}, "expand", "/query/expand[]", "/properties/expand/items"),
        ({"expand[]": ["a", "b"]}, "expand[1]", "/query/expand[]", "/properties/expand/items"),
        ({"created[gt]": "x"}, "created[gt]", "/query/created[gt]", "/properties/created/properties/gt"),
        ({}, "customer", "/query/customer", "/properties/customer"),
    ],
)
def test_a_query_keeps_the_names_as_they_were_sent(query: Json, param: str, pointer: str, schema: str) -> None:
    violation = only(Request("GET", "/v1/charges", query=query), type="invalid_request_error", message="m", param=param)
    assert (violation.pointer, violation.native["schema"]) == (pointer, schema)


def test_a_gateway_is_read_with_what_rules_ask_for() -> None:
    request = Request("GET", "/v1/charges", query={"limit": "ten"})
    said = {
        "title": "t",
        "status": 422,
        "validation": [{"location": ["query", "limit"], "code": "type", "message": "m"}],
    }
    (violation,) = GATEWAY.read(Exchange(request, 422, {}, b""), said)
    assert (violation.pointer, violation.constraint) == ("/query/limit", "type")
    known = only(request, type="invalid_request_error", message="m", param="limit").native
    assert {name: violation.native[name] for name in known} == known
