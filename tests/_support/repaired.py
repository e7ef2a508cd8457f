"""A breach repaired, and what a reader makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigible.rules.engine.guarded_patch import guarded
from corrigible.rules.pointer import MISSING, resolve
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Suggestion, parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate

ASK = object()


CHOICE = object()


def said(
    pointer: str,
    keyword: str,
    schema: Mapping[str, Json],
    request: Request,
    siblings: tuple[str, ...] = (),
    value: Json = MISSING,
) -> Repair:
    there = resolve(request.document(), pointer) if value is MISSING else value
    repaired = repair(SchemaViolation(pointer, keyword, schema, there, siblings), request, "1.")
    assert repaired is not None
    for suggestion in repaired.suggestions:
        guarded(request.document(), suggestion.get("patch", []))
    return repaired


def feedback(repaired: Repair) -> dict[str, Json]:
    return {
        "schema": "self-reflective-api/0.1",
        "type": repaired.type,
        "message": repaired.diagnosis,
        "recovery": repaired.recovery,
        "suggestions": list(repaired.suggestions),
    }


def agrees(suggestion: Suggestion) -> bool:
    """Agree to what changes the wish, to nothing that requires a confirmation."""
    return not suggestion.requires_confirmation


def follow(repaired: Repair, request: Request) -> Next | Terminal | NeedsInput:
    wire = feedback(repaired)
    validate(parse(wire))
    return apply(wire, request, confirm=agrees)


def post(body: Json, *, form: bool = False) -> Request:
    return Request("POST", "/things", body=body, form=form)


def sent(value: Json) -> Request:
    return post({"a": value})


def assert_outcome(repaired: Repair, request: Request, expected: Any) -> None:
    outcome = follow(repaired, request)
    if expected is ASK:
        assert isinstance(outcome, NeedsInput)
        assert [p.pointer for p in outcome.placeholders] == ["/body/a"]
        assert repaired.type == "recovery_guidance"
    elif expected is CHOICE:
        assert isinstance(outcome, NeedsInput)
        assert repaired.type == "intent_disambiguation"
        assert {s["group"]["relation"] for s in repaired.suggestions} == {"one_of"}
        assert len(repaired.suggestions) == 2
    else:
        assert isinstance(outcome, Next)
        value = outcome.request.body["a"]
        assert (value, type(value)) == (expected, type(expected))
