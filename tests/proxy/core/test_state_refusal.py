"""Refusals about the state of an API: who has to act is told, and nothing where another request may do."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Terminal, apply
from corrigible.schema.writer import validate
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Kilns, version: "1"}
paths:
  /kilns/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    delete: {operationId: remove, responses: {"204": {description: gone}}}
    patch:
      operationId: change
      requestBody:
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              properties: {glaze: {type: string}, heat: {type: integer, maximum: 1300}}
      responses: {"200": {description: changed}}
  /kilns/{id}/fire:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    post: {operationId: fire, responses: {"202": {description: fired}}}
  /kilns/{id}/cache:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put:
      operationId: cache
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [fastCache], properties: {fastCache: {type: string}}}
      responses: {"200": {description: set}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    path = tmp_path_factory.mktemp("state") / "kilns.yaml"
    path.write_text(DESCRIPTION, "utf-8")
    return build_engine((), path)


def feedback(engine: Engine, request: Request, message: str, status: int = 400) -> dict[str, Any] | None:
    exchange = Exchange(request, status, {}, orjson.dumps({"message": message}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback))
    return dict(decision.feedback)


FIRE = Request("POST", "/kilns/k-1/fire")
REMOVE = Request("DELETE", "/kilns/k-1")


@rows(
    ("request_", "message", "status", "needed", "actor"),
    [
        (FIRE, "Firing is disabled", 400, "a feature that is available", "somebody_else"),
        (FIRE, "Only available on gas kilns", 422, "a feature that is available", "somebody_else"),
        (FIRE, "Kiln is not connected to the grid", 409, "another state of the resource", "you"),
        (FIRE, "The kiln k-1 is already running", 500, "another state of the resource", "you"),
        (FIRE, "You do not have permission to fire", 400, "permission", "somebody_else"),
        (FIRE, "Firing quota exceeded", 403, "room below the limit", "you"),
        (FIRE, "Remote firing is disabled", 404, "a feature that is available", "somebody_else"),
        (FIRE, "Kiln k-1 cannot be fired!", 409, "a resource that can be changed", "somebody_else"),
        (REMOVE, "Cannot delete kiln k-1", 400, "a resource that can be changed", "somebody_else"),
        (REMOVE, "The kiln is still in use by 3 batches", 409, "a resource that nothing depends on", "you"),
    ],
)
def test_who_has_to_act_is_told(
    engine: Engine, request_: Request, message: str, status: int, needed: str, actor: str
) -> None:
    answer = feedback(engine, request_, message, status)
    assert answer is not None
    end = apply(parse(answer), request_)
    assert isinstance(end, Terminal)
    assert end.action == "ESCALATE"
    assert end.parameters == {"needed": needed, "actor": actor, "method": request_.method, "path": request_.path}
    assert message not in orjson.dumps(answer).decode()


@rows(
    ("request_", "message", "status"),
    [
        # A value that was sent may be what is wrong, and so may what the description finds.
        (
            Request("PATCH", "/kilns/k-1", body={"glaze": "celadon"}),
            "The glaze celadon is not available in this store",
            400,
        ),
        (Request("PATCH", "/kilns/k-1", body={"heat": 1400}), "heat is disabled", 422),
        (Request("PATCH", "/kilns/k-1", body={"glaze": "celadon"}), "The colour cannot be changed", 400),
        # Another path may do.
        (Request("POST", "/kiln/k-1/fire"), "Firing is disabled", 404),
        (FIRE, "The kiln has been deleted", 404),
        # It may be a fault, or pass by itself.
        (REMOVE, "Cannot delete kiln k-1", 500),
        (FIRE, "The kiln is locked, try again in a minute", 409),
        (FIRE, "Something went wrong", 400),
    ],
)
def test_no_dead_end_is_told_where_another_request_may_do(
    engine: Engine, request_: Request, message: str, status: int
) -> None:
    answer = feedback(engine, request_, message, status)
    assert answer is None or not isinstance(apply(parse(answer), request_), Terminal)


CACHE = Request("PUT", "/kilns/k-1/cache", body={"fastCache": "on"})


def test_of_a_fault_about_the_state_of_what_was_named_another_one_is_asked_for(engine: Engine) -> None:
    request = Request("POST", "/kilns/k-1/fire", query={"batchId": "b-1"})
    answer = feedback(engine, request, "This batch b-1 was not approved", 500)
    assert answer is not None
    assert [one["pointer"] for one in answer["suggestions"][0]["placeholders"]] == ["/query/batchId"]


def test_a_sentence_alone_does_not_say_that_the_goal_holds(engine: Engine) -> None:
    message = "Kiln k-1 has already been fired."
    answer = feedback(engine, FIRE, message, 409)
    assert answer is not None
    end = apply(parse(answer), FIRE)
    assert isinstance(end, Terminal)
    assert end.action == "ESCALATE"


def test_an_error_at_a_place_beside_it_goes_first(engine: Engine) -> None:
    request = Request("PATCH", "/kilns/k-1", body={"heat": "hot"})
    body = {"errors": [{"message": "Firing is disabled"}, {"field": "heat", "message": "must be an integer"}]}
    decision = run_with_lookups_sync(
        engine.decide(Exchange(request, 422, {}, orjson.dumps(body), "e", 1.0)), lambda lookup: LookupAnswer(0)
    )
    assert isinstance(decision, Annotate)
    assert decision.feedback["recovery"] == "correctable"


def asked(engine: Engine, request: Request, message: str, status: int = 400) -> list[str]:
    answer = feedback(engine, request, message, status)
    suggestions = answer["suggestions"] if answer is not None else []
    return [place["pointer"] for one in suggestions for place in one.get("placeholders", ())]


def test_the_path_is_asked_for_where_nothing_else_can_be_what_is_refused(engine: Engine) -> None:
    message = "This kiln cools, come back tomorrow"
    assert asked(engine, FIRE, message, 409) == ["/path"]
    answer = feedback(engine, FIRE, message, 409)
    assert answer is not None
    (suggestion,) = answer["suggestions"]
    assert suggestion["placeholders"][0]["schema"] == {"type": "string", "pattern": "^/kilns/[^/]+/fire$"}


@pytest.mark.parametrize(
    ("request_", "message", "status"),
    [
        # Something else was sent, or can be.
        # What is meant may be a header, or a body that is not described.
        (FIRE, "Sign in and come back tomorrow", 400),
        (FIRE, "Bad Request", 400),
        (FIRE, "It cools, come back tomorrow", 500),
    ],
)
def test_the_path_is_not_asked_for_where_something_else_may_be_meant(
    engine: Engine, request_: Request, message: str, status: int
) -> None:
    assert asked(engine, request_, message, status) == []


def test_a_fault_that_names_what_the_path_names_asks_for_the_path(engine: Engine) -> None:
    assert asked(engine, FIRE, "This kiln cools, come back tomorrow", 500) == ["/path"]


@pytest.mark.parametrize("message", ["No auth token provided", "You must log in first", "Missing API key"])
def test_credentials_that_are_missed_under_another_status_are_told(engine: Engine, message: str) -> None:
    answer = feedback(engine, FIRE, message, 400)
    assert answer is not None
    assert [one["parameters"]["needed"] for one in answer["suggestions"]] == ["credentials"]


@pytest.mark.parametrize("message", ["Kiln was deleted", "The kiln has expired", "Kiln is no longer connected"])
def test_what_is_gone_for_good_gets_no_other_state(engine: Engine, message: str) -> None:
    told = feedback(engine, FIRE, message, 410)
    assert told is None or all(one["action"] != "ESCALATE" for one in told["suggestions"])


@pytest.mark.parametrize(
    ("message", "is_told"),
    [
        ("The kiln has no batches to fire", True),
        # What is missing is not said to be missing to the kiln.
        ("k-12 has no shelf, which is required", False),
    ],
)
def test_what_the_path_names_lacks_something(engine: Engine, message: str, is_told: bool) -> None:
    answer = feedback(engine, FIRE, message)
    assert (answer is not None) is is_told
    if answer is not None:
        outcome = apply(parse(answer), FIRE)
        assert isinstance(outcome, NeedsInput)
        assert [one.pointer for one in outcome.placeholders] == ["/path"]


def test_a_member_that_is_missing_is_asked_for_though_no_description_has_it(engine: Engine) -> None:
    assert asked(engine, FIRE, "A reason is required to fire k-1", 400) == ["/body/reason"]
