"""The reference API: state by caller, trials, two dialects, and a description that is true of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.conformance.checks.support import exchange as provocation
from corrigible.conformance.reference import api
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, HttpResponse
from corrigible.proxy.cli import main

ADA, BOB = ("Authorization", "Bearer ada"), ("Authorization", "Bearer bob")
REFUND = {"order": "ord_1", "amount": 100}


def call(shop: Shop, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> tuple[int, Any]:
    sent = HttpRequest(method, target, headers or (ADA,), b"" if body is None else json.dumps(body).encode())
    status, said, _ = shop.respond(sent)
    return status, said


def test_every_caller_has_a_shop_of_its_own_until_it_is_reset() -> None:
    shop = Shop()
    assert call(shop, "POST", "/v1/refunds", REFUND)[0] == 201
    assert call(shop, "GET", "/v1/orders/ord_1")[1]["refunded"] == 800
    assert call(shop, "GET", "/v1/orders/ord_1", None, BOB)[1]["refunded"] == 700
    assert call(shop, "POST", "/v1/reset") == (200, {"reset": True})
    assert call(shop, "GET", "/v1/orders/ord_1")[1]["refunded"] == 700


def test_a_trial_says_what_would_be_and_changes_nothing() -> None:
    shop = Shop()
    before = call(shop, "GET", "/v1/orders")
    assert call(shop, "POST", "/v1/refunds?dry_run=true", REFUND)[0] == 201
    assert call(shop, "POST", "/v1/refunds?dry_run=true", {**REFUND, "amount": 999})[0] == 422
    assert call(shop, "PATCH", "/v1/orders/ord_1?dry_run=true", {"version": 3, "gift": True})[0] == 200
    assert call(shop, "POST", "/v1/shipments?dry_run=true", {"order": "ord_1"})[0] == 201
    assert call(shop, "GET", "/v1/orders") == before


def test_an_idempotency_key_belongs_to_one_request() -> None:
    shop, key = Shop(), ("Idempotency-Key", "key-1")
    assert call(shop, "POST", "/v1/refunds", REFUND, ADA, key)[0] == 201
    status, said = call(shop, "POST", "/v1/refunds", {**REFUND, "amount": 1}, ADA, key)
    assert (status, said["error"]["code"]) == (409, "idempotency_key_reused")


@pytest.mark.parametrize("base", ["", "/problem"])
def test_every_provocation_is_refused_in_the_dialect_that_the_description_has(base: str) -> None:
    profile = "problem+json" if base else "http-json"
    name = "Problem" if base else "Error"
    schema = {"$ref": f"#/components/schemas/{name}", "components": api.DESCRIPTION.document["components"]}
    with Upstream(Shop()) as upstream:
        subject = Subject("proxy", profile, target=HttpClient(upstream.url), upstream=upstream)
        answers: list[HttpResponse] = [one.got for one in provocation.refusals(subject)]
    assert len(answers) >= 30
    for got in answers:
        assert got.status >= 400
        assert (got.header("content-type") == "application/problem+json") is bool(base)
        assert not list(Draft202012Validator(schema).iter_errors(got.json())), got.body


def test_every_operation_of_the_description_is_there() -> None:
    shop = Shop()
    params = {"item": "tea", "order": "ord_5"}
    operations = [
        (method, path)
        for path, item in api.DESCRIPTION.document["paths"].items()
        for method in {"get", "post", "patch"} & item.keys()
    ]
    assert len(operations) > 5
    for method, path in operations:
        status, said = call(shop, method.upper(), path.format_map(params))
        assert status in (200, 400), (method, path, said)


@pytest.mark.parametrize("command", ["lint", "test"])
def test_the_pack_lints_and_passes_its_cases(command: str) -> None:
    assert main(["pack", command, str(api.PACK)]) == 0
