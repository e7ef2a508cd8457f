"""Refusals that name no place: what is left when all else is ruled out is corrected, or asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Warehouse, version: '1'}
paths:
  /v1/stores/north/shelves: {get: &shelves {responses: &any {default: {description: any}}}, post: *shelves}
  /v1/stores/south/shelves: {get: *shelves}
  /v1/stores/east/shelves: {get: *shelves}
  /v1/tools/saw/run: {post: *shelves}
  /v1/tools/drill/run: {post: *shelves}
  /v1/tools/lathe/run: {post: *shelves}
  /v1/tools/press/run: {post: *shelves}
  /v1/tools/grinder/run: {post: *shelves}
  /v1/tools/welder/run: {post: *shelves}
  /v1/items:
    get:
      parameters: [{name: since, in: query, schema: {type: string}}, {name: order, in: query, schema: {type: string}}]
      responses: *any
    post:
      parameters: [{name: Prefer, in: header, schema: {type: string, enum: [respond-async]}}]
      requestBody: {content: {application/json: {schema: &item {
        type: object, required: [label, owner], properties: {
          label: {type: string}, owner: {type: string}, count: {type: integer}, kind: {enum: [box, bag]}}}}}}
      responses: *any
  /v1/orders:
    post:
      requestBody: {content: {application/json: {schema: {}, example: {order: {quantity: 3, label: box}}}}}
      responses: *any
  /v1/returns:
    post:
      requestBody: {content: {application/json: {
        schema: {type: object}, examples: {one: {value: {
          reason: torn, lines: [{shade: a, texture: 1}], labels: {color: red}, extra_metadata: {store: 4}}}}}}}
      responses: *any
  /v1/items/{item}:
    parameters: [{name: item, in: path, required: true, schema: {type: string}}]
    get: {parameters: [{name: depth, in: query, schema: {type: string}}], responses: *any}
    patch: {requestBody: {content: {application/json: {schema: *item}}}, responses: *any}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    spec = tmp_path_factory.mktemp("spec") / "warehouse.json"
    spec.write_bytes(orjson.dumps(yaml.safe_load(DESCRIPTION)))
    return build_engine([], Path(spec))


def after(engine: Engine, request: Request, message: str, status: int = 400) -> Next | NeedsInput | Terminal | None:
    exchange = Exchange(request, status, {}, orjson.dumps({"error": message}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return apply(decision.feedback, request)


def get(path: str, **query: str) -> Request:
    return Request("GET", path, query)


def sent(method: str, path: str, body: Any, **headers: str) -> Request:
    return Request(method, path, headers={"content-type": "application/json", **headers}, body=body)


@pytest.mark.parametrize(
    ("body", "right"),
    [({"count": "5"}, {"count": 5}), ({"kind": "Box"}, {"kind": "box"})],
)
@pytest.mark.parametrize("message", ["Payload is invalid", "Unprocessable"])
def test_a_change_lacks_nothing_though_the_description_has_the_schema_of_the_whole(
    engine: Engine, body: Any, right: Any, message: str
) -> None:
    outcome = after(engine, sent("PATCH", "/v1/items/7", body), message)
    assert isinstance(outcome, Next)
    assert outcome.request.body == right


def test_what_a_server_misses_in_a_change_is_asked_for(engine: Engine) -> None:
    outcome = after(engine, sent("PATCH", "/v1/items/7", {"count": 5}), "owner is required")
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body/owner"]


def test_a_preference_is_never_what_is_wrong(engine: Engine) -> None:
    """RFC 7240 section 2: a server ignores preferences that it does not know. Callers send us theirs there."""
    body = {"label": "a", "owner": "b", "count": "5"}
    outcome = after(engine, sent("POST", "/v1/items", body, prefer='recovery-feedback=reflective; caller="x"'), "Bad")
    assert isinstance(outcome, Next)
    assert outcome.request.body["count"] == 5


@pytest.mark.parametrize(
    "message", ["unconverted data remains", "Filter cannot be parsed", "too many values to unpack (expected 2)"]
)
def test_the_only_parameter_is_what_a_refusal_is_about(engine: Engine, message: str) -> None:
    outcome = after(engine, get("/v1/items", since="yesterday"), message)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/query/since"]


@pytest.mark.parametrize(
    ("value", "message", "right"),
    [
        ("25.5", "depth and since must be integers", None),
        ("25.0", "both values must be integers", None),  # nothing says that it is this one
    ],
)
def test_what_is_stated_of_the_only_parameter_is_stated_of_its_value(
    engine: Engine, value: str, message: str, right: int | None
) -> None:
    outcome = after(engine, get("/v1/items", since=value), message)
    if right is None:
        assert isinstance(outcome, NeedsInput)
    else:
        assert isinstance(outcome, Next)
        assert outcome.request.query == {"since": right}


@pytest.mark.parametrize(
    ("request_", "message", "status"),
    [
        (get("/v1/items/7", depth="all"), "cannot be parsed", 400),  # or the name in the path
        (get("/v1/items", since="yesterday"), "cannot be parsed", 500),
    ],
)
def test_what_may_be_about_something_else_is_not_asked(
    engine: Engine, request_: Request, message: str, status: int
) -> None:
    outcome = after(engine, request_, message, status)
    assert not isinstance(outcome, Next)
    assert not isinstance(outcome, NeedsInput) or "/query/since" not in [one.pointer for one in outcome.placeholders]


@pytest.mark.parametrize("message", ["Unknown store", "Not Found", "no shelf there"])
def test_the_others_are_offered_for_a_name_that_no_path_has(engine: Engine, message: str) -> None:
    outcome = after(engine, get("/v1/stores/harbour/shelves"), message, 404)
    assert isinstance(outcome, NeedsInput)
    offered = [
        operation.value for one in outcome.choices for operation in one.suggestion.patch if operation.op != "test"
    ]
    assert offered == [f"/v1/stores/{name}/shelves" for name in ("north", "south", "east")]


def test_of_many_others_none_is_offered(engine: Engine) -> None:
    outcome = after(engine, sent("POST", "/v1/tools/forge/run", {}), "no such tool", 404)
    assert isinstance(outcome, NeedsInput)
    (question,) = outcome.placeholders
    assert (question.pointer, (question.schema_ or {}).get("pattern")) == ("/path", "^/v1/tools/[^/]+/run$")


@pytest.mark.parametrize("message", ["Store not found", "Unknown resource"])
def test_a_slash_at_the_end_is_what_a_404_is_about_where_nothing_else_can_be(engine: Engine, message: str) -> None:
    outcome = after(engine, get("/v1/stores/north/shelves/"), message, 404)
    assert isinstance(outcome, Next)
    assert outcome.request.path == "/v1/stores/north/shelves"


@pytest.mark.parametrize(
    "request_",
    [sent("POST", "/v1/stores/north/shelves/", {"owner": "x"}), get("/v1/stores/north/shelves/", owner="x")],
)
def test_a_slash_stays_where_something_else_may_not_be_there(engine: Engine, request_: Request) -> None:
    assert not isinstance(after(engine, request_, "Owner not found", 404), Next)


@pytest.mark.parametrize(
    ("path", "body", "message", "right"),
    [
        (
            "/v1/orders",
            {"order": {"qauntity": 3}},
            "An order cannot be placed without a quantity",
            {"order": {"quantity": 3}},
        ),
        ("/v1/orders", {"order": {"qauntity": 3}}, "quantity is required", {"order": {"quantity": 3}}),
        ("/v1/returns", {"raeson": "torn"}, "Could not process without the 'reason'.", {"reason": "torn"}),
        (
            "/v1/returns",
            {"lines": [{"shade": "a", "textrue": 1}]},
            "invalid payload",
            {"lines": [{"shade": "a", "texture": 1}]},
        ),
    ],
)
def test_an_example_has_the_names_where_no_schema_has(
    engine: Engine, path: str, body: Any, message: str, right: Any
) -> None:
    outcome = after(engine, sent("POST", path, body), message)
    assert isinstance(outcome, Next)
    assert outcome.request.body == right


def test_what_an_example_has_is_asked_for_at_its_place(engine: Engine) -> None:
    outcome = after(engine, sent("POST", "/v1/orders", {"order": {"label": "box"}}), "Can't go on without a quantity")
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body/order/quantity"]


def test_a_member_that_a_server_misses_although_it_was_sent_belongs_to_another_level(engine: Engine) -> None:
    outcome = after(engine, sent("POST", "/v1/orders", {"quantity": 3}), "quantity is required")
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"order": {"quantity": 3}}
    nowhere = after(engine, sent("POST", "/v1/orders", {"colour": "red"}), "colour is required")
    assert not isinstance(nowhere, Next)


@rows("message", ["bad sort column", "Invalid ordering", "cannot order by this"])
@rows(("order", "right"), [("lable", "label"), ("-Owner", "-owner"), ("owner,cuont", "owner,count")])
def test_a_complaint_about_the_order_is_about_the_word_in_its_parameter(
    engine: Engine, message: str, order: str, right: str
) -> None:
    outcome = after(engine, get("/v1/items", order=order, since="2026-01-01"), message)
    assert isinstance(outcome, Next)
    assert outcome.request.query == {"order": right, "since": "2026-01-01"}


@pytest.mark.parametrize(
    "message", ["since value must be a date", "since parameter out of range", "since out of range"]
)
def test_a_parameter_that_a_message_begins_with_is_what_it_is_about(engine: Engine, message: str) -> None:
    outcome = after(engine, get("/v1/items", order="label", since="x"), message)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/query/since"]
