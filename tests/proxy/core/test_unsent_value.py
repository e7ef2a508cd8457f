"""A server that looks for something under no name: what was not sent is asked for, and nothing that was sent."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Beds, version: '1'}
paths:
  /plants:
    get:
      parameters:
      - {name: bedId, in: query, schema: {type: string}}
      - {name: colour, in: query, schema: {type: string}}
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Plant'}}}}
  /tools:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Tool'}}}}
  /plants/{plantId}/moves:
    parameters: [{name: plantId, in: path, required: true, schema: {type: string}}]
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Move'}}}}
components:
  schemas:
    Plant:
      type: object
      properties:
        plantId: {type: string}
        parentPlantId: {type: string}
        bedId: {type: string}
        colour: {type: string}
    Tool: {type: object, properties: {toolId: {type: string}, keeperId: {type: string}, colour: {type: string}}}
    Move: {type: object, properties: {sourceBedId: {type: string}, targetBedId: {type: string}}}
"""
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("beds"), DESCRIPTION)


def asked(engine: Engine, request: Request, status: int, message: str) -> list[str]:
    outcome = followed(feedback_about(engine, request, status, {"message": message}), request)
    assert outcome is None or isinstance(outcome, NeedsInput)
    return [] if outcome is None else [one.pointer for one in outcome.placeholders]


def test_what_was_sent_as_that_word_is_something_else(engine: Engine) -> None:
    request = Request("POST", "/tools", headers=JSON, body={"colour": "undefined"})
    assert "/body/keeperId" not in asked(engine, request, 404, "Colour 'undefined' not found")


def test_a_body_under_another_media_type_was_not_read(engine: Engine) -> None:
    body = {"parentPlantId": "p", "colour": "red"}
    request = Request("POST", "/plants", headers={"content-type": "application/vnd.api+json"}, body=body)
    message: dict[str, Any] = {"message": "Parent plant 'undefined' was not found."}
    outcome = followed(feedback_about(engine, request, 500, message), request)
    assert isinstance(outcome, Next)
    assert outcome.request.headers["content-type"] == "application/json"
    assert outcome.request.body == body


def test_an_empty_name_that_was_sent_is_no_lack(engine: Engine) -> None:
    request = Request("GET", "/plants", {"bedId": "", "colour": "red"})
    feedback = feedback_about(engine, request, 404, {"message": "Bed with id= not found"})
    assert feedback is None or not [one for one in feedback["suggestions"] if "move" in str(one.get("patch"))]
