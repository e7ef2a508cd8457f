"""What the scripted agents are made of: how they read prose and complaints, and where a fact belongs."""

from __future__ import annotations

from typing import Any

from corrigible.conformance.lift.agents.protocol import without_feedback
from corrigible.conformance.lift.agents.scripted.reading import (
    ABSENT,
    Facts,
    is_escalated,
)
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import Placeholder
from tests._support.rows import rows

from .talk import REDUCE, REFUND


def test_feedback_is_no_part_of_what_the_api_said() -> None:
    body = {
        "error": {"message": "no", "recovery_feedback": REDUCE},
        "recovery_feedback": REDUCE,
        "details": {"causes": [{"reason": "RecoveryFeedback", "message": "{}"}, {"reason": "A"}]},
    }
    assert without_feedback(body) == {"error": {"message": "no"}, "details": {"causes": [{"reason": "A"}]}}


FITS: list[tuple[str, Json, dict[str, Json], Any]] = [
    ("/body/currency", None, {"currency": "eur"}, "eur"),
    ("/body/sourceBranch", None, {"source_branch": "x"}, "x"),
    ("/body/items/0/tax_rates/0", None, {"tax_rate": "txr_1"}, "txr_1"),
    ("/body/parents", {"type": "array"}, {"parents": "abc"}, ["abc"]),
    ("/body/count", {"type": "integer"}, {"count": "3"}, 3),
    ("/headers/x-account", {"type": "string"}, {"account": 7}, "7"),
    ("/body/key", {"type": "string", "contentEncoding": "base64"}, {"key": "foo"}, "Zm9v"),
    ("/body/email", {"type": "string", "format": "email"}, {"contact": "a@b.example", "name": "Lee"}, "a@b.example"),
    ("/body/city", None, {"address": {"city": "Bonn"}}, "Bonn"),
    ("/body/amount", {"type": "integer"}, {"amount": 500}, ABSENT),  # it was refused
    ("/body/other", {"type": "string"}, {"charge": "ch_1"}, ABSENT),  # it is in its place already
    ("/body/other", None, {"name": "Lee"}, ABSENT),  # any name would do
]


@rows(("pointer", "schema", "facts", "value"), FITS)
def test_a_fact_belongs_where_its_name_or_shape_says(
    pointer: str, schema: Json, facts: dict[str, Json], value: Any
) -> None:
    hole = Placeholder.model_validate({"pointer": pointer, "schema": schema})
    assert Facts(facts).fitting(hole, REFUND) == value


@rows(
    ("said", "ends"),
    [
        ({"suggestions": [{"action": "MODIFY_PARAMS"}], "loop": {"action": "escalate"}}, False),
        ({"suggestions": [{"action": "NO_RECOVERY_AVAILABLE"}], "loop": {"action": "escalate"}}, True),
        ({"suggestions": [{"action": "NO_RECOVERY_AVAILABLE", "parameters": {"attempts": 4}}]}, True),
        ({"suggestions": [{"action": "ESCALATE", "parameters": {"attempts": 4}}]}, True),
        ({"suggestions": [{"action": "ESCALATE", "parameters": {}}]}, False),
        ({"suggestions": [{"action": "WAIT_AND_RETRY", "parameters": {"attempts": 4}}]}, False),
        ({"suggestions": [{"action": "NO_RECOVERY_AVAILABLE"}], "loop": {"action": "none"}}, False),
        ({"suggestions": "none"}, False),
        (None, False),
    ],
)
def test_only_a_loop_breaker_breaks_off(said: Any, ends: bool) -> None:
    assert is_escalated(said) is ends
