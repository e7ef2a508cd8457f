"""Paths and methods that nothing of the description is near to: asked for, where the answer says that they are it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Invoices, version: '1'}
paths:
  /invoices: {get: {}, post: {requestBody: {content: {application/json: {schema: {type: object}}}}}}
  /invoices/{number}:
    parameters: [{name: number, in: path, required: true, schema: {type: integer}}]
    get: {}
    put: {requestBody: {content: {application/json: {schema: {type: object}}}}}
    patch: {requestBody: {content: {application/json: {schema: {type: object}}}}}
  /invoices/{number}/lines:
    parameters: [{name: number, in: path, required: true, schema: {type: integer}}]
    get: {}
  /invoices/search: {get: {parameters: [{name: text, in: query, schema: {type: string}}]}}
  /{tenant}/{kind}:
    parameters:
    - {name: tenant, in: path, required: true, schema: {type: string}}
    - {name: kind, in: path, required: true, schema: {type: string}}
    delete: {}
"""
NOT_FOUND: list[Any] = [
    {"error": "Not Found"},
    {"message": "Cannot POST /invoices/7/approve", "error": "Not Found", "statusCode": 404},
    {"timestamp": "2026-11-22T10:00:00Z", "status": 404, "error": "Not Found", "path": "/invoices/7/approve"},
    {"detail": "No handler for this URL"},
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("invoices"), DESCRIPTION)


def asked(feedback: Any) -> list[tuple[str, Any]]:
    (suggestion,) = feedback["suggestions"]
    assert "patch" not in suggestion
    return [(one["pointer"], one["schema"].get("enum")) for one in suggestion["placeholders"]]


@pytest.mark.parametrize("answer", NOT_FOUND)
def test_a_made_up_action_is_asked_for_among_the_paths_around_it(engine: Engine, answer: Any) -> None:
    request = Request("POST", "/invoices/7/approve")
    assert asked(feedback_about(engine, request, 404, answer)) == [("/path", ["/invoices/7", "/invoices/7/lines"])]


def test_a_word_of_a_path_is_no_value_for_other_methods(engine: Engine) -> None:
    request = Request("PUT", "/invoices/search", headers={"content-type": "application/json"}, body={"text": "x"})
    feedback = feedback_about(engine, request, 404, {"error": "Not Found"})
    assert feedback is None or "PATCH" not in str(feedback)


@pytest.mark.parametrize(
    ("method", "path", "status", "plain"),
    [
        ("POST", "/invoices/create", 404, "/invoices"),
        ("POST", "/invoices/Add", 405, "/invoices"),
        ("PATCH", "/invoices/7/update", 404, "/invoices/7"),
        ("GET", "/invoices/list", 400, "/invoices"),  # read as a number
    ],
)
def test_a_verb_at_the_end_of_a_path_may_be_meant_as_the_method(
    engine: Engine, method: str, path: str, status: int, plain: str
) -> None:
    feedback = feedback_about(engine, Request(method, path), status, {"error": "Invalid request"})
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    assert suggestion["safety"]["requires_confirmation"] is True
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/path", "value": plain}


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/invoices/7/add"), ("POST", "/invoices/list"), ("POST", "/new")]
)
def test_a_verb_behind_a_path_without_its_method_is_no_path_of_it(engine: Engine, method: str, path: str) -> None:
    feedback = feedback_about(engine, Request(method, path), 404, {"error": "Invalid request"})
    edits = [op for one in (feedback or {"suggestions": ()})["suggestions"] for op in one.get("patch", ())]
    assert all(op["path"] != "/path" for op in edits)


WITH_SLASHES = """
openapi: 3.0.3
info: {title: Django, version: '1'}
paths:
  /customers/: {get: {}, post: {requestBody: {content: {application/json: {schema: {type: object}}}}}}
  /customers/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {}
  /suppliers/: {get: {}}
"""


@pytest.fixture(scope="module")
def slashed(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("slashed"), WITH_SLASHES)


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("GET", "/customer/", "/customers/"),
        ("GET", "/api/suppliers", "/suppliers/"),
        ("POST", "/customers/create", "/customers/"),
    ],
)
def test_a_near_path_keeps_the_slash_that_the_description_gives_it(
    slashed: Engine, method: str, path: str, known: str
) -> None:
    feedback = feedback_about(slashed, Request(method, path), 404, {"detail": "Not Found"})
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"]] == [known]


