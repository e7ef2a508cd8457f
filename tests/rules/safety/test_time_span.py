"""Lengths of time in words: as seconds, and as Go writes them."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.safety.written_moment import GO_DURATION, counts_seconds, go_duration, span
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.schema_violation import Place
from corrigible.rules.schema_repair.values import repair_value
from tests._support.rows import rows

INTEGER = {"type": "integer"}
SECONDS = {"type": "integer", "format": "seconds"}


@rows(
    ("text", "seconds", "written"),
    [
        ("1 hour", 3600, "1h"),
        ("90 min", 5400, "90m"),
        (" 30 Seconds ", 30, "30s"),
        ("120s", 120, "2m"),
        ("2 days", 172_800, "48h"),
        ("1d", 86_400, "24h"),
        ("0s", 0, "0h"),
        ("123456 MIN", 7_407_360, "123456m"),
        ("1234567 s", 1_234_567, "1234567s"),
        # Of no length, of no unit, of several, or no text.
        ("1 month", None, None),
        ("1 M", None, None),
        ("2 weeks", None, None),
        ("30", None, None),
        ("1.5h", None, None),
        ("1 hour ago", None, None),
        ("-1h", None, None),
        ("9999999 days", None, None),
        ("1234567 min", None, None),
        ("", None, None),
        (30, None, None),
        (None, None, None),
    ],
)
def test_what_a_text_says(text: Any, seconds: int | None, written: str | None) -> None:
    assert (span(text), go_duration(text)) == (seconds, written)
    assert written is None or first_violation(written, {"pattern": GO_DURATION}) is None


@rows("text", ["0", "1h", "1h30m", "1.5h", ".5s", "-2m", "5\u00b5s", "5\u03bcs", "10ms"])
def test_what_go_reads(text: str) -> None:
    assert first_violation(text, {"pattern": GO_DURATION}) is None


@rows("text", ["", "1", "h", "1 h", "1d", "1 hour", "1h 30m", "+"])
def test_what_go_does_not_read(text: str) -> None:
    assert first_violation(text, {"pattern": GO_DURATION}) == "pattern"


@rows(
    ("name", "schema", "wanted"),
    [
        ("ttl", SECONDS, [3600]),
        ("ttl_seconds", INTEGER, [3600]),
        ("timeoutSecs", INTEGER, [3600]),
        ("ttl", INTEGER, []),  # of which unit?
        ("ttl_ms", INTEGER, []),
        ("seconds_per_day", INTEGER, []),
        ("ttl", {"type": "integer", "format": "int32"}, []),
    ],
)
def test_an_integer_of_seconds_says_so(name: str, schema: Any, wanted: list[Any]) -> None:
    repaired = repair_value("type", "1 hour", schema, Place(name))
    assert [one.value for one in repaired] == wanted
    assert counts_seconds(name, schema) is bool(wanted)


def test_a_length_beyond_the_limit_is_asked_for() -> None:
    assert repair_value("type", "2 hours", {**SECONDS, "maximum": 3600}, Place("ttl")) == []


@pytest.mark.parametrize(("text", "wanted"), [("1 hour", ["1h"]), ("soon", []), ("30", [])])
def test_a_text_that_go_reads(text: str, wanted: list[str]) -> None:
    schema = {"type": "string", "pattern": GO_DURATION}
    assert [one.value for one in repair_value("pattern", text, schema, Place("ttl"))] == wanted


def test_another_pattern_has_units_of_its_own() -> None:
    schema = {"type": "string", "pattern": "^[0-9]+[dwmy]$"}  # a month is no minute
    assert repair_value("pattern", "90 minutes", schema, Place("ttl")) == []
