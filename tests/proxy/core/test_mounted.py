"""An API that is mounted below a base path which its description does not name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Json, Request
from tests._support.by_description import engine_of, feedback_about

DESCRIPTION = """
openapi: 3.0.3
info: {title: Invoices, version: '1'}
paths:
  /invoices:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Invoice'}}}}}
  /invoices/{number}:
    parameters: [{name: number, in: path, required: true, schema: {type: integer}}]
    get: {}
  /{anything}:
    parameters: [{name: anything, in: path, required: true, schema: {type: string}}]
    post: {}
components:
  schemas:
    Invoice:
      type: object
      additionalProperties: false
      required: [customer]
      properties: {customer: {type: string}, total: {type: integer}}
"""
MISSPELT = {"custmer": "ann", "total": 3}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return engine_of(tmp_path, DESCRIPTION)


def is_renamed(feedback: dict[str, Any] | None) -> bool:
    suggestions = feedback["suggestions"] if feedback is not None else []
    return any("/body/customer" in [op["path"] for op in one.get("patch", ())] for one in suggestions)


@pytest.mark.parametrize("base", ["/api", "/v1", "/API/v2", "/api/rest/v1.43", "/v4.0.0"])
@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_refusal_of_what_is_sent_proves_where_it_is_mounted(engine: Engine, base: str, status: int) -> None:
    request = Request("POST", f"{base}/invoices", body=MISSPELT)
    feedback = feedback_about(engine, request, status, {"message": "unknown field custmer"})
    assert is_renamed(feedback) is (status != 409)  # never by a description alone
    absent = feedback_about(engine, Request("GET", f"{base}/invoices/7"), 404, {"message": "Not found"})
    assert absent is None or all("patch" not in one for one in absent["suggestions"])
    plain = feedback_about(
        engine, Request("POST", "/invoices", body=MISSPELT), 422, {"message": "unknown field custmer"}
    )
    assert is_renamed(plain)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/acme/invoices", 422, MISSPELT),  # may be the name of somebody
        ("/api/acme/invoices", 422, MISSPELT),
        ("/api/v1/x9/v1/invoices", 422, MISSPELT),
        ("/api/bills", 422, MISSPELT),  # a path of variables alone is any path
        ("/api/invoices", 404, MISSPELT),
        ("/api/invoices", 405, MISSPELT),
        ("/api/invoices", 403, MISSPELT),
        ("/api/invoices", 415, MISSPELT),
        ("/api/invoices", 400, '{"custmer": '),  # is refused wherever it is sent
    ],
)
def test_other_refusals_prove_nothing(engine: Engine, path: str, status: int, body: Any) -> None:
    before = engine.profiles
    feedback_about(engine, Request("POST", path, body=body), status, {"message": "unknown field custmer"})
    assert engine.profiles is before


@pytest.mark.parametrize(
    ("message", "body", "query", "headers"),
    [
        ("Malformed query string", {"query": 1}, {"x": "%zz"}, {}),
        ("Bad Request", {"total": "x"}, {}, {}),
        ("No such version", {"version": 1}, {}, {}),
        ("Malformed: customer is required", {}, {"x": "customer is required"}, {}),
        ("Invalid header: customer is required", {}, {}, {"x-trace": "customer is required"}),
        ("Malformed: /v2/invoices?customer=%zz", {}, {"customer": "%zz"}, {}),
        ("unknown field " + "custmer " * 2000, MISSPELT, {}, {}),
        ("unknown field custmer", {**MISSPELT, "more": list(range(1000))}, {}, {}),
    ],
)
def test_a_refusal_before_there_is_a_route_proves_nothing(
    engine: Engine, message: str, body: Any, query: dict[str, str], headers: dict[str, str]
) -> None:
    """What one caller has refused anywhere must not tell all others another path."""
    before = engine.profiles
    feedback_about(engine, Request("POST", "/v2/invoices", query, headers, body), 400, {"message": message})
    assert engine.profiles is before
    misspelt = Request("POST", "/api/invoices", body=MISSPELT)
    assert is_renamed(feedback_about(engine, misspelt, 422, {"message": "unknown field custmer"}))


@pytest.mark.parametrize("learns", [True, False])
def test_a_success_ends_a_loop_that_is_counted_by_another_base_path(tmp_path: Path, learns: bool) -> None:
    """Processes learn each for itself, so that one may know an operation that the other takes for a path."""
    counting, hearing = (HttpCorrector(engine_of(tmp_path, DESCRIPTION), loops=Loops(b"k")) for _ in range(2))
    request = RequestHead("POST", "/api/invoices", [("Authorization", "Bearer one")], "127.0.0.1")

    def refuse(corrector: HttpCorrector, member: str) -> Json:
        native = orjson.dumps({"message": f"unknown field {member}"})
        response = ResponseHead(422, [("Content-Type", "application/json")])
        exchange = HttpExchange(request, orjson.dumps({member: "ann"}), response, native)
        going = corrector.correct(exchange, id="e", started=1000.0)
        return run_with_lookups_sync(going, lambda _: LookupAnswer(404)).feedback

    if not learns:
        refuse(hearing, "custmer")
    for _ in range(2):
        feedback = refuse(counting, "custmer" if learns else "gross")
    assert feedback["loop"]["attempt"] == 2
    hearing.loops = counting.loops
    hearing.passed(request, 201)
    assert not counting.loops


def test_the_method_has_to_be_described(engine: Engine) -> None:
    before = engine.profiles
    request = Request("PUT", "/api/invoices", body=MISSPELT)
    feedback_about(engine, request, 422, {"message": "customer is required"})
    assert engine.profiles is before


def test_capitals_of_one_caller_are_not_how_all_write_it(engine: Engine) -> None:
    for base in ("/API/V2", "/api/v2"):
        request = Request("POST", f"{base}/invoices", body=MISSPELT)
        assert is_renamed(feedback_about(engine, request, 422, {"message": "unknown field custmer"}))


def test_it_is_learned_of_the_api_whose_value_is_named(tmp_path: Path) -> None:
    specs = []
    for number, names in enumerate((("customer", "total"), ("client", "sum"))):
        document = yaml.safe_load(DESCRIPTION.replace("customer", names[0]).replace("total", names[1]))
        for operation in document["paths"]["/invoices"].values():
            operation["responses"] = {"200": {"description": "done"}}
        document["paths"] = {"/invoices": document["paths"]["/invoices"]}
        specs.append(tmp_path / f"{number}.json")
        specs[-1].write_bytes(orjson.dumps(document))
    engine = Engine(load_profiles([], specs))
    before = engine.profiles
    for path, body, message in (
        ("/v2/invoices", {"clint": "ann"}, "unknown field clint"),
        ("/v1/invoices", MISSPELT, "unknown field custmer"),
    ):
        feedback = feedback_about(engine, Request("POST", path, body=body), 422, {"message": message})
        assert feedback is not None
        assert [op["path"] for op in feedback["suggestions"][0]["patch"]][-1] in ("/body/client", "/body/customer")
    bases = [one.description.operations.base_paths() for one in engine.profiles if one.description is not None]
    assert bases == [["", "/v1"], ["", "/v2"]]
    assert before is not engine.profiles


def test_what_would_prove_it_of_two_apis_proves_it_of_neither(tmp_path: Path) -> None:
    document = yaml.safe_load(DESCRIPTION)
    for item in document["paths"].values():
        for method, operation in item.items():
            if method != "parameters":
                operation["responses"] = {"200": {"description": "done"}}
    spec = tmp_path / "description.json"
    spec.write_bytes(orjson.dumps(document))
    engine = Engine(load_profiles([], [spec, spec]))
    before = engine.profiles
    feedback_about(engine, Request("POST", "/v2/invoices", body=MISSPELT), 422, {"message": "unknown field custmer"})
    assert engine.profiles is before


def test_one_base_path_is_all_that_is_learned(engine: Engine) -> None:
    for base in ("/api", "/v1", "/v2"):
        request = Request("POST", f"{base}/invoices", body=MISSPELT)
        found = is_renamed(feedback_about(engine, request, 422, {"message": "unknown field custmer"}))
        assert found is (base == "/api")


def test_what_was_made_before_is_made_anew(engine: Engine) -> None:
    absent = Request("GET", "/api/invoices/7")
    before = feedback_about(engine, absent, 404, {"message": "Cannot GET /api/invoices/7"})
    feedback_about(engine, Request("POST", "/api/invoices", body=MISSPELT), 422, {"message": "unknown field custmer"})
    after = feedback_about(engine, absent, 404, {"message": "Cannot GET /api/invoices/7"})
    assert before is not None
    assert before != after


def test_a_base_path_that_is_declared_is_the_only_one(tmp_path: Path) -> None:
    declared = DESCRIPTION.replace("paths:", "servers: [{url: /v1}]\npaths:", 1)
    engine = engine_of(tmp_path, declared)
    before = engine.profiles
    feedback_about(engine, Request("POST", "/api/invoices", body=MISSPELT), 422, {"message": "unknown field custmer"})
    assert engine.profiles is before


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("HTTP API that gives you full access. All API routes are prefixed with `/v1/`.", "/v1"),
        ("All paths are relative to /rest/api/2.0.", "/rest/api/2.0"),
        ("All requests start with '/api'", "/api"),
        ("All of our endpoints begin with /gateway/v2, over TLS.", "/gateway/v2"),
        ("Admin routes are prefixed with /admin.", ""),
        ("All routes but those of health are prefixed with /v1.", ""),
        ("All requests need a key. Search has the prefix /search.", ""),
        ("All routes are prefixed with /invoices.", ""),
        ("See /v1/docs", ""),
    ],
)
def test_a_description_may_tell_it_in_words(tmp_path: Path, text: str, base: str) -> None:
    document = yaml.safe_load(DESCRIPTION)
    document["info"]["description"] = text
    engine = engine_of(tmp_path, yaml.safe_dump(document))
    assert engine.profiles[0].description is not None
    assert engine.profiles[0].description.operations.base_paths() == sorted({"", base})
