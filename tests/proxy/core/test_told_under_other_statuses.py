"""Texts under 403, 410, 412 and 501 that say what the request lacks, or that nothing is left to do."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, Terminal
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Notes, version: '1'}
paths:
  /v1/notes:
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
  /v1/notes/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    delete: {parameters: [{name: force, in: query, schema: {type: boolean}}]}
  /v1/shelves/{shelf}/notes/{id}:
    parameters:
    - {name: shelf, in: path, required: true, schema: {type: string}}
    - {name: id, in: path, required: true, schema: {type: string}}
    delete: {}
  /v1/files:
    post: {requestBody: {content: {text/plain: {schema: {type: string}}}}}
components:
  schemas:
    Note:
      type: object
      properties: {title: {type: object}, post: {type: integer}, account: {type: integer}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("notes"), DESCRIPTION)


def outcome(engine: Engine, request: Request, status: int, message: str) -> Next | NeedsInput | Terminal | None:
    return followed(feedback_about(engine, request, status, {"message": message}), request)


def asked(engine: Engine, request: Request, status: int, message: str) -> set[str]:
    found = outcome(engine, request, status, message)
    return {one.pointer for one in found.placeholders} if isinstance(found, NeedsInput) else set()


def post(body: Any) -> Request:
    return Request("POST", "/v1/notes", headers={"content-type": "application/json"}, body=body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"post": 7}, "You are not allowed to comment without a post."),
        ({"supervisor": "bo", "post": 7}, "You are not allowed to comment without a supervisor."),
        ({"title": {}}, "You are not allowed to comment without a post."),  # nothing of that name was sent
        ({"account_id": 7}, "You are not allowed to comment without an account."),
        ({"post": 7}, "You are not allowed to edit this post."),
    ],
)
def test_other_403_are_about_rights(engine: Engine, body: Any, message: str) -> None:
    found = outcome(engine, post(body), 403, message)
    assert found is None or isinstance(found, Terminal)


@pytest.mark.parametrize(
    "message",
    ["The note has already been deleted.", "Note 7 was already removed", "This note has been deleted already."],
)
def test_what_is_gone_is_told(engine: Engine, message: str) -> None:
    feedback = feedback_about(engine, Request("DELETE", "/v1/notes/7"), 410, {"message": message})
    assert feedback is not None and [one["action"] for one in feedback["suggestions"]] == ["ESCALATE"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("DELETE", "/v1/notes/7"), "Gone"),
        (Request("DELETE", "/v1/notes/7"), "The note has been deleted, and its shelf is locked"),
        (Request("DELETE", "/v1/shelves/2/notes/7"), "The shelf has already been deleted."),
        (Request("PATCH", "/v1/notes/7", body={"title": {}}), "The note has already been deleted."),
    ],
)
def test_else_nothing_is_said_to_be_done(engine: Engine, request_: Request, message: str) -> None:
    assert "ALREADY_DONE" not in str(feedback_about(engine, request_, 410, {"message": message}))


def upload(**headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", "/v1/files", headers={"content-type": "text/plain", **named}, body="hay")


def test_a_near_path_is_taken_though_the_description_has_another_type(engine: Engine) -> None:
    found = outcome(engine, Request("POST", "/v1/note", body={"title": "Hay"}), 404, "No route was found")
    assert isinstance(found, Next) and found.request.path == "/v1/notes" and found.request.body == {"title": "Hay"}
