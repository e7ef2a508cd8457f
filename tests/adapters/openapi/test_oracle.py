"""openapi-core as a second opinion: it and we refuse the same requests of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.schema.exchange import Request
from tests._support.rows import rows

pytestmark = pytest.mark.filterwarnings("ignore:Use of allowEmptyValue:DeprecationWarning")
SHOP = Path(__file__).with_name("shop.yaml")
ORDER: dict[str, Any] = {"buyer": {"name": "b"}, "lines": [{"item": "a"}]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Description:
    return load(SHOP, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def oracle() -> Any:
    return OpenAPI.from_file_path(str(SHOP))


def refused(oracle: Any, request: Request) -> bool:
    media = "application/json"
    data = None if request.body is None else json.dumps(request.body).encode()
    if request.form:
        media, data = "application/x-www-form-urlencoded", urlencode(request.body).encode()
    asked = MockRequest(
        "https://shop.test",
        request.method.lower(),
        f"/v2{request.path}",
        args=dict(parse_qsl(urlencode(request.query, doseq=True))),
        headers=dict(request.headers),
        content_type=media,
        data=data,
    )
    return any(True for _ in oracle.iter_request_errors(asked))


def order(**members: Any) -> Request:
    return Request("POST", "/orders", headers={"X-Tenant": "red"}, body={**ORDER, **members})


def listed(**query: Any) -> Request:
    return Request("GET", "/orders", query, {"X-Tenant": "red"})


TABLE = [
    order(),
    order(note=None),
    order(note=5),
    order(discount=0),
    order(discount=0.5),
    order(discount=2),
    order(state="closed"),
    order(state="shut"),
    order(due="2026-11-21"),
    order(due="21.11.2026"),
    order(lines=[]),
    order(lines=[{"quantity": 2}]),
    order(lines=[{"item": "a", "quantity": 2}]),
    order(lines=[{"item": "a", "quantity": 3}]),
    order(labels=["a", {"name": "b"}]),
    order(labels=["a", "a"]),
    order(labels=[5]),
    order(labels=[{"name": "a", "color": "red"}]),
    order(buyer={"name": "b", "friend": {"name": "c", "friend": {"name": "d"}}}),
    order(buyer={"name": "b", "friend": {"name": "c", "friend": {}}}),
    order(review={"status": "completed"}),
    order(review={"status": "completed", "conclusion": "x"}),
    order(ids=["a"]),
    order(ids={}),
    order(unheard="of"),
    Request("POST", "/orders", headers={"X-Tenant": "red"}),
    Request("POST", "/orders", body=ORDER),
    Request("POST", "/orders", headers={"X-Tenant": "green"}, body=ORDER),
    Request("POST", "/categories", body={"name": "a", "children": [{"name": "b"}]}),
    Request("POST", "/categories", body={"name": "a", "children": [{}]}),
    Request("PATCH", "/orders/1", headers={"X-Tenant": "red"}, body={"note": "n"}),
    Request("PATCH", "/orders/1", headers={"X-Tenant": "red"}, body={}),
    Request("GET", "/orders/1"),
    Request("GET", "/orders/one"),
    Request("DELETE", "/orders/1/lines/gift"),
    Request("DELETE", "/orders/1/lines/gif"),
    listed(limit="1"),
    listed(limit="0"),
    listed(limit="ten"),
    listed(state="all"),
    listed(state="any"),
    listed(fields="id,total"),
    listed(fields="id,nothing"),
    listed(unheard="of"),
    Request("POST", "/payments", body={"amount": "5", "currency": "euro"}, form=True),
    Request("POST", "/payments", body={"amount": "0", "currency": "eur"}, form=True),
    Request("POST", "/payments", body={"amount": "5"}, form=True),
]


@rows("request_", TABLE, ids=[f"{one.method} {one.path} {number}" for number, one in enumerate(TABLE)])
def test_both_say_the_same(shop: Description, oracle: Any, request_: Request) -> None:
    found = shop.operations.find(request_.method, request_.path)
    assert found is not None
    ours = Request(
        request_.method,
        request_.path,
        request_.query,
        {name.lower(): value for name, value in request_.headers.items()},
        request_.body,
        request_.form,
    )
    assert bool(shop.schema_violations(ours, found[0])) is refused(oracle, request_)


def test_an_absent_deep_object_is_fine_whatever_the_oracle_says(shop: Description, oracle: Any) -> None:
    request = Request("POST", "/payments", body={"amount": "5", "currency": "eur"}, form=True)
    assert shop.schema_violations(request, "CreatePayment") == ()
    assert refused(oracle, request)
