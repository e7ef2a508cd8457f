"""What the engine decides about one refusal of an API with nothing but a description."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import orjson
import yaml

from corrigible.adapters.base import Described
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.operation import Operations, Vocabulary
from corrigible.adapters.reader.locate import locate_errors
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.violation import Violation
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


class Declares(Described):
    """A description that declares names, and finds nothing wrong with any request."""

    def __init__(self, vocabulary: Vocabulary, operations: Mapping[str, str]) -> None:
        self._vocabulary, self._operations = vocabulary, Operations(operations)

    @property
    def operations(self) -> Operations:
        return self._operations

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        return self._vocabulary


def errors_at_places(
    exchange: Exchange,
    answer: Json,
    declared: Vocabulary | None = None,
    variables: Mapping[str, str] | None = None,
    *,
    has_operations: bool = False,
) -> list[Violation]:
    """Return the errors of an answer in any usual shape, at their places; without names there is no description.

    Only of a description that `has_operations` the form of a request alone tells a place.
    """
    operations = {"POST /orders": "described"} if has_operations else {}
    described = cast(Described, Declares(declared, operations)) if declared is not None else None
    errors = GenericFormat().read(exchange, answer)
    return locate_errors(errors, exchange, answer, described, "described" if described else "", variables or {})
