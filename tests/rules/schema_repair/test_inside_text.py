"""Repairs inside a query parameter that holds JSON, of APIs that word their refusals in other ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.by_description import feedback_about, followed
from tests._support.rows import rows

WHERE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "state": {"enum": ["open", "closed"]},
        "size": {"type": "integer", "minimum": 1},
        "columns": {"type": "array", "items": {"enum": ["owner", "state"]}},
        "sort": {"type": "object", "required": ["by"], "properties": {"by": {"type": "string"}}},
        "password": {"type": "string"},
    },
}
PYDANTIC = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": {"type": "array", "items": {"enum": ["owner", "state"], "type": "string"}},
    "default": "[]",
}
"""FastAPI 0.165 for `Annotated[Json[list[Literal["owner", "state"]]], Query()]`."""
DESCRIPTION = {
    "openapi": "3.1.0",
    "info": {"title": "Books", "version": "1"},
    "paths": {
        "/books": {
            method: {
                "operationId": f"{method}Books",
                "parameters": [
                    {"name": "where", "in": "query", "content": {"application/json": {"schema": WHERE}}},
                    {"name": "match", "in": "query", "schema": {"type": "string"}},
                    {"name": "must", "in": "query", "schema": PYDANTIC},
                ],
                "responses": {"200": {"description": "fine"}},
            }
            for method in ("get", "delete")
        }
    },
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    spec = tmp_path_factory.mktemp("spec") / "books.json"
    spec.write_bytes(orjson.dumps(DESCRIPTION))
    return Engine(load_profiles([], Path(spec)))


def feedback(engine: Engine, text: str, answer: Any, method: str = "GET") -> tuple[Request, dict[str, Any]]:
    request = Request(method, "/books", {"where": text})
    exchange = Exchange(request, 400, {}, orjson.dumps(answer), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    assert isinstance(decision, Annotate)
    return request, dict(decision.feedback)


ANSWERS: list[Any] = [
    {"error": "Bad Request"},
    {"detail": "Could not read the query parameter 'where'"},
    {"errors": [{"loc": ["query", "where"], "msg": "invalid value", "type": "value_error"}]},
]


@rows("answer", ANSWERS)
@rows(
    ("text", "repaired"),
    [
        ('{"stat": "open"}', {"state": "open"}),
        ('{"state": "Open", "siez": 3}', {"state": "open", "size": 3}),
        ('{"size": "3"}', {"size": 3}),
        ('{"columns": "owner"}', {"columns": ["owner"]}),
        ('{"columns": ["owner", "stat"]}', {"columns": ["owner", "state"]}),
        ("{state: 'open', columns: ['owner',],}", {"state": "open", "columns": ["owner"]}),
        ("{'size': '3'}", {"size": 3}),
    ],
)
def test_the_text_is_written_anew(engine: Engine, text: str, repaired: Any, answer: Any) -> None:
    request, document = feedback(engine, text, answer)
    (suggestion,) = document["suggestions"]
    assert suggestion["safety"] == {"side_effects": "none", "changes_intent": False}
    assert suggestion["patch"][0] == {"op": "test", "path": "/query/where", "value": text}
    step = apply(parse(document), request)
    assert isinstance(step, Next)
    assert orjson.loads(str(step.request.query["where"])) == repaired


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ('{"size": -4}', {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}),
        (
            '{"columns": ["title"]}',
            {"type": "object", "properties": {"columns": {"items": {"enum": ["owner", "state"]}}}},
        ),
        (
            '{"sort": {}}',
            {
                "type": "object",
                "properties": {"sort": {"type": "object", "properties": {"by": {"type": "string"}}}},
            },
        ),
    ],
)
def test_what_only_the_caller_knows_is_asked_for_with_its_place_inside(engine: Engine, text: str, held: Any) -> None:
    request, document = feedback(engine, text, ANSWERS[0])
    assert isinstance(apply(parse(document), request), NeedsInput)
    (placeholder,) = document["suggestions"][0]["placeholders"]
    schema = placeholder["schema"]["contentSchema"]
    assert (placeholder["pointer"], placeholder["ask"]) == ("/query/where", "user")
    assert [name for name in held["properties"] if name not in schema["properties"]] == []


@pytest.mark.parametrize("text", ['{"state": "\\ud800", "siez": 1}', '{"state": "\\ud800", "siez": 1,}'])
def test_a_text_with_half_a_surrogate_pair_is_asked_for_as_a_whole(engine: Engine, text: str) -> None:
    request, document = feedback(engine, text, ANSWERS[0])
    assert isinstance(apply(parse(document), request), NeedsInput)
    assert [one["pointer"] for one in document["suggestions"][0]["placeholders"]] == ["/query/where"]


def test_a_move_inside_that_is_to_be_confirmed_is_one_of_the_text(engine: Engine) -> None:
    request, document = feedback(engine, '{"by": "owner"}', ANSWERS[0])
    (moved,) = document["suggestions"]
    op = moved["patch"][-1]
    assert (op["path"], orjson.loads(op["value"])) == ("/query/where", {"sort": {"by": "owner"}})
    assert moved["safety"]["requires_confirmation"] is True
    assert not isinstance(apply(parse(document), request), Next)


def test_of_a_choice_inside_the_whole_text_is_asked_for(engine: Engine) -> None:
    request, document = feedback(engine, '{"size": ["1", "2"]}', ANSWERS[0])
    assert [one["pointer"] for one in document["suggestions"][0]["placeholders"]] == ["/query/where"]
    assert isinstance(apply(parse(document), request), NeedsInput)


def test_the_agent_writes_what_is_no_json(engine: Engine) -> None:
    _, document = feedback(engine, '{"state": open}', ANSWERS[0])
    (suggestion,) = document["suggestions"]
    assert suggestion["message"] == "Send valid JSON. At line 1, column 11 a value is expected."
    (placeholder,) = suggestion["placeholders"]
    assert (placeholder["pointer"], placeholder["ask"]) == ("/query/where", "agent")
    assert placeholder["schema"]["contentSchema"]["properties"]["state"] == {"enum": ["open", "closed"]}


def test_a_secret_inside_is_not_repeated(engine: Engine) -> None:
    _, document = feedback(engine, '{"password": "hunter2", "siez": 3}', ANSWERS[0])
    assert b"hunter2" not in orjson.dumps(document)


@pytest.mark.parametrize("text", ['{"state": "open", "colour": "red"}', '{"owner": "x"}'])
def test_what_an_unsafe_call_is_limited_by_is_not_left_out_unasked(engine: Engine, text: str) -> None:
    request, document = feedback(engine, text, ANSWERS[0], "DELETE")
    assert not isinstance(apply(parse(document), request), Next)


@rows(
    "answer",
    [
        {"error": "Invalid filter: Unexpected token i in JSON at position 1"},
        {"detail": [{"loc": ["query", "match"], "msg": "JSON decode error", "type": "json_invalid"}]},
        {"message": "match: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
        {"title": "could not parse match", "status": 400},
    ],
)
@rows(("text", "repaired"), [("{id: 5}", {"id": 5}), ("{'id': {'$gt': 5},}", {"id": {"$gt": 5}}), ("{id: x}", None)])
def test_a_plain_text_that_should_be_json(engine: Engine, text: str, repaired: Any, answer: Any) -> None:
    request = Request("GET", "/books", {"match": text})
    feedback = feedback_about(engine, request, 400, answer)
    outcome = followed(feedback, request)
    if repaired is None:
        assert isinstance(outcome, NeedsInput)
        assert [(one.pointer, one.ask) for one in outcome.placeholders] == [("/query/match", "agent")]
    else:
        assert isinstance(outcome, Next)
        assert orjson.loads(str(outcome.request.query["match"])) == repaired


@rows(
    ("query", "answer"),
    [
        ({"match": "[title]eq'x'"}, {"error": "Unknown operator"}),  # a notation of its own
        ({"match": "{id: 5}"}, {"error": "Too many books"}),
        ({"match": "{id: 5}", "more": "{id: 6}"}, {"error": "Invalid JSON"}),
        ({"match": '{"id": 5}'}, {"error": "Invalid JSON"}),
        ({"match": "id: 5"}, {"error": "Invalid JSON"}),
        ({"match": "{id: 5}"}, {"errors": [{"loc": ["query", "page"], "msg": "invalid JSON", "type": "value_error"}]}),
    ],
)
def test_what_may_be_no_json_stays(engine: Engine, query: dict[str, str], answer: Any) -> None:
    request = Request("GET", "/books", {**query, "page": "x"})
    assert not isinstance(followed(feedback_about(engine, request, 400, answer), request), Next)


@pytest.mark.parametrize(
    ("text", "error", "repaired"),
    [
        (
            "['owner',]",
            {
                "type": "json_invalid",
                "loc": ["query", "must"],
                "msg": "Invalid JSON: expected value at line 1 column 2",
            },
            ["owner"],
        ),
        (
            '["ownr"]',
            {
                "type": "literal_error",
                "loc": ["query", "must", 0],
                "msg": "Input should be 'owner' or 'state'",
                "ctx": {"expected": "'owner' or 'state'"},
            },
            ["owner"],
        ),
        ('"owner"', {"type": "list_type", "loc": ["query", "must"], "msg": "Input should be a valid list"}, ["owner"]),
        (
            "[owner]",
            {
                "type": "json_invalid",
                "loc": ["query", "must"],
                "msg": "Invalid JSON: expected value at line 1 column 2",
            },
            None,
        ),
    ],
)
def test_json_that_a_schema_describes_as_the_content_of_a_text(
    engine: Engine, text: str, error: Any, repaired: Any
) -> None:
    request = Request("GET", "/books", {"must": text})
    outcome = followed(feedback_about(engine, request, 422, {"detail": [error]}), request)
    if repaired is None:
        assert isinstance(outcome, NeedsInput)
        assert [(one.pointer, one.ask) for one in outcome.placeholders] == [("/query/must", "agent")]
    else:
        assert isinstance(outcome, Next)
        assert orjson.loads(str(outcome.request.query["must"])) == repaired
