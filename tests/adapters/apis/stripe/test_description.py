"""Stripe's operations and what is kept of its own description."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import jsonschema_rs
import pytest

from corrigible.adapters.apis.stripe.adapter import ADAPTER, description
from tests._support.rows import rows

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@rows(
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
    said = description().facts("PostRefunds")
    assert said["required"] == []
    assert said["properties"]["amount"] == {"type": "integer"}
    assert said["properties"]["reason"] == {
        "type": "string",
        "enum": ["duplicate", "fraudulent", "requested_by_customer"],
        "maxLength": 5000,
    }
    assert description().facts("PostPaymentIntents")["required"] == ["amount", "currency"]


def test_facts_of_a_query() -> None:
    said = description().facts("GetSubscriptionItems")
    assert said["required"] == ["subscription"]
    assert said["properties"]["limit"] == {"type": "integer"}


def test_facts_go_into_lists_and_objects() -> None:
    item = description().facts("PostCheckoutSessions")["properties"]["line_items"]["items"]
    assert item["properties"]["price"] == {"type": "string", "maxLength": 5000}
    assert description().facts("PostPrices")["properties"]["product_data"]["required"] == ["name"]


def test_nothing_is_known_of_another_operation() -> None:
    assert description().facts("PostNothing") == {}
    assert description().facts("") == {}


@pytest.mark.slow
def test_every_schema_is_a_json_schema_without_references() -> None:
    operations = ADAPTER.operations.names
    assert len(operations) > 400
    for operation in operations:
        facts = description().facts(operation)
        assert "$ref" not in json.dumps(facts)
        jsonschema_rs.meta.validate({"$schema": DIALECT, "type": "object", **facts})


def test_every_operation_of_the_description_is_known_by_its_name() -> None:
    described = set(description().operations.names)
    assert len(described) > 400
    assert described <= set(ADAPTER.operations.names)


def test_the_generator_adds_what_only_local_servers_have() -> None:
    table = runpy.run_path(str(Path(__file__).parents[4] / "adapters/generate_operations.py"))["stripe_operations"](
        {"paths": {"/v1/things/{thing}": {"post": {"operationId": "PostThingsThing"}, "summary": "s"}}}
    )
    assert table["POST /v1/things/{thing}"] == "PostThingsThing"
    assert table["GET /v1/invoices/upcoming"] == "GetInvoicesUpcoming"
