"""Errors of one refusal that are one mistake: an unknown member and the missing one, an object of what is missed."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.several_members import moved_from
from corrigible.schema.exchange import Request
from corrigible.schema.reader import Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Users, version: '1'}
paths:
  /reset:
    post: {requestBody: {content: {application/json: {schema: {type: object, properties: {email: {type: string}}}}}}}
  /users:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [email]
              properties: {email: {type: string}, nick: {type: string}}
"""
MISSED = {"path": ["email"], "message": "email is a required field"}
UNKNOWN = {"path": [], "message": "this field has unspecified keys: mail"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("users"), DESCRIPTION)


def post(path: str, body: Any) -> Request:
    return Request("POST", path, headers={"content-type": "application/json"}, body=body)


@pytest.mark.parametrize("errors", [[MISSED, UNKNOWN], [UNKNOWN, MISSED]])
def test_an_unknown_member_that_is_the_missing_one_is_not_left_out(engine: Engine, errors: list[Any]) -> None:
    request = post("/reset", {"mail": "a@b.de"})
    feedback = feedback_about(engine, request, 400, {"message": "2 errors occurred", "errors": errors})
    assert feedback is not None
    ops = [op["op"] for one in feedback["suggestions"] for op in one.get("patch", ())]
    assert "remove" not in ops
    outcome = followed(feedback, request, confirm=True)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"email": "a@b.de"}


def missed(*names: str) -> dict[str, Any]:
    return {"errors": [{"path": [name], "message": f"{name} is a required field"} for name in names]}


@pytest.mark.parametrize(
    ("inner", "names", "is_moved"),
    [
        ({"email": "a@b.de", "nick": "a"}, ("email",), True),
        ({"email": "a@b.de", "role": 1}, ("email",), False),  # nothing says that it belongs there
    ],
)
def test_an_object_with_all_that_is_missed(engine: Engine, inner: Any, names: tuple[str, ...], is_moved: bool) -> None:
    request = post("/users", {"data": inner})
    outcome = followed(feedback_about(engine, request, 400, missed(*names)), request)
    assert isinstance(outcome, Next) is is_moved
    if isinstance(outcome, Next):
        assert outcome.request.body == inner


def test_a_choice_of_edits_moves_nothing() -> None:
    from corrigible.rules.schema_repair.suggestion import Repair, result_of

    move = {"patch": [{"op": "move", "from": "/body/mail", "path": "/body/email"}]}
    asked: dict[str, Any] = {"placeholders": []}

    def moved(*suggestions: dict[str, Any]) -> set[str]:
        return moved_from(result_of(Repair(suggestions, "recovery_guidance", "", ""), ""))

    assert moved(move, asked) == {"/body/mail"}
    assert moved(move, move) == set()
    assert moved(asked) == set()
