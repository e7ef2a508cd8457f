"""UUIDs in other ways of writing, and the patterns that take one of them."""

from __future__ import annotations

import re

import pytest

from corrigible.rules.safety.spelling import as_is_taken, dashed, uuid_digits
from tests._support.rows import rows

DIGITS = "a0b1c2d3e4f546789abc000000001005"
UUID = "a0b1c2d3-e4f5-4678-9abc-000000001005"
GROUPS = "([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})"
ANY_CASE = "([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}"


@rows("text", [DIGITS, UUID, f"{{{UUID}}}", f"urn:uuid:{UUID}", f"URN:UUID:{UUID}", f" {UUID} "])
def test_the_digits_of_a_uuid(text: str) -> None:
    assert uuid_digits(text) == DIGITS
    assert dashed(uuid_digits(text)) == UUID


@pytest.mark.parametrize("text", ["", UUID[:-1], f"{UUID}0", DIGITS.replace("a", "g"), "user-1"])
def test_no_digits_of_another_text(text: str) -> None:
    assert uuid_digits(text) == ""
    assert as_is_taken(text, lambda _: True) == ""


@rows(
    ("text", "pattern", "wanted"),
    [
        (DIGITS, GROUPS, UUID),
        (DIGITS.upper(), GROUPS, UUID),
        (DIGITS.upper(), ANY_CASE, UUID.upper()),  # the letters stay where they may
        (UUID.upper(), GROUPS, UUID),
        (f"{{{UUID}}}", GROUPS, UUID),
        (UUID, "[0-9a-f]{32}", DIGITS),
        (UUID, "[0-9A-F]{32}", DIGITS.upper()),
        # What takes these digits in other ways is about names
        (UUID, "[a-z0-9]+", ""),
        (DIGITS, "[a-z0-9]+(-[a-z0-9]+)+", ""),
        (DIGITS, "[a-z0-9-]+", ""),
        (UUID, "[0-9a-f]{24}", ""),
    ],
)
def test_what_a_pattern_takes(text: str, pattern: str, wanted: str) -> None:
    assert as_is_taken(text, lambda one: re.fullmatch(pattern, one) is not None) == wanted
