"""A conflict (409) because of what is not there, and a method that is not described because of what it reads."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Images, version: '1'}
paths:
  /images/{id}/import:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                method: {type: object, properties: {name: {type: string}, uri: {type: string}}}
                stores: {type: array, items: {type: string}}
                sizes: {type: array, items: {type: object, properties: {name: {type: string}, unit: {type: string}}}}
  /images/{id}/file:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/octet-stream: {}}}}
  /images:
    get:
      parameters:
        - {name: sort, in: query, schema: {type: string}}
        - {name: sort_key, in: query, schema: {type: string}}
"""
STORES = {"method": {"name": "copy"}, "stores": ["slo"]}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("images"), DESCRIPTION)


def asked(feedback: dict[str, Any] | None) -> list[str]:
    suggestions = feedback["suggestions"] if feedback is not None else []
    return [place["pointer"] for one in suggestions for place in one.get("placeholders", ())]


@pytest.mark.parametrize(
    ("path", "body", "message", "places"),
    [
        ("/images/i1/import", STORES, "Store slo is not enabled", ["/body/stores/0"]),
    ],
)
def test_a_conflict_about_what_is_not_there(
    engine: Engine, path: str, body: Any, message: str, places: list[str]
) -> None:
    request = Request("POST", path, headers={"content-type": "application/json"}, body=body)
    assert asked(feedback_about(engine, request, 409, {"message": message})) == places


def test_a_missing_object_takes_the_member_that_was_sent_beside_it(engine: Engine) -> None:
    request = Request("POST", "/images/i1/import", headers={"content-type": "application/json"}, body={"name": "copy"})
    feedback = feedback_about(engine, request, 400, {"message": "Import request requires a 'method' field."})
    following = followed(feedback, request)
    assert getattr(following, "request", request).body == {"method": {"name": "copy"}}


def test_a_text_for_an_object_with_a_name_is_confirmed(engine: Engine) -> None:
    request = Request("POST", "/images/i1/import", headers={"content-type": "application/json"}, body={"sizes": ["xl"]})
    feedback = feedback_about(engine, request, 400, {"message": "bad", "field": "sizes[0]"})
    assert isinstance(followed(feedback, request), NeedsInput)


@pytest.mark.parametrize(
    ("media", "message", "is_told"),
    [
        ("application/octet-stream", "Malformed JSON in request body.", True),
        ("application/json", "Malformed JSON in request body.", False),
    ],
)
def test_a_method_that_is_not_described_and_reads_json(engine: Engine, media: str, message: str, is_told: bool) -> None:
    request = Request("POST", "/images/i1/file", headers={"content-type": media}, body="data")
    feedback = feedback_about(engine, request, 400, {"message": message})
    edits = [op["value"] for one in (feedback or {"suggestions": []})["suggestions"] for op in one.get("patch", ())]
    assert ("PUT" in edits) is is_told
    assert feedback is None or isinstance(followed(feedback, request), NeedsInput)
