"""Which violations of a description an error may be about, by status, place and message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.adapters.operation import ANY, Operations, Vocabulary
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.api_profile import MatchedOperation, RefusalCase
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.violation_finder import ViolationFinder, noted, told_apart
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.schema_repair.levels import IN_QUERY, NOT_OF_BODY
from corrigible.rules.schema_repair.route import BARE, UNNAMED
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows
from tests._support.widgets import FIX, REQUEST, Api, Description, described, small_enough

WritePack = Callable[..., Path]


class Places(Description):
    """Sees something wrong with the path, the size and a part of the shape, whatever is asked about."""

    def __init__(self, operations: Operations) -> None:
        self.operations = operations

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        body = request.body if isinstance(request.body, dict) else {}
        out = []
        if body.get("size", 1) > 10:
            out.append(SchemaViolation("/body/size", "maximum", {"type": "integer", "maximum": 10}, body["size"]))
        if body.get("shape"):
            out.append(SchemaViolation("/body/shape", "type", {"type": "integer"}, body["shape"]))
        if request.path == "/widgets/1":
            out.append(SchemaViolation("/path", "path", {"enum": ["/widgets/2"]}, request.path))
        return [one for one in out if not at or one.pointer == at]

    def nearest_operation(self, request: Request) -> SchemaViolation | None:
        return (
            SchemaViolation("/path", "path", {"enum": ["/widgets"]}, request.path)
            if request.path == "/widgts"
            else None
        )


KNOWN, UNKNOWN = Operations({"POST /widgets": "CreateWidget", "POST /widgets/{id}": "Change"}), Operations({})
SIZE, SHAPE = "/body/size", "/body/shape"


@rows(
    ("status", "path", "field", "places"),
    [
        (400, "/widgets", "size", [SIZE]),
        (409, "/widgets", "", []),
        (403, "/widgets", "", []),
        (501, "/widgets", "", []),
        (501, "/widgets/1", "", ["/path"]),
        (404, "/widgts", "", ["/path"]),
        (405, "/widgts", "", ["/path"]),
        (501, "/widgts", "", ["/path"]),
        (400, "/widgts", "", []),
        (404, "/nothing/like/it", "", []),
    ],
)
def test_what_a_status_lets_the_description_speak_about(
    write_pack: WritePack, status: int, path: str, field: str, places: list[str]
) -> None:
    engine = described(write_pack(x=f"match: {{code: NEVER}}\n{FIX}"))
    (profile,) = engine.profiles
    known = KNOWN if path.startswith("/widgets") else UNKNOWN
    adapter = replace(profile.adapter, operations=known)
    engine = Engine([replace(profile, adapter=adapter, description=Places(known))])
    request = replace(REQUEST, path=path, body={"size": 50, "shape": "7"})
    error = {"field": field, "message": "wrong"} if field else {"message": "wrong"}
    decisions = engine.decide(Exchange(request, status, {}, orjson.dumps({"errors": [error]}), "e", 1.0))
    decision = run_with_lookups_sync(decisions, Api(small_enough).fetch)
    suggestions = decision.feedback["suggestions"] if isinstance(decision, Annotate) else []
    assert [one["patch"][-1]["path"] for one in suggestions] == places


@pytest.mark.parametrize(
    ("message", "places"),
    [
        ("The shape is wrong", [SHAPE]),
        ("50 is wrong", [SIZE]),
        ("A shape like this already exists", [SHAPE]),
    ],
)
def test_what_a_message_mentions_goes_first(write_pack: WritePack, message: str, places: list[str]) -> None:
    engine = described(write_pack(x=f"match: {{code: NEVER}}\n{FIX}"))
    (profile,) = engine.profiles
    adapter = replace(profile.adapter, operations=KNOWN)
    engine = Engine([replace(profile, adapter=adapter, description=Places(KNOWN))])
    request = replace(REQUEST, body={"size": 50, "shape": "7"})
    decisions = engine.decide(Exchange(request, 400, {}, orjson.dumps({"errors": [{"message": message}]}), "e", 1.0))
    decision = run_with_lookups_sync(decisions, Api(small_enough).fetch)
    suggestions = decision.feedback["suggestions"] if isinstance(decision, Annotate) else []
    assert [one["patch"][-1]["path"] for one in suggestions if "patch" in one] == places


@pytest.mark.parametrize(("status", "places"), [(400, [SIZE]), (404, [])])
def test_a_grpc_name_that_is_not_found_is_judged_by_what_is_stated_only(
    write_pack: WritePack, status: int, places: list[str]
) -> None:
    (profile,) = described(write_pack(x=FIX)).profiles
    request = replace(REQUEST, method="/shop.Widgets/Create", path="/")
    match = MatchedOperation(replace(profile, description=Places(KNOWN)), "shop.Widgets/Create", {})
    case = RefusalCase(Exchange(request, status, {}, b"", "e", 1.0), match, None, None, ())
    finder = ViolationFinder(case)
    error = Violation(pointer=SIZE, stated={"maximum": 100})
    assert [one.pointer for one in finder.candidates(error)] == places


class InQuery(Description):
    """An operation that takes these members, each a path from the part of the request."""

    def __init__(self, *places: str, has_body: bool) -> None:
        self._places = tuple(tuple(one.split()) for one in places)
        self._bodies: dict[str, Json] = {"application/json": {}} if has_body else {}

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        return Vocabulary(self._places)

    def body_schemas(self, operation: str) -> Mapping[str, Json]:
        return self._bodies


@rows(
    ("body", "places", "has_body", "expected"),
    [
        ({"name": 1}, [], False, []),
        ({"name": 1, "size": 2}, ["query name", "query size"], False, []),
        ({"name": 1, "size": 2}, ["query name"], False, None),
        ({"name": 1, "size": 2}, ["query name", "body size"], False, None),
        ({"name": 1, "size": 2}, ["query name", "query size unit"], False, None),
        (["name"], ["query name"], False, None),
        ({}, ["query name"], False, None),
        ({"name": 1}, ["query name", "body size", "body size unit"], True, ["size"]),
        ({"name": 1}, ["query name", f"body {ANY}"], True, None),
        ({"name": 1}, ["query name"], True, None),
    ],
)
def test_a_parameter_that_is_missing_tells_what_the_body_is_not_for(
    body: Json, places: list[str], has_body: bool, expected: list[str] | None
) -> None:
    (profile,) = load_profiles([])
    match = MatchedOperation(replace(profile, description=InQuery(*places, has_body=has_body)), "Create", {})
    case = RefusalCase(Exchange(replace(REQUEST, body=body), 400, {}, b"", "e", 1.0), match, None, None, ())
    missing = SchemaViolation("/query/name", "required", {"type": "string"})
    assert noted(missing, case).schema.get(NOT_OF_BODY) == expected
    for other in (missing._replace(keyword="type"), missing._replace(pointer="/body/name")):
        assert noted(other, case) is other
        assert told_apart(other, case) is other


class Methods(Description):
    """Operations by method and path, each with what it takes."""

    def __init__(self, **operations: str) -> None:
        below = "/{id}"
        self.operations = Operations(
            {f"{one.rstrip('_')} /books{below * one.endswith('_')}": one for one in operations}
        )
        self._taken = operations

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        return Vocabulary(tuple(tuple(one.split(".")) for one in self._taken[operation].split()))


TITLE = {"title": "x"}
BOTH = {"GET": "query.title", "POST": "body.title body.pages"}


@rows(
    ("sent", "described", "offered", "noted"),
    [
        ({}, BOTH, ["GET", "POST"], {BARE: True}),
        ({}, {"GET": "", "POST": "query.title"}, ["GET", "POST"], {BARE: True}),
        ({}, {"GET": "", "POST": "path.id"}, ["GET", "POST"], {}),
        ({}, BOTH, ["POST"], {}),
        ({}, {**BOTH, "PATCH": "body.title"}, ["GET", "POST", "PATCH"], {}),
        ({"query": {"a": "1"}}, BOTH, ["GET", "POST"], {}),
        ({"body": TITLE}, BOTH, ["GET"], {IN_QUERY: True}),
        ({"body": {**TITLE, "pages": 3}}, BOTH, ["GET"], {}),
        ({"body": TITLE}, BOTH, ["GET", "POST"], {}),
        ({"body": TITLE}, {**BOTH, "PUT_": ""}, ["GET", "POST"], {UNNAMED: True}),
        ({}, {**BOTH, "PUT_": ""}, ["GET", "POST", "DELETE"], {BARE: True}),
        ({"body": TITLE}, {**BOTH, "PATCH": "body.pages"}, ["GET", "POST", "PATCH"], {"enum": ["GET", "POST"]}),
        ({"body": TITLE}, {"POST": "body.a body.title", "PATCH": "body.a"}, ["PATCH", "POST"], {"enum": ["POST"]}),
        ({"body": {"other": 1}}, {**BOTH, "PATCH": "body.pages"}, ["GET", "POST", "PATCH"], {}),
        ({"body": ["title"]}, {**BOTH, "PATCH": "body.pages"}, ["GET", "POST", "PATCH"], {}),
        ({"method": "DELETE"}, BOTH, ["GET", "POST"], {}),
    ],
)
def test_which_method_may_have_been_meant(
    sent: dict[str, Any], described: dict[str, str], offered: list[str], noted: dict[str, Json]
) -> None:
    (profile,) = load_profiles([])
    request = Request(**{"method": "PUT", "path": "/books", **sent})
    match = MatchedOperation(replace(profile, description=Methods(**described)), "", {})
    case = RefusalCase(Exchange(request, 405, {}, b"", "e", 1.0), match, None, None, ())
    wrong = SchemaViolation("/method", "method", {"enum": offered}, request.method)
    assert told_apart(wrong, case).schema == {"enum": offered, **noted}


ORDERS = """
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /v2/orders:
    get: {}
    post:
      parameters: [{name: limit, in: query, schema: {type: integer, maximum: 10}}]
      requestBody:
        content:
          application/json: {schema: {type: object, properties: {size: {type: integer, maximum: 10}}}}
"""
