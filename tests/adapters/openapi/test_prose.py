"""What sentences of descriptions say of a value."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.schema_translator import told_in_prose
from corrigible.rules.schema_repair.values import MEANT, number_meant

SIGN = {"type": "integer", "enum": [1, -1]}
LEVELS = {"type": "integer", "enum": [0, 1, 2]}


@pytest.mark.parametrize(
    ("prose", "schema", "told"),
    [
        ("Sort order: 1 for ascending, -1 for descending.", SIGN, {"ascending": 1, "descending": -1}),
        ("none (0), read (1) or write (2)", LEVELS, {"none": 0, "read": 1, "write": 2}),
        ("0 = off, 1 = slow, 2 = fast", LEVELS, {"off": 0, "slow": 1, "fast": 2}),
        ("Off: 0, Slow: 1, Fast: 2", LEVELS, {"Off": 0, "Slow": 1, "Fast": 2}),
        ("`0` is off, `1` is slow, `2` is fast", LEVELS, {"off": 0, "slow": 1, "fast": 2}),
        ("0 = off, 1 = on", LEVELS, None),  # not all
        ("1 for ascending, -1 for descending", {"type": "integer"}, None),  # no closed list
        ("1 for ascending, 1 for descending", SIGN, None),
        ("At most 1 for each, version 2.1 is older", SIGN, None),
        (None, SIGN, None),
    ],
)
def test_the_words_for_numbers(prose: Any, schema: dict[str, Any], told: dict[str, int] | None) -> None:
    assert told_in_prose(prose, schema).get(MEANT) == told


@pytest.mark.parametrize(
    ("word", "number"),
    [("asc", 1), ("Descending", -1), ("de", None), ("scending", None), ("", None), ("on", 7), ("only", 8)],
)
def test_the_number_that_a_word_stands_for(word: str, number: int | None) -> None:
    schema = {MEANT: {"ascending": 1, "descending": -1, "on": 7, "only": 8}}
    assert number_meant(word, schema) == number
    assert number_meant(word, {"enum": [1, -1]}) is None


def test_a_beginning_of_two_words_stands_for_neither() -> None:
    assert number_meant("dis", {MEANT: {"disabled": 0, "disconnected": 1}}) is None
