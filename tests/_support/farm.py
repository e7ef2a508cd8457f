"""An API with nothing but a description and its state: answers, and what a refusal by it gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate

DESCRIPTION = """
openapi: 3.0.3
info: {title: Farm, version: "1"}
servers: [{url: /api}]
paths:
  /work_pools:
    get: {responses: &any {default: {description: any}}}
    post:
      requestBody: &pool {content: {application/json: {schema: {$ref: '#/components/schemas/Pool'}}}}
      responses: *any
  /work_pools/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    patch: {requestBody: *pool, responses: *any}
    delete: {responses: *any}
  /flows:
    get: {responses: *any}
    post: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /flows/{flow_id}:
    parameters: [{name: flow_id, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    delete: {responses: *any}
  /flows/{flow_id}/runs:
    parameters: [{name: flow_id, in: path, required: true, schema: {type: string}}]
    post: {responses: *any}
  /variables:
    post: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /variables/{id}:
    get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: *any}
  /variables/name/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    patch: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /labels/{label}:
    parameters: [{name: label, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    put: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /plots:
    get: {responses: *any}
    post: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /plots/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    post: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
    patch: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /owners:
    get: {responses: *any}
  /secrets:
    get: {parameters: [{name: tenant, in: query, required: true, schema: {type: string}}], responses: *any}
  /secrets/{id}:
    get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: *any}
components:
  schemas:
    Pool:
      type: object
      properties: {name: {type: string}, size: {type: integer}, flow_id: {type: string}, work_pool_name: {type: string}}
"""
POOLS = [{"name": "default", "size": 3}, {"name": "night", "size": 1}]
FLOWS = {"data": [{"id": "f-1", "name": "etl"}, {"id": "f-2", "name": "report"}], "total": 2}
READS: dict[str, Json] = {"/api/work_pools": POOLS, "/api/work_pools/default": POOLS[0], "/api/flows": FLOWS}


def farm(folder: Path) -> Engine:
    path = folder / "farm.yaml"
    path.write_text(DESCRIPTION, "utf-8")
    return build_engine([], path)


class Api:
    """Answers reads, and remembers them."""

    def __init__(self, reads: Mapping[str, Json]) -> None:
        self.reads, self.asked = reads, list[str]()

    def fetch(self, lookup: Lookup) -> LookupAnswer:
        assert lookup.method == "GET"
        self.asked.append(lookup.path)
        known = lookup.path in self.reads
        return LookupAnswer(200 if known else 404, orjson.dumps(self.reads.get(lookup.path)))


def feedback_of(
    engine: Engine, request: Request, status: int, message: str, reads: Mapping[str, Json] = READS
) -> tuple[dict[str, Any], list[str]]:
    """Return the feedback, empty where there is none, and the paths that were looked up."""
    api = Api(reads)
    exchange = Exchange(request, status, {}, orjson.dumps({"message": message}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    if not isinstance(decision, Annotate):
        return {}, api.asked
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return dict(decision.feedback), api.asked


def post(path: str, body: Json) -> Request:
    return Request("POST", path, {}, {"content-type": "application/json"}, body)


def asked(feedback: Mapping[str, Any]) -> list[tuple[str, Json]]:
    return [(one["pointer"], one["schema"]) for s in feedback["suggestions"] for one in s.get("placeholders", ())]
