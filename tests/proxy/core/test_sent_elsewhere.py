"""What was sent in another part of the request, by another method, or on another path than the description has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about

DESCRIPTION = """
openapi: 3.0.3
info: {title: Zones, version: '1'}
paths:
  /search:
    get:
      operationId: search
      parameters:
        - {name: q, in: query, required: true, schema: {type: string}}
        - {name: max, in: query, schema: {type: integer}}
  /kinds:
    get: {operationId: kinds, parameters: [{name: q, in: query, schema: {type: string}}]}
  /cache/flush:
    put:
      operationId: flush
      parameters: [{name: domain, in: query, required: true, schema: {type: string}}]
  /runs/resume:
    post:
      operationId: resume
      parameters: [{name: runId, in: query, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {step: {type: string}, batch: {type: string}}}
  /messages/delete:
    post:
      operationId: forget
      requestBody:
        content: {application/json: {schema: {type: object, properties: {ids: {type: array}}}}}
  /api/admin/projects/{id}/flags:
    get:
      operationId: flags
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
  /kernels:
    get: {operationId: kernels}
    post:
      operationId: start
      requestBody:
        content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}
  /machines:
    post:
      operationId: register
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [id, password], properties: {id: {type: string}, password: {type: string}}}
  /alerts:
    post:
      operationId: alert
      requestBody:
        content:
          application/json:
            schema:
              type: array
              items: {type: object, required: [hash], properties: {hash: {type: string}, duration: {type: string}}}
  /changes:
    patch:
      operationId: change
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {sets: {type: array, items: {type: object}}, tags: {type: array}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(Path(tmp_path_factory.mktemp("zones")), DESCRIPTION)


def edits(engine: Engine, request: Request, status: int, message: str) -> list[tuple[str, str, Any]]:
    feedback = feedback_about(engine, request, status, {"error": message})
    suggestion = feedback["suggestions"][0] if feedback else {}
    return [(op["op"], op["path"], op.get("value")) for op in suggestion.get("patch", ()) if op["op"] != "test"]


def asked(engine: Engine, request: Request, status: int, message: str) -> list[str]:
    feedback = feedback_about(engine, request, status, {"error": message})
    listed = feedback["suggestions"][0].get("placeholders", ()) if feedback else ()
    return [one["pointer"] for one in listed]


def test_a_search_by_post_is_a_read_by_query(engine: Engine) -> None:
    sent = Request("POST", "/search", body={"q": "a", "max": 10})
    assert edits(engine, sent, 405, "Method Not Allowed") == [
        ("replace", "/method", "GET"),
        ("add", "/query", {"q": "a", "max": "10"}),
        ("remove", "/body", None),
    ]
    assert not edits(engine, Request("POST", "/kinds", body={"q": "a"}), 405, "Method Not Allowed")  # it may create
    other = Request("POST", "/search", body={"q": "a", "unknown": 10})
    assert ("replace", "/method", "GET") not in edits(engine, other, 405, "Method Not Allowed")


def test_a_parameter_in_the_body_of_what_takes_none_goes_into_the_query(engine: Engine) -> None:
    sent = Request("PUT", "/cache/flush", body={"domain": "a.org"})
    assert edits(engine, sent, 422, "Domain '' is not canonical")[0] == ("add", "/query", {"domain": "a.org"})
    with_more = Request("PUT", "/cache/flush", body={"domain": "a.org", "deep": True})
    assert not edits(engine, with_more, 422, "Domain '' is not canonical")


def test_a_parameter_in_a_body_that_has_no_such_member_goes_into_the_query(engine: Engine) -> None:
    sent = Request("POST", "/runs/resume", body={"runId": "r-1", "step": "pay"})
    moved: list[tuple[str, str, Any]] = [("add", "/query", {"runId": "r-1"}), ("remove", "/body/runId", None)]
    assert edits(engine, sent, 400, "Missing query parameter: runId") == moved
    spelt = Request("POST", "/runs/resume", query={"page": "1"}, body={"run_id": "r-1", "step": "pay"})
    moved = [("add", "/query/runId", "r-1"), ("remove", "/body/run_id", None)]
    assert edits(engine, spelt, 400, "Missing query parameter: runId") == moved
    other = Request("POST", "/runs/resume", body={"batch": "r-1", "step": "pay"})
    assert not edits(engine, other, 400, "Missing query parameter: runId")


def test_a_path_that_says_what_it_does_needs_no_method_for_it(engine: Engine) -> None:
    sent = Request("DELETE", "/messages/delete", body={"ids": ["m-1"]})
    assert edits(engine, sent, 404, "404 Not Found") == [("replace", "/method", "POST")]
    assert not edits(engine, Request("DELETE", "/machines", body={"id": "a"}), 404, "404 Not Found")


def test_a_word_that_a_path_lacks_is_offered(engine: Engine) -> None:
    sent = Request("GET", "/api/projects/7/flags")
    assert edits(engine, sent, 404, "Not Found") == [("replace", "/path", "/api/admin/projects/7/flags")]


def test_a_write_of_nothing_does_not_say_what_was_meant(engine: Engine) -> None:
    assert asked(engine, Request("PUT", "/kernels"), 405, "Method Not Allowed") == ["/method"]
    assert edits(engine, Request("PUT", "/kernels", body={"name": "a"}), 405, "Method Not Allowed")


def test_an_element_with_a_secret_is_moved_and_not_repeated(engine: Engine) -> None:
    headers = {"content-type": "application/json"}
    sent = Request("POST", "/machines", headers=headers, body=[{"id": "a", "password": "pw-1069"}])
    message = "json: cannot unmarshal array into Go value of type models.Machine"
    assert edits(engine, sent, 400, message) == [("move", "/body", None)]


@pytest.mark.parametrize(
    ("body", "message", "expected"),
    [
        ([{"hsh": "h"}], "validation failure list:\n0.hash in body is required", [("move", "/body/0/hash", None)]),
        ([{}], "validation failure list:\n0.hash in body is required", []),
    ],
)
def test_a_fault_that_tells_what_is_missing_is_read(engine: Engine, body: Any, message: str, expected: Any) -> None:
    sent = Request("POST", "/alerts", body=body)
    assert edits(engine, sent, 500, message) == expected
    assert asked(engine, sent, 500, message) == ([] if expected else ["/body/0/hash"])


def test_a_fault_that_repeats_a_value_asks_for_another(engine: Engine) -> None:
    sent = Request("POST", "/alerts", body=[{"hash": "h", "duration": "1 hour"}])
    assert asked(engine, sent, 500, "unable to create: invalid duration '1 hour'") == ["/body/0/duration"]
    assert not asked(engine, sent, 500, "connection refused")
