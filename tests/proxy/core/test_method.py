"""PUT where only PATCH is described, and PATCH where only PUT is: offered with what changes, never silently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Notes, version: '1'}
paths:
  /replaced/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {}
    put: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
  /unread/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
    delete: {}
  /changed/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    patch: {requestBody: {content: {application/json: {schema: {type: object, properties: {title: {type: string}}}}}}}
  /both/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {}
    post: {requestBody: {content: {application/json: {schema: {type: object, properties: {copies: {type: integer}}}}}}}
    patch: {requestBody: {content: {application/json: {schema: {type: object, properties: {title: {type: string}}}}}}}
components:
  schemas:
    Note:
      type: object
      required: [title, text]
      properties: {title: {type: string}, text: {type: string}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("notes"), DESCRIPTION)


def sent(method: str, path: str, body: Any) -> Request:
    return Request(method, path, headers={"content-type": "application/json"}, body=body)


@pytest.mark.parametrize(("status", "allow"), [(405, "GET, PUT"), (405, "PUT"), (405, ""), (404, "")])
@pytest.mark.parametrize(
    ("path", "steps"), [("/replaced/1", [{"method": "GET", "path": "/replaced/1"}]), ("/unread/1", None)]
)
def test_put_needs_the_whole_resource(engine: Engine, path: str, steps: Any, status: int, allow: str) -> None:
    request = sent("PATCH", path, {"title": "x"})
    feedback = feedback_about(engine, request, status, {"detail": "Method Not Allowed"}, {"allow": allow})
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    assert suggestion["safety"]["changes_intent"] is True
    assert suggestion.get("steps") == steps
    outcome = followed(feedback, request, confirm=True)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body"]


def test_patch_leaves_what_is_not_sent(engine: Engine) -> None:
    request = sent("PUT", "/changed/1", {"title": "x"})
    feedback = feedback_about(engine, request, 405, b"", {"allow": "PATCH"})
    assert feedback is not None
    assert feedback["suggestions"][0]["safety"]["changes_intent"] is True
    following = followed(feedback, request, confirm=True)
    assert isinstance(following, Next)
    assert (following.request.method, following.request.body) == ("PATCH", {"title": "x"})


def test_where_the_other_method_takes_something_else_the_method_is_asked_for(tmp_path: Path) -> None:
    closed = DESCRIPTION.replace(
        "properties: {title: {type: string}}}", "additionalProperties: false, required: [title]}"
    )
    request = sent("PUT", "/changed/1", {"text": "x"})
    feedback = feedback_about(engine_of(tmp_path, closed), request, 404, {"detail": "Not Found"})
    assert feedback is not None
    outcome = followed(feedback, request)
    assert isinstance(outcome, NeedsInput)
    assert [(one.pointer, one.schema_) for one in outcome.placeholders] == [("/method", {"enum": ["PATCH"]})]


@pytest.mark.parametrize(
    ("body", "methods"),
    [
        ({"title": "x"}, ["PATCH"]),
        ({"copies": 2}, ["POST"]),
        ({"title": "x", "copies": 2}, ["PATCH", "POST"]),
        ({}, ["PATCH", "POST"]),
    ],
)
def test_of_several_methods_the_one_whose_body_has_what_was_sent(engine: Engine, body: Any, methods: list[str]) -> None:
    feedback = feedback_about(engine, sent("PUT", "/both/1", body), 405, b"")
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"]] == methods
    assert all(one["safety"]["changes_intent"] for one in feedback["suggestions"])
