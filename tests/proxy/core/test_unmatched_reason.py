"""Why a refusal gets no feedback: the reason tells what was asked, and is true."""

from __future__ import annotations

import json
from pathlib import Path

import orjson

from corrigible.proxy.build import MapFiles, build_engine
from corrigible.proxy.core.decision import PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request

DESCRIPTION = """
openapi: 3.0.3
info: {title: Jobs, version: '1'}
paths: {/jobs: {get: {operationId: listJobs}}}
"""


def reason(engine: Engine, path: str) -> str:
    exchange = Exchange(Request("GET", path), 422, {}, orjson.dumps({"error": {"message": "No."}}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(404))
    assert isinstance(decision, PassThrough)
    return decision.reason


def test_without_a_description_none_is_named() -> None:
    assert reason(build_engine(["http"]), "/jobs") == "no rule matches"


def test_a_map_that_cannot_be_trusted_without_a_description_is_named(tmp_path: Path) -> None:
    mapping = {
        "source": {"api": "jobs", "method": "POST", "path": "/jobs"},
        "target": {"api": "jobs", "method": "POST", "path": "/tasks"},
        "equivalence": "same",
        "score": 1.0,
        "arguments": [{"source": "/body/name", "target": "/body/name"}],
    }
    file = tmp_path / "map.json"
    content = {"format": "corrigible map 1", "method": "by hand", "apis": [{"name": "jobs"}], "mappings": [mapping]}
    file.write_text(json.dumps(content), "utf-8")
    engine = build_engine(["http"], maps=MapFiles([file]))
    exchange = Exchange(Request("POST", "/jobs", body={"name": "a"}), 405, {}, b"", "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(404))
    assert "a map has another operation" in (decision.reason if isinstance(decision, PassThrough) else "")
