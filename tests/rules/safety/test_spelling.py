"""Dates, identifiers and numbers in the spellings people use."""

from __future__ import annotations

from datetime import date

import pytest

from corrigible.rules.safety.spelling import (
    dates,
    integer,
    is_format,
    moments,
    number,
    respelled,
    rfc3339,
    truth,
    typed,
)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026-03-04", ["2026-03-04"]),
        ("2026.3.4", ["2026-03-04"]),
        ("4-Mar-2026", ["2026-03-04"]),
        ("Sept 4 2026", ["2026-09-04"]),
        ("Wednesday, 4th March 2026", ["2026-03-04"]),
        ("13/01/2026", ["2026-01-13"]),
        ("01/13/2026", ["2026-01-13"]),
        ("04/04/2026", ["2026-04-04"]),
        ("03.04.2026", ["2026-04-03", "2026-03-04"]),
        ("03/04/26", []),
        ("13/13/2026", []),
        ("2026-13-01", []),
        ("4 Foo 2026", []),
        ("2026-03/04", []),
        ("", []),
    ],
)
def test_days(text: str, days: list[str]) -> None:
    assert dates(text) == [date.fromisoformat(day) for day in days]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2026-03-04T10:00:00.5Z", [("2026-03-04T10:00:00.500000Z", True)]),
        ("2026-03-04 10:00 +02", [("2026-03-04T10:00:00+02:00", True)]),
        ("4 March 2026, 3:05 pm", [("2026-03-04T15:05:00Z", False)]),
        ("4 March 2026 12:05 AM", [("2026-03-04T00:05:00Z", False)]),
        ("4 March 2026 13:05 PM", []),
        ("2026-03-04T25:00:00Z", []),
        ("1772618400", [("2026-03-04T10:00:00Z", True)]),
        (1772618400.0, [("2026-03-04T10:00:00Z", True)]),
        (5, []),
        (True, []),
        (None, []),
        ([], []),
        ("x" * 100, []),
    ],
)
def test_points_in_time(value: object, wanted: list[tuple[str, bool]]) -> None:
    assert [(rfc3339(moment.when), moment.zoned) for moment in moments(value)] == wanted


@pytest.mark.parametrize(
    ("value", "name", "wanted"),
    [
        ("urn:uuid:550e8400-e29b-41d4-a716-446655440000", "uuid", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("mailto:a@b.co", "email", ["a@b.co"]),
        ("<https://x.io>", "uri", ["https://x.io"]),
        ("https://x.io/a b", "uri", ["https://x.io/a%20b"]),
        ("x.io.", "hostname", ["x.io"]),
        (" ::1 ", "ipv6", ["::1"]),
        ("10.0.0.1:80", "ipv4", []),
        ("aGVsbG8gd29ybGQgaGVsbG8gd29y\nbGQ=", "byte", ["aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="]),
        (7, "email", []),
        ("", "byte", []),
    ],
)
def test_formats(value: object, name: str, wanted: list[str]) -> None:
    found = [spelled.value for spelled in respelled(value, name)]
    assert found == wanted
    assert all(is_format(text, name) for text in found)


def test_a_unix_time_is_one_already() -> None:
    assert respelled("1772618400", "unix-time") == []
    assert respelled(5, "unix-time") == []


def test_numbers_and_truth() -> None:
    spelt: tuple[object, ...] = ("12", " -3 ", "+3", "1e3", "5.0", "5.1", 5.0, 2.0**60, True, None)
    assert [integer(v) for v in spelt] == [*(12, -3, None, None, 5, None, 5, None, None, None)]
    assert [number(v) for v in ("1.5", "1e3", ".5", "1,5", 2.5, 3)] == [1.5, 1000.0, None, None, 2.5, 3]
    said: tuple[object, ...] = ("TRUE", "off", 1, 0.0, 2, "y", None, [])
    assert [truth(v) for v in said] == [*(True, False, True, False, None, None, None, None)]
    assert [typed(*pair) for pair in (("5", "integer"), ("5", "boolean"), ("", "null"), ("x", "number"))] == [
        *(5, "5", None, "x")
    ]
