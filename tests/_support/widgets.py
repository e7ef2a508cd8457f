"""An API of widgets in memory: it answers dry runs, and has a description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from corrigible.adapters.base import Described
from corrigible.adapters.operation import NOTHING, Operations, Vocabulary
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate

FIX = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {size: 10}}]\n"
REFUSAL = {"code": "TOO_LARGE", "message": "too large"}
REQUEST = Request("POST", "/widgets", {"ns": "a b"}, {"content-type": "application/json"}, {"size": 50})


class Api:
    """Answers dry runs by a function of the body."""

    def __init__(self, judge: Callable[[Any], tuple[int, Any]]) -> None:
        self.judge = judge
        self.asked: list[Lookup] = []

    def fetch(self, lookup: Lookup) -> LookupAnswer:
        self.asked.append(lookup)
        status, body = self.judge(orjson.loads(lookup.body))
        return LookupAnswer(status, orjson.dumps(body))


def decide(engine: Engine, api: Api, request: Request = REQUEST) -> Decision:
    exchange = Exchange(request, 422, {}, orjson.dumps(REFUSAL), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    if isinstance(decision, Annotate):
        validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return decision


def small_enough(body: Any) -> tuple[int, Any]:
    fits = isinstance(body["size"], int) and body["size"] <= 10
    return (201, body) if fits else (422, REFUSAL)


class Description(Described):
    """Widgets have a size from 1 to 10 and a colour."""

    operations = Operations({"POST /widgets": "CreateWidget"})

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        body = request.body if isinstance(request.body, Mapping) else {}
        out = []
        if "size" not in body:
            out.append(SchemaViolation("/body/size", "required", {"type": "integer"}))
        if body.get("size", 1) > 10:
            out.append(SchemaViolation("/body/size", "maximum", {"type": "integer", "maximum": 10}, body["size"]))
        if body.get("colour", "red") not in ("red", "blue"):
            out.append(
                SchemaViolation("/body/colour", "enum", {"type": "string", "enum": ["red", "blue"]}, body["colour"])
            )
        return [violation for violation in out if not at or violation.pointer == at]

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        return NOTHING

    def facts(self, operation: str) -> Json:
        return {"required": [], "properties": {"size": {"type": "integer", "maximum": 10}}}


def described(folder: Path) -> Engine:
    engine = build_engine([folder])
    (known,) = engine.profiles
    adapter = replace(known.adapter, operations=Description.operations)
    return Engine([replace(known, adapter=adapter, description=Description())])
