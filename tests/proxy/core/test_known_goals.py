"""That the goal holds already is told only where it is known: of the thing itself, all of it, as it was asked for."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /orders:
    get: {operationId: listOrders}
    post:
      operationId: createOrder
      requestBody: &any {content: {application/json: {schema: {type: object}}}}
  /orders/{id}:
    parameters: &id [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getOrder}
    delete: {operationId: deleteOrder}
    patch: {operationId: patchOrder, requestBody: *any}
  /orders/{id}/approve:
    parameters: *id
    post: {operationId: approveOrder}
  /orders/{id}/team:
    parameters: *id
    put:
      operationId: setTeam
      requestBody: {content: {application/json: {schema: {type: object, properties: {team_id: {type: string}}}}}}
  /teams:
    get: {operationId: listTeams}
  /queues:
    get: {operationId: listQueues}
    post: {operationId: createQueue, requestBody: *any}
  /queues/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {operationId: getQueue}
"""
ORDERS = [{"id": 1, "name": "web"}, {"id": 2, "name": "shop"}]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("spec"), DESCRIPTION)


def actions(feedback: dict[str, Any] | None) -> list[str]:
    return [] if feedback is None else [one["action"] for one in feedback["suggestions"]]


def post(path: str, body: Any) -> Request:
    return Request("POST", path, headers={"content-type": "application/json"}, body=body)


@rows(
    ("listing", "headers", "is_gone"),
    [
        (ORDERS, {}, True),
        ({"data": ORDERS, "links": {"next": None}}, {}, True),
        ({"data": ORDERS, "meta": {"total": 2}}, {}, True),
        (ORDERS, {"x-total-count": "2"}, True),
        ({"data": ORDERS, "links": {"next": "/orders?page=2"}}, {}, False),
        ({"data": ORDERS, "meta": {"total": 900}}, {}, False),
        ({"data": ORDERS, "page": 1, "pages": 9}, {}, False),
        ([{"id": n} for n in range(20)], {}, False),
        (ORDERS, {"link": '</orders?page=2>; rel="next"'}, False),
        (ORDERS, {"x-total-count": "900"}, False),
        (ORDERS, {"content-range": "items 0-1/900"}, False),
        (ORDERS, {"x-next-page": "2"}, False),
    ],
)
def test_what_may_be_on_another_page_is_not_called_gone(
    engine: Engine, listing: Any, headers: dict[str, str], is_gone: bool
) -> None:
    exchange = Exchange(Request("DELETE", "/orders/99"), 404, {}, b'{"message":"Not found"}', "e", 1.0)
    answer = LookupAnswer(200, orjson.dumps(listing), headers)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda _: answer)
    assert isinstance(decision, Annotate)
    assert actions(dict(decision.feedback)) == ["ALREADY_DONE" if is_gone else "MODIFY_PARAMS"]


WEB = {"name": "web", "start": "9"}


@pytest.mark.parametrize(
    "message",
    [
        "'web' already exists",
        "An order with this name already exists",
        "Order web already exists.",
        "The name is already in use",
        "name: already taken",
    ],
)
def test_what_is_named_and_exists_as_it_was_sent_is_done(engine: Engine, message: str) -> None:
    state = {"/orders": [{"id": 5, **WEB}]}
    assert actions(feedback_about(engine, post("/orders", WEB), 409, {"message": message}, state=state)) == [
        "ALREADY_DONE"
    ]


@rows(
    "message",
    [
        "The idempotency key is already in use",
        "This room is already in use at that time",
        "Duplicate request",
        "Duplicate submission detected",
        "A duplicate transaction",
        "Another transfer with the same recipient is already registered",
        "The slot is already taken",
        "The time of web is already taken",
        "The idempotency key web is already in use",
        "Request web is a duplicate",
        "That period is already in use",
        "The seat is already taken",
        "The card is already registered",
        "Already exists",
        "",
    ],
)
def test_what_is_like_what_was_sent_by_chance_is_not_called_done(engine: Engine, message: str) -> None:
    state = {"/orders": [{"id": 5, **WEB, "room": "other"}]}
    for body in (WEB, {"start": "9"}):
        feedback = feedback_about(engine, post("/orders", body), 409, {"message": message}, state=state)
        assert "ALREADY_DONE" not in actions(feedback)
        for one in feedback["suggestions"] if feedback is not None else ():
            assert one["safety"]["changes_intent"] is True or one["action"] == "ESCALATE"


