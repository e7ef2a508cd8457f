"""Operations and facts: what is kept of Stripe's own description, and how it is made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.adapters.stripe import generate_facts
from corrigible.adapters.stripe.adapter import ADAPTER
from corrigible.adapters.stripe.facts import facts


@pytest.mark.parametrize(
    ("method", "path", "operation", "params"),
    [
        ("POST", "/v1/refunds", "PostRefunds", {}),
        ("POST", "/v1/charges/ch_1/capture", "PostChargesChargeCapture", {"charge": "ch_1"}),
        ("GET", "/v1/accounts/acct_1", "GetAccountsAccount", {"account": "acct_1"}),
        (
            "DELETE",
            "/v1/customers/cus_1/sources/card_1",
            "DeleteCustomersCustomerSourcesId",
            {"customer": "cus_1", "id": "card_1"},
        ),
        ("GET", "/v1/invoices/upcoming", "GetInvoicesUpcoming", {}),
        ("POST", "/v1/payment_intents/pi_1/confirm", "PostPaymentIntentsIntentConfirm", {"intent": "pi_1"}),
    ],
)
def test_paths_name_operations(method: str, path: str, operation: str, params: dict[str, str]) -> None:
    assert ADAPTER.operations.find(method, path) == (operation, params)


def test_a_path_that_stripe_does_not_have() -> None:
    assert ADAPTER.operations.find("POST", "/v1/payment_intent") is None


def test_facts_of_a_body() -> None:
    said = facts("PostRefunds")
    assert said["required"] == []
    assert said["properties"]["amount"] == {"type": "integer"}
    assert said["properties"]["reason"] == {
        "type": "string",
        "enum": ["duplicate", "fraudulent", "requested_by_customer"],
    }
    assert facts("PostPaymentIntents")["required"] == ["amount", "currency"]


def test_facts_of_a_query() -> None:
    said = facts("GetSubscriptionItems")
    assert said["required"] == ["subscription"]
    assert said["properties"]["limit"] == {"type": "integer"}


def test_facts_go_into_lists_and_objects() -> None:
    item = facts("PostCheckoutSessions")["properties"]["line_items"]["items"]
    assert item["properties"]["price"] == {"type": "string"}
    assert facts("PostPrices")["properties"]["product_data"]["required"] == ["name"]


def test_nothing_is_known_of_another_operation() -> None:
    assert facts("PostNothing") == {}
    assert facts("") == {}


def test_every_schema_is_a_json_schema_without_references() -> None:
    for operation in ADAPTER.operations.names:
        said = facts(operation)
        text = json.dumps(said)
        assert "$ref" not in text
        Draft202012Validator.check_schema({"type": "object", **said})


def test_the_description_is_small_enough_to_ship() -> None:
    assert sum((generate_facts.HERE / name).stat().st_size for name in ("facts.json", "operations.yaml")) < 400_000


DESCRIPTION: dict[str, Any] = {
    "paths": {
        "/v1/things/{thing}": {
            "get": {
                "operationId": "GetThingsThing",
                "parameters": [
                    {"name": "thing", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "kind", "in": "query", "required": True, "schema": {"type": "string", "maxLength": 5000}},
                ],
                "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"properties": {}}}}},
            },
            "post": {
                "operationId": "PostThingsThing",
                "parameters": [],
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {
                                "type": "object",
                                "required": ["size", "name"],
                                "properties": {
                                    "name": {"type": "string", "description": "prose", "maxLength": 22},
                                    "size": {"type": "string", "enum": ["", "small", "large"]},
                                    "note": {"anyOf": [{"type": "string"}, {"type": "string", "enum": [""]}]},
                                    "when": {"anyOf": [{"type": "object", "properties": {"gt": {"type": "integer"}}},
                                                       {"type": "integer"}]},
                                },
                            }
                        }
                    }
                },
            },
        }
    }
}  # fmt: skip


def test_what_the_generator_keeps() -> None:
    said = generate_facts.facts(DESCRIPTION)
    assert said["GetThingsThing"] == {"required": ["kind"], "properties": {"kind": {"type": "string"}}}
    assert said["PostThingsThing"]["required"] == ["name", "size"]
    assert said["PostThingsThing"]["properties"] == {
        "name": {"type": "string", "maxLength": 22},
        "size": {"type": "string", "enum": ["small", "large"]},
        "note": {"type": "string"},
        "when": {"type": ["object", "integer"], "properties": {"gt": {"type": "integer"}}},
    }


def test_the_generator_adds_what_only_local_servers_have() -> None:
    table = generate_facts.operations(DESCRIPTION)
    assert table["POST /v1/things/{thing}"] == "PostThingsThing"
    assert table["GET /v1/invoices/upcoming"] == "GetInvoicesUpcoming"


def test_what_occurs_twice_is_written_once() -> None:
    wide = {"type": "string", "enum": ["first-of-many-values", "second-of-many-values", "third"]}
    said = {"A": {"properties": {"x": wide}}, "B": {"properties": {"y": wide, "z": {"type": "integer"}}}}
    assert generate_facts.shared(said) == {
        "operations": {
            "A": {"properties": {"x": {"$ref": 0}}},
            "B": {"properties": {"y": {"$ref": 0}, "z": {"type": "integer"}}},
        },
        "shared": [wide],
    }
