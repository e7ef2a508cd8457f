"""What the engine decides about one refusal of an API with nothing but a description."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate


def engine_of(folder: Path, description: str) -> Engine:
    """Return an engine that knows a description in YAML, and no rules. Operations may leave their responses out."""
    document = yaml.safe_load(description)
    for item in document["paths"].values():
        for method, operation in item.items():
            if method != "parameters":
                operation.setdefault("responses", {"200": {"description": "done"}})
    spec = folder / "description.json"
    spec.write_bytes(orjson.dumps(document))
    return Engine(load_profiles([], spec))


def feedback_about(
    engine: Engine,
    request: Request,
    status: int,
    answer: Any,
    headers: Mapping[str, str] | None = None,
    state: Mapping[str, Json] | None = None,
) -> dict[str, Any] | None:
    """Return the feedback for a refusal, None without any. `state` has the answers to look-ups, by their paths."""
    known = state or {}

    def look_up(lookup: Lookup) -> LookupAnswer:
        return LookupAnswer(200, orjson.dumps(known[lookup.path])) if lookup.path in known else LookupAnswer(404)

    data = answer if isinstance(answer, bytes) else orjson.dumps(answer)
    exchange = Exchange(request, status, headers or {}, data, "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), look_up)
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return dict(decision.feedback)


def followed(
    feedback: dict[str, Any] | None, request: Request, *, confirm: bool = False
) -> Next | NeedsInput | Terminal | None:
    """Return what a literal reader makes of feedback."""
    return None if feedback is None else apply(feedback, request, confirm=confirm)