@pytest.mark.parametrize(
    "message",
    [
        "Route GET:/customers/7/ not found",
        "The route customers/7/ could not be found.",
        "Route GET /customers/7/ not found",
    ],
)
def test_a_slash_too_many_is_taken_away_where_a_message_only_repeats_the_route(slashed: Engine, message: str) -> None:
    feedback = feedback_about(slashed, Request("GET", "/customers/7/"), 404, {"message": message})
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"]] == ["/customers/7"]


IN_LISTS = """
openapi: 3.0.3
info: {title: Columns, version: '1'}
paths:
  /rows:
    get:
      parameters:
      - {name: columns, in: query, schema: {type: array, items: {type: string, enum: [createdAt, owner, size]}}}
      - {name: kind, in: query, schema: {type: string, enum: [created, deleted]}}
      - {name: size, in: query, schema: {type: integer}}
"""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("lists"), IN_LISTS)


@pytest.mark.parametrize(
    ("name", "text", "corrected"),
    [
        ("columns", "size,created_at", ["size,createdAt"]),
        ("columns", "owner,sise,createdAt", ["owner,size,createdAt"]),
        ("columns", "size,colour", []),
        ("kind", "created,deletd", []),
        ("kind", "creatd", ["created"]),
    ],
)
def test_one_wrong_value_of_a_list_with_commas(lists: Engine, name: str, text: str, corrected: list[str]) -> None:
    request = Request("GET", "/rows", {name: text})
    feedback = feedback_about(lists, request, 400, {"detail": [{"loc": ["query", name], "msg": "invalid value"}]})
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"] if "patch" in one] == corrected


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("The disk is full", None),
        ("max allowed value 50", None),
    ],
)
def test_a_fault_of_the_server_that_repeats_a_parameter(lists: Engine, message: str, place: str | None) -> None:
    feedback = feedback_about(lists, Request("GET", "/rows", {"size": "900"}), 500, {"message": message})
    assert (feedback["suggestions"][0]["patch"][-1]["path"] if feedback else None) == place


PARCELS = """
openapi: 3.0.3
info: {title: Parcels, version: '1'}
paths:
  /parcels: {get: {}}
  /parcels/{id}: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], get: {}}
"""


@pytest.mark.parametrize(
    ("answer", "is_offered"),
    [("Not Found", True), ("", True)],
)
def test_where_the_api_is_mounted_elsewhere_what_is_absent_is_not_the_path(
    tmp_path: Path, answer: str, is_offered: bool
) -> None:
    engine = engine_of(tmp_path, PARCELS)
    feedback = feedback_about(engine, Request("GET", "/api/parcels/p77"), 404, {"message": answer} if answer else {})
    offered = [] if feedback is None else [op["value"] for op in feedback["suggestions"][0]["patch"] if "value" in op]
    assert ("/parcels/p77" in offered) is is_offered


@pytest.mark.parametrize(
    "message",
    ["Router not found for request GET /invoices/7", "Route not found for GET /invoices/7", "Cannot GET /invoices/7"],
)
def test_a_path_with_a_name_that_lacks_the_base_path_gets_it(tmp_path: Path, message: str) -> None:
    below = engine_of(tmp_path, DESCRIPTION.replace("paths:", "servers: [{url: /billing}]\npaths:", 1))
    request = Request("GET", "/invoices/7")
    outcome = followed(feedback_about(below, request, 404, {"message": message}), request)
    assert isinstance(outcome, Next)
    assert outcome.request.path == "/billing/invoices/7"


def test_a_name_that_is_not_there_is_no_lack_of_a_base_path(tmp_path: Path) -> None:
    below = engine_of(tmp_path, DESCRIPTION.replace("paths:", "servers: [{url: /billing}]\npaths:", 1))
    request = Request("GET", "/invoices/7")
    outcome = followed(feedback_about(below, request, 404, {"message": "Invoice 7 not found"}), request)
    assert not isinstance(outcome, Next)
