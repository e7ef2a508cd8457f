"""What the scripted agents are made of: how they read prose and complaints, and where a fact belongs."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.conformance.lift.agents.scripted.reading import (
    ABSENT,
    Facts,
    error_details,
    is_escalated,
    read,
    without_feedback,
)
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import Placeholder
from tests._support.rows import rows

from .talk import REDUCE, REFUND

READINGS: list[tuple[str, dict[str, Any]]] = [
    ("must be less than or equal to 10", {"most": 10}),
    ("Amount must be no more than $999,999.99", {"most": 999999.99}),
    ("must be less than 10", {"most": 9}),
    ("must be greater than or equal to 1", {"least": 1}),
    ("Amount must be at least 50 cents", {"least": 50}),
    ("value must be between 1 and 99", {"least": 1, "most": 99}),
    ("must be one of day, month, week or year", {"allowed": ("day", "month", "week", "year")}),
    ('supported values: "Always", "Never"', {"allowed": ("Always", "Never"), "quoted": ("Always", "Never")}),
    ("Received unknown parameter: amuont. Did you mean amount?", {"is_unknown": True, "meant": "amount"}),
    ("Missing required param: currency.", {"is_missing": True}),
    ("use 'payment_method' instead", {"instead": "payment_method", "quoted": ("payment_method",)}),
    ("coconut milk is not traditional in French cuisine", {}),
    ("it's wrong, isn't it", {}),
]


@rows(("text", "said"), READINGS)
def test_prose_is_read_as_far_as_patterns_go(text: str, said: dict[str, Any]) -> None:
    prose = read(text)
    empty = read("")
    assert {name: getattr(prose, name) for name in said} == said
    others = set(prose.__slots__) - set(said)
    assert {name: getattr(prose, name) for name in others} == {name: getattr(empty, name) for name in others}


def test_complaints_are_found_in_the_forms_that_apis_use() -> None:
    bodies: list[Json] = [
        {"validation_errors": [{"code": "A", "message": "no", "field": "a[2]"}]},
        {"error": {"message": "no", "param": "a[2]", "code": "A"}},
        {"kind": "Status", "details": {"causes": [{"reason": "A", "message": "no", "field": "a[2]"}]}},
        {"code": 3, "message": "m", "details": [{"fieldViolations": [{"field": "a[2]", "description": "no"}]}]},
        {"errors": [{"code": "A", "detail": "no", "source": {"pointer": "a[2]"}}]},
    ]
    for body in bodies:
        assert (error_details(body)[0].field, error_details(body)[0].text) == ("a[2]", "no"), body


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


@pytest.mark.parametrize(
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
