"""Values that are written anew as a whole, and those that JSON of the wire cannot hold."""

from __future__ import annotations

import pytest

from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.body_form import MALFORMED, repair_body
from corrigible.rules.schema_repair.inside_text import broken_text
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.rewriting import may_be_repeated
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request

UNWRITABLE = ['{"a":"\\ud800","b":1,}', f'{{"a":{1 << 70},"b":1,}}']


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        *[({"a": 1}, True), ({"a": "\ud800"}, False), ([1 << 70], False)],
        *[([0.5, -(2.0**52)], True), ({"a": [2.0**53]}, False), ([-(2.0**53)], False), ([2**53], True)],
        *[("x" * 2046, True), ("x" * 2047, False), ({"user": {"password": "p"}}, False), ({"user": "password"}, True)],
    ],
)
def test_what_cannot_be_written_is_not_repeated(value: object, wanted: bool) -> None:
    assert may_be_repeated(value) is wanted


@pytest.mark.parametrize("text", UNWRITABLE)
def test_such_a_parameter_is_asked_for(text: str) -> None:
    request = Request("GET", "/x", {"where": text})
    broken = broken_text(Violation(type="", pointer="", message="malformed JSON"), request)
    assert broken is not None
    repaired = repair(broken, request, "g")
    assert repaired is not None
    assert [one["applicability"] for one in repaired.suggestions] == ["HAS_PLACEHOLDERS"]


@pytest.mark.parametrize("text", UNWRITABLE)
def test_such_a_body_is_asked_for(text: str) -> None:
    repaired = repair_body(SchemaViolation("/body", MALFORMED, {}, text), Request("POST", "/x", body=MISSING), "g")
    assert [one["applicability"] for one in repaired.suggestions] == ["HAS_PLACEHOLDERS"]