@pytest.mark.parametrize(
    ("message", "is_done"),
    [
        ("Room A1 is already in use", False),
        ("The room is already taken", False),
        ("That room is already booked, a duplicate", False),
        ("Name web is already taken", True),
        ("An order of room A1 and name web already exists", True),
    ],
)
def test_what_is_no_name_may_be_held_by_somebody_else(engine: Engine, message: str, is_done: bool) -> None:
    body = {"room": "A1", "name": "web"}
    state = {"/orders": [{"id": 5, **body}]}
    feedback = feedback_about(engine, post("/orders", body), 409, {"message": message}, state=state)
    assert ("ALREADY_DONE" in actions(feedback)) is is_done


def test_what_paths_name_is_alone_in_its_name(engine: Engine) -> None:
    queue = {"name": "web", "size": 2}
    request, state = post("/queues", queue), {"/queues/web": {**queue, "made": "2020"}}
    assert actions(feedback_about(engine, request, 409, {"message": "Already exists"}, state=state)) == ["ALREADY_DONE"]
    other = {"message": "The idempotency key is already in use"}
    assert "ALREADY_DONE" not in actions(feedback_about(engine, request, 409, other, state=state))


def test_the_error_may_name_the_member_beside_its_text(engine: Engine) -> None:
    state, error = {"/orders": [{"id": 5, **WEB}]}, {"errors": [{"field": "name", "message": "already in use"}]}
    assert actions(feedback_about(engine, post("/orders", WEB), 422, error, state=state)) == ["ALREADY_DONE"]


def test_a_word_for_a_time_may_be_the_name_of_a_member(engine: Engine) -> None:
    body = {"date": "2026-01-01", "name": "web"}
    state = {"/orders": [{"id": 5, **body}]}
    message = {"message": "An order of this date exists already, or already exists: 2026-01-01"}
    assert actions(feedback_about(engine, post("/orders", body), 409, message, state=state)) == ["ALREADY_DONE"]


@rows(
    ("sent", "existing", "is_done"),
    [
        ({"ports": [443]}, {"ports": [443], "public": True}, True),
        ({"ports": [443]}, {"ports": [443, 22, 3389]}, False),
        ({"ports": [443, 443]}, {"ports": [443]}, False),
        ({"public": False}, {}, False),
        ({"public": False}, {"public": False}, True),
        ({"retries": 0}, {}, False),
        ({"zip": "02134"}, {"zip": 2134}, False),
        ({"note": None}, {}, True),
    ],
)
def test_something_wider_or_less_is_not_what_was_asked_for(
    engine: Engine, sent: dict[str, Any], existing: dict[str, Any], is_done: bool
) -> None:
    request = post("/orders", {"name": "web", **sent})
    state = {"/orders": [{"id": 5, "name": "web", **existing}]}
    feedback = feedback_about(engine, request, 409, {"message": "'web' already exists"}, state=state)
    assert actions(feedback) == (["ALREADY_DONE"] if is_done else ["MODIFY_PARAMS", "USE_ALTERNATIVE_ENDPOINT"])


@rows(
    ("message", "action"),
    [
        ("Order 7 has already been approved", "ESCALATE"),
        ("The order is already approved.", "ESCALATE"),
        ("Already approved", "ESCALATE"),
        ("The order 9 was already approved", "ESCALATE"),
        ("Parent order is already approved", "ESCALATE"),
        ("The invoice is already approved", "ESCALATE"),
        ("Cannot approve, already shipped", "ESCALATE"),
        ("approve failed, order is already closed", "ESCALATE"),
        ("The order is not already approved", "ESCALATE"),
        ("It is already too late to approve", "ESCALATE"),
        ("Is the order already approved?", "ESCALATE"),
    ],
)
def test_a_sentence_about_another_thing_is_no_answer(engine: Engine, message: str, action: str) -> None:
    feedback = feedback_about(engine, Request("POST", "/orders/7/approve"), 409, {"message": message})
    assert actions(feedback) == [action]


@rows(
    ("status", "beside", "action"),
    [
        (409, {}, "ESCALATE"),
        (400, {}, "ESCALATE"),
        (422, {}, "ESCALATE"),
        (422, {"order": {"state": "approved"}}, "ESCALATE"),
        (422, {"order": {"state": "open", "note": "approved or not"}}, "ESCALATE"),
    ],
)
def test_a_sentence_alone_does_not_say_that_the_goal_holds(
    engine: Engine, status: int, beside: dict[str, Any], action: str
) -> None:
    answer = {"message": "The order is already approved", **beside}
    assert actions(feedback_about(engine, Request("POST", "/orders/7/approve"), status, answer)) == [action]
