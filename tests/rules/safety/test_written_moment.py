"""Dates and times in other writings: nothing is lost, and nothing is made up."""

from __future__ import annotations

import re

import pytest

from corrigible.rules.safety.equivalence import is_near_spelling
from corrigible.rules.safety.written_moment import is_same_moment, rewritten
from tests._support.rows import rows

DATE, MONTH, CLOCK = r"\d{4}-\d{2}-\d{2}", r"\d{4}-\d{2}", r"\d{2}:\d{2}"
OFFSET = rf"{DATE} \d{{2}}:\d{{2}}:\d{{2}}\.\d{{3}}[+-]\d{{4}}"
UTC = rf"{DATE} \d{{2}}:\d{{2}}:\d{{2}}\.\d{{3}}Z"


def written_as(text: str, pattern: str) -> str:
    return rewritten(text, lambda one: re.fullmatch(pattern, one) is not None)


@rows(
    ("text", "pattern", "wanted"),
    [
        ("2026-3", MONTH, "2026-03"),
        ("2026/3", MONTH, "2026-03"),
        ("2026-3-4", DATE, "2026-03-04"),
        ("2026.03.04", DATE, "2026-03-04"),
        ("9:05", CLOCK, "09:05"),
        ("9:05:07", CLOCK + r":\d{2}", "09:05:07"),
        ("2026-03-04T10:11:12.000+01:00", OFFSET, "2026-03-04 10:11:12.000+0100"),
        ("2026-03-04 10:11:12+0100", OFFSET, "2026-03-04 10:11:12.000+0100"),
        ("2026-03-04T10:11:12.5-03:30", OFFSET, "2026-03-04 10:11:12.500-0330"),
        ("2026-03-04T10:11:12.5000Z", OFFSET, "2026-03-04 10:11:12.500+0000"),
        ("2026-03-04T09:11:12.345Z", UTC, "2026-03-04 09:11:12.345Z"),
        ("2026-03-04T09:11:12+00:00", UTC, "2026-03-04 09:11:12.000Z"),
        ("2026-03-04 09:11:12", rf"{DATE}T\d{{2}}:\d{{2}}:\d{{2}}", "2026-03-04T09:11:12"),
        ("2026-3-4", r"\d{4}/\d{2}/\d{2}", "2026/03/04"),
        ("2026-3-4", r"\d{4}\.\d{2}\.\d{2}", "2026.03.04"),
        ("2024-2-29", DATE, "2024-02-29"),
        # What may stay as it is written stays.
        ("2026/3/4 9:11:12.50+0100", r".{10}[T ]\d{2}:.{5}\.\d+\+\d{2}:?\d{2}", "2026/03/04 09:11:12.50+0100"),
        ("2026/3/4T9:11:12.50+01:00", r".{10}[T ]\d{2}:.{5}\.\d+\+\d{2}:?\d{2}", "2026/03/04T09:11:12.50+01:00"),
    ],
)
def test_the_same_is_written_otherwise(text: str, pattern: str, wanted: str) -> None:
    assert written_as(text, pattern) == wanted
    assert is_same_moment(text, wanted)
    assert is_near_spelling(text, wanted)


@rows(
    ("text", "pattern"),
    [
        ("2026-03-04 10:11:12.000", OFFSET),  # a zone
        ("2026-03-04", UTC),  # a time of day
        ("2026-03-04T10:11+01:00", OFFSET),  # seconds
        ("2026-03-04T10:11:12.3456+01:00", OFFSET),  # a digit too many
        ("2026-03-04T10:11:12.000+01:00", UTC),  # another offset
        ("2026-03-04T10:11:12Z", DATE),
        ("2026-03-04", MONTH),
        ("2026-3", DATE),
        ("2026-13", MONTH),
        ("2026-2-30", DATE),
        ("2026-2-29", DATE),
        ("25:05", CLOCK),
        ("04/03/2026", DATE),
        ("3-2026", MONTH),
        ("9:5", CLOCK),
        ("march", MONTH),
        ("2026-03", MONTH),  # as it is
    ],
)
def test_what_would_be_lost_or_made_up_is_not_written(text: str, pattern: str) -> None:
    assert written_as(text, pattern) == ""


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("2026-3", "2026-30"),
        ("2026-03-04T10:00:00Z", "2026-03-04T10:00:00"),
        ("2026-03-04T10:00:00Z", "2026-03-04T11:00:00+01:00"),
        ("9:05", "09:06"),
        ("x", "x"),
    ],
)
def test_another_moment(text: str, other: str) -> None:
    assert not is_same_moment(text, other)
