"""Conflicts whose answer has the resource that exists: no look-up is needed to see that it is as it was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about

DESCRIPTION = """
openapi: 3.0.3
info: {title: Shelves, version: '1'}
paths:
  /rooms/{room}/shelves:
    parameters: [{name: room, in: path, required: true, schema: {type: string}}]
    post:
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {
              rack: {type: string}, height: {type: integer}, note: {type: string}, password: {type: string}}}
"""
SENT = {"rack": "r-12", "height": 40, "note": "oak"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("shelves"), DESCRIPTION)


def told(engine: Engine, answer: Any, sent: Any = None, status: int = 409) -> list[Any]:
    request = Request("POST", "/rooms/attic/shelves", headers={"content-type": "application/json"}, body=sent or SENT)
    feedback = feedback_about(engine, request, status, answer)
    return list(feedback["suggestions"]) if feedback is not None else []


@pytest.mark.parametrize("message", ["Existing value", "Shelf already exists", "Existing shelf object."])
@pytest.mark.parametrize("name", ["object", "existing", "data"])
def test_what_exists_as_it_was_asked_for_is_done(engine: Engine, message: str, name: str) -> None:
    answer = {"message": message, name: {"id": 7, **SENT, "hint": "must not be moved"}}
    (suggestion,) = told(engine, answer)
    assert suggestion["action"] == "ALREADY_DONE"
    assert suggestion["evidence"] == {"kind": "mapping"}


def test_what_exists_otherwise_is_no_goal_reached(engine: Engine) -> None:
    (suggestion,) = told(engine, {"message": "Existing value", "object": {"id": 7, **SENT, "note": "pine"}})
    assert [one["pointer"] for one in suggestion["placeholders"]] == ["/body/rack", "/body/height"]
    assert suggestion["safety"]["changes_intent"] is True


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ({"message": "Existing value", "object": dict(SENT)}, None),  # it repeats what was sent: nothing exists of it
        ({"message": "Existing value", "request": {"id": 7, **SENT}}, None),
        ({"message": "Existing value", "object": {"id": 7, "rack": "r-13"}}, None),  # another one
        # Somebody else may have it.
        ({"message": "Shelf is already in use", "object": {"id": 7, **SENT}}, None),
        ({"message": "Rack is already taken", "object": {"id": 7, **SENT}}, None),
        ({"message": "The pending request already exists", "object": {"id": 7, **SENT}}, None),
        ({"message": "Existing value", "a": {"id": 7, **SENT}, "b": {"id": 8, **SENT}}, None),
        ({"message": "Existing value", "object": {"id": 7, "password": "x"}}, {"password": "x"}),
        ({"message": "The shelf is locked", "object": {"id": 7, **SENT}}, None),
    ],
)
def test_what_is_not_known_to_be_there(engine: Engine, answer: Any, sent: Any) -> None:
    found = told(engine, answer, sent)
    assert all(one["action"] != "ALREADY_DONE" for one in found) or sent is not None
    assert all(one["pointer"] != "/body/password" for each in found for one in each.get("placeholders", ()))
