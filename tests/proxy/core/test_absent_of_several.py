"""Some of several things are not there: the list that was sent is asked about, not the one thing of the path."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Flows, version: '1'}
paths:
  /flows/{id}/tags:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put:
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: array, items: {type: object, properties: {id: {type: string}}}}
  /flows/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties:
                tags: {type: array, items: {type: string}}
                owners: {type: array, items: {type: string}}
                tag_ids: {type: array, items: {type: integer}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("flows"), DESCRIPTION)


def asked(engine: Engine, path: str, body: Json, message: str) -> list[str]:
    request = Request("PUT", path, headers={"content-type": "application/json"}, body=body)
    outcome = followed(feedback_about(engine, request, 404, {"message": message}), request)
    assert isinstance(outcome, NeedsInput)
    return [one.pointer for one in outcome.placeholders]


@pytest.mark.parametrize(
    ("path", "body", "message", "place"),
    [
        # No list of that name was sent, or the sentence is about one thing.
        ("/flows/7", {"owners": ["a", "b"]}, "Some tags not found", "/path"),
        ("/flows/7", {"tags": ["a"]}, "Flow not found", "/path"),
    ],
)
def test_what_is_asked_for(engine: Engine, path: str, body: Json, message: str, place: str) -> None:
    assert asked(engine, path, body, message) == [place]
