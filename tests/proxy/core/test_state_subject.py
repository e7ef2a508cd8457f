"""A refusal by state is the end only where it is about what the path names, or the API: else another value may do."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /orders:
    post: &create
      operationId: createOrder
      requestBody: {content: {application/json: {schema: {type: object}}}}
  /orders/{id}:
    parameters: &id [{name: id, in: path, required: true, schema: {type: string}}]
    delete: {operationId: deleteOrder}
    patch: {operationId: patchOrder, requestBody: {content: {application/json: {schema: {type: object}}}}}
  /orders/{id}/lines:
    parameters: *id
    post: {operationId: addLine, requestBody: {content: {application/json: {schema: {type: object}}}}}
  /orders/hold:
    post: {operationId: holdOrders, requestBody: {content: {application/json: {schema: {type: object}}}}}
  /imports:
    post: {operationId: createImport, requestBody: {content: {application/json: {schema: {type: object}}}}}
"""
BODY = {"item": "sku1", "qty": 2, "promo": "SAVE", "depot": "W1", "pay_with": "pm_1"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("spec"), DESCRIPTION)


def told(engine: Engine, method: str, path: str, body: Any, message: str, status: int = 422, **more: Any) -> Any:
    headers = {"content-type": "application/json"} if body is not None else {}
    request = Request(method, path, headers={**headers, **more.pop("sent", {})}, body=body)
    return feedback_about(engine, request, status, {"message": message}, **more)


def asked(feedback: Any) -> list[str]:
    if feedback is None:
        return []
    return [place["pointer"] for one in feedback["suggestions"] for place in one.get("placeholders", ())]


@pytest.mark.parametrize("status", [400, 409, 422])
def test_who_may_is_for_a_person(engine: Engine, status: int) -> None:
    feedback = told(engine, "POST", "/orders", BODY, "Only admins can use this coupon", status)
    assert feedback is not None and feedback["recovery"] == "terminal"


@pytest.mark.parametrize(
    ("message", "is_final"),
    [
        ("Order 7 has been archived", False),
    ],
)
def test_which_one_is_meant_may_stand_in_the_body(engine: Engine, message: str, is_final: bool) -> None:
    feedback = told(engine, "POST", "/orders/hold", {"ids": [7]}, message)
    assert feedback is not None
    assert (feedback["recovery"] == "terminal") is is_final


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("The chosen depot is closed", "/body/depot"),
        ("Items of this depot are archived", "/body/depot"),
    ],
)
def test_the_value_that_is_told_is_asked_for(engine: Engine, message: str, place: str) -> None:
    assert asked(told(engine, "POST", "/orders", {"depot": "W1", "sku": "a"}, message)) == [place]


@rows(
    ("method", "path", "message"),
    [
        ("PATCH", "/orders/7", "The order is closed"),
        ("PATCH", "/orders/7", "Order 7 has been archived"),
        ("PATCH", "/orders/7", "Already completed"),
        ("PATCH", "/orders/7", "It is archived"),
        ("PATCH", "/orders/7", "Order 7 is read-only"),
        ("POST", "/orders/7/lines", "The order is locked"),
        ("POST", "/orders", "Orders are disabled"),
        ("POST", "/orders", "The service is suspended"),
        ("POST", "/orders", "Your account has been suspended"),
        ("POST", "/orders", "No valid license"),
        ("POST", "/orders", "Storage limit exceeded"),
        ("POST", "/orders", "The maximum number of orders has been reached"),
        ("POST", "/orders", "You are not authorized to create orders."),
        ("POST", "/orders", "You do not have permission to do this."),
        ("POST", "/orders", "You must be logged in to order."),
        ("DELETE", "/orders/7", "The invoice has been archived"),
    ],
)
def test_what_the_path_names_and_the_api_stay_ends(engine: Engine, method: str, path: str, message: str) -> None:
    feedback = told(engine, method, path, None if method == "DELETE" else BODY, message)
    assert feedback is not None
    assert (feedback["recovery"], feedback["suggestions"][0]["action"]) == ("terminal", "ESCALATE")


@rows(
    "message",
    [
        "Another import is in progress",
        "An import is already in progress.",
        "The order is being deployed",
        "Order 7 is currently processing",
        "The system is under maintenance",
        "The order is locked by another user",
        "Another job is already running",
        "The service is not ready",
        "The order is not ready yet",
    ],
)
def test_what_ends_by_itself_is_waited_for(engine: Engine, message: str) -> None:
    for status in (409, 422, 423):
        feedback = told(engine, "PATCH", "/orders/7", {"note": "x"}, message, status)
        assert feedback is not None
        assert [one["action"] for one in feedback["suggestions"]] == ["WAIT_AND_RETRY"]
        assert (feedback["recovery"], feedback["retry"]["same_request"]) == ("transient", False)


@pytest.mark.parametrize(
    "message",
    [
        "The order is locked",
        "The order is locked by an administrator",
        "Order 7 is not running",
        "The order is being used by invoice 3",
        "The order has been archived",
    ],
)
def test_what_stays_is_not_waited_for(engine: Engine, message: str) -> None:
    feedback = told(engine, "PATCH", "/orders/7", {"note": "x"}, message, 409)
    assert feedback is None or feedback["recovery"] != "transient"


@pytest.mark.parametrize("message", ["The order is locked", "Another import is in progress", "Quota exceeded"])
def test_the_server_says_when_to_come_back(engine: Engine, message: str) -> None:
    feedback = told(engine, "PATCH", "/orders/7", {"note": "x"}, message, 409, headers={"retry-after": "5"})
    assert feedback is not None
    assert (feedback["recovery"], feedback["retry"]) == ("transient", {"same_request": False, "after_seconds": 5})


def test_a_key_lets_the_same_request_be_sent_again(engine: Engine) -> None:
    key = {"idempotency-key": "k-1"}
    feedback = told(engine, "POST", "/imports", {"file": "x"}, "Another import is in progress", 409, sent=key)
    assert feedback is not None
    assert feedback["retry"] == {"same_request": True, "idempotency_key": "reuse"}


@pytest.mark.parametrize("message", ["You do not have permission to do this", "You must be logged in"])
def test_rights_do_not_come_by_themselves(engine: Engine, message: str) -> None:
    feedback = told(engine, "PATCH", "/orders/7", {"note": "x"}, message, 409, headers={"retry-after": "5"})
    assert feedback is not None and feedback["recovery"] == "terminal"


def test_nothing_depends_on_what_is_not_taken_away(engine: Engine) -> None:
    for method, body, needed in (("DELETE", None, "nothing depends"), ("PATCH", {"note": "x"}, "another state")):
        feedback = told(engine, method, "/orders/7", body, "The order is still in use by 3 invoices", 409)
        assert feedback is not None and needed in feedback["suggestions"][0]["parameters"]["needed"]


def test_of_a_single_value_it_is_clear_which_is_refused(engine: Engine) -> None:
    message = "Splitting hairs is not supported by the carrier you have chosen"
    one = told(engine, "POST", "/orders/7/lines", {"item": "sku1"}, message)
    several = told(engine, "POST", "/orders/7/lines", {"item": "sku1", "qty": 2}, message)
    assert asked(one) == (["/body/item"] if asked(several) else [])
