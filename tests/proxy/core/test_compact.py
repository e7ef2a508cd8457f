"""The short form of feedback: a reader makes the same of it, and it is shorter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, cast

import orjson
import pytest

from corrigible.proxy.core.api_profile import RefusalCase
from corrigible.proxy.core.corrector import compact
from corrigible.proxy.core.decision import Annotate
from corrigible.schema import Request, apply
from corrigible.schema.error import FeedbackError, ReaderError
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate
from tests._support.rows import rows

WHOLE: dict[str, Any] = {
    "schema": "self-reflective-api/0.1",
    "type": "recovery_guidance",
    "message": "The refund is too large.",
    "recovery": "correctable",
    "retry": {"same_request": False, "idempotency_key": "new"},
    "loop": {"fingerprint": "a", "attempt": 1, "action": "none"},
    "suggestions": [
        {
            "action": "MODIFY_PARAMS",
            "message": "Refund what is left.",
            "parameters": {"amount": 300},
            "patch": [{"op": "replace", "path": "/body/amount", "value": 300}],
            "applicability": "MAYBE_INCORRECT",
            "verification": {"status": "unverified"},
            "confidence": {"basis": "author", "value": 0.9},
            "safety": {"side_effects": "certain"},
            "evidence": {"kind": "rule", "rule": "stripe.x@1"},
        }
    ],
}


def short(whole: dict[str, Any]) -> dict[str, Any]:
    decision = Annotate(cast("RefusalCase", None), whole, orjson.dumps(whole), ({"code": "x", "message": "m"},))
    result = compact(decision)
    assert result.diagnoses == ()
    assert orjson.loads(result.encoded) == result.feedback
    return dict(result.feedback)


def test_what_is_left() -> None:
    assert short(WHOLE) == {
        "type": "recovery_guidance",
        "message": "The refund is too large.",
        "recovery": "correctable",
        "retry": {"same_request": False, "idempotency_key": "new"},
        "suggestions": [
            {
                "action": "MODIFY_PARAMS",
                "parameters": {},
                "patch": [{"op": "replace", "path": "/body/amount", "value": 300}],
                "applicability": "MAYBE_INCORRECT",
            }
        ],
    }


def test_what_a_caller_must_know_stays() -> None:
    safety = {"side_effects": "certain", "changes_intent": True, "requires_confirmation": False, "loses": ["/body/a"]}
    (suggestion,) = short({**WHOLE, "suggestions": [{**WHOLE["suggestions"][0], "safety": safety}]})["suggestions"]
    assert suggestion["safety"] == {"changes_intent": True, "loses": ["/body/a"]}
    assert suggestion["message"] == "Refund what is left."


def test_a_claim_keeps_its_proof() -> None:
    proved = {"applicability": "MACHINE_APPLICABLE", "verification": {"status": "verified", "method": "dry_run"}}
    (suggestion,) = short({**WHOLE, "suggestions": [{**WHOLE["suggestions"][0], **proved}]})["suggestions"]
    assert suggestion["verification"] == proved["verification"]


def vectors() -> Iterator[Any]:
    """Yield the published reader vectors with feedback that a writer may write."""
    for file in sorted((files("corrigible.conformance") / "vectors/consumer").iterdir(), key=lambda file: file.name):
        for vector in json.loads(file.read_text())["vectors"]:
            feedback = vector.get("feedback")
            if isinstance(feedback, dict) and "request" in vector and is_written(feedback):
                yield pytest.param(vector["request"], feedback, id=vector["id"])


def is_written(feedback: dict[str, Any]) -> bool:
    try:
        validate(parse(feedback))
    except (ReaderError, FeedbackError):
        return False
    return None not in feedback.values() and all(
        isinstance(one.get("parameters"), dict) for one in feedback["suggestions"]
    )


def outcome(feedback: dict[str, Any], request: dict[str, Any], *, confirm: bool) -> object:
    try:
        return apply(feedback, Request(**request), confirm=confirm)
    except ReaderError as problem:
        return str(problem)


@rows(("request_", "feedback"), list(vectors()))
@rows("confirm", [False, True])
def test_a_reader_sends_the_same(request_: dict[str, Any], feedback: dict[str, Any], confirm: bool) -> None:
    whole, brief = (outcome(one, request_, confirm=confirm) for one in (feedback, short(feedback)))
    assert type(brief) is type(whole)
    for name in ("request", "steps", "wait_seconds", "new_idempotency_key", "applied", "action", "message", "confirm"):
        assert getattr(brief, name, None) == getattr(whole, name, None)
