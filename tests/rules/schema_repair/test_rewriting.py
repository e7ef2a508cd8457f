"""Values that are written anew as a whole, and those that JSON of the wire cannot hold."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.violation_finder import broken_text
from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.body import MALFORMED, repair_body
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import may_be_repeated
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

UNWRITABLE = ['{"a":"\\ud800","b":1,}', f'{{"a":{1 << 70},"b":1,}}']


@rows(
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"user": "a", "password": "p-1",}',
            "Send valid JSON. At line 1, column 33 a member name in double quotes is expected.",
        ),
        (
            '{"password": "p-1",\n"tags": ["a",\n]}',
            "Send valid JSON. At line 3, column 1 a value is expected.",
        ),
        (
            '{"password": "p-1", \'user\': 1}',
            "Send valid JSON. At line 1, column 21 a member name in double quotes is expected.",
        ),
    ],
)
def test_of_a_body_with_a_secret_the_mend_is_told_and_the_secret_is_not(text: str, message: str) -> None:
    repaired = repair_body(SchemaViolation("/body", MALFORMED, {}, text), Request("POST", "/x", body=text), "g")
    (suggestion,) = repaired.suggestions
    assert (suggestion["message"], suggestion["applicability"]) == (message, "HAS_PLACEHOLDERS")
    assert "p-1" not in str(suggestion)
