"""Refusals that say next to nothing: a kind of thing that is absent, or only that the request is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Labels, version: '1'}
paths:
  /tasks:
    get: {parameters: [{name: project, in: query, required: true, schema: {type: integer}}]}
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties: {text: {type: string}, project: {type: integer}, owner_id: {type: integer}}
  /tasks/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    patch:
      requestBody:
        content: {application/json: {schema: {type: object, properties: {project: {type: integer}}}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = tmp_path_factory.mktemp("labels")
    return engine_of(folder, DESCRIPTION)


def asked(feedback: dict[str, Any] | None) -> list[str]:
    suggestions = feedback["suggestions"] if feedback is not None else []
    return [place["pointer"] for one in suggestions for place in one.get("placeholders", ())]


@pytest.mark.parametrize("message", ["Project not found", "project does not exist"])
def test_what_is_absent_is_what_the_body_calls_so(engine: Engine, message: str) -> None:
    sent = Request("POST", "/tasks", body={"text": "hello", "project": 98765})
    assert asked(feedback_about(engine, sent, 404, {"detail": message})) == ["/body/project"]
    assert asked(feedback_about(engine, Request("GET", "/tasks"), 404, {"detail": message})) == ["/query/project"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("POST", "/tasks", body={"text": "hello", "project": 7}), "Nothing found"),
        (Request("PATCH", "/tasks/7", body={"project": 7}), "No Project matches the given query."),
    ],
)
def test_where_it_is_not_clear_no_member_is_asked_for(engine: Engine, request_: Request, message: str) -> None:
    assert "/body/project" not in asked(feedback_about(engine, request_, 404, {"detail": message}))


def test_of_two_members_of_the_name_both_are_asked_for(engine: Engine) -> None:
    request = Request("POST", "/tasks", {"project": "7"}, body={"project": 7})
    answer = feedback_about(engine, request, 404, {"detail": "Project not found"})
    assert sorted(asked(answer)) == ["/body/project", "/query/project"]


def test_an_owner_is_meant_by_its_identifier(engine: Engine) -> None:
    sent = Request("POST", "/tasks", body={"owner_id": 5, "project": 7})
    assert asked(feedback_about(engine, sent, 404, {"detail": "Owner not found"})) == ["/body/owner_id"]


HAPI = "Invalid request payload input"
JSON = {"content-type": "application/json"}


@rows(
    ("body", "status", "message"),
    [
        ({"text": "hello", "colour": "red", "size": 3}, 400, HAPI),  # either may be
        ({"text": "hello", "colour": "red"}, 400, "The plan does not allow it"),
        ({"text": "hello", "colour": "red"}, 409, "Conflict"),
        ({"text": "hello", "colour": "red"}, 403, "Forbidden"),
        ({"text": "hello"}, 400, HAPI),
        ({f"member{number}": 1 for number in range(40)}, 400, HAPI),
    ],
)
def test_else_nothing_is_left_out(engine: Engine, body: Any, status: int, message: str) -> None:
    feedback = feedback_about(engine, Request("POST", "/tasks", headers=JSON, body=body), status, {"message": message})
    patches = [op for one in (feedback or {}).get("suggestions", ()) for op in one.get("patch", ())]
    assert [op for op in patches if op["op"] == "remove"] == []
