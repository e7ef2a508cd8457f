"""Which violations of a description an error may be about, by status, place and message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from corrigible.adapters.operation import Operations
from corrigible.proxy.core.api_profile import MatchedOperation, RefusalCase
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.violation_finder import ViolationFinder
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
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

    def nearest_operation(self, method: str, path: str) -> SchemaViolation | None:
        return SchemaViolation("/path", "path", {"enum": ["/widgets"]}, path) if path == "/widgts" else None


KNOWN, UNKNOWN = Operations({"POST /widgets": "CreateWidget", "POST /widgets/{id}": "Change"}), Operations({})
SIZE, SHAPE = "/body/size", "/body/shape"


@pytest.mark.parametrize(
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
