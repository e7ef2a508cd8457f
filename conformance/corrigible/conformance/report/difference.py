"""Expected and actual values as a few lines with + and -."""

from __future__ import annotations

import difflib
import json
from typing import Final

from corrigible.conformance.validators.finding import Absent
from corrigible.schema.exchange import Json

_LONGEST: Final = 40
_WIDEST: Final = 2000
_ONE_LINE: Final = 100


def difference(expected: Json | Absent, actual: Json | Absent) -> list[str]:
    """Return the lines of a small diff. Long equal stretches are left out; short values stand one above the other."""
    if isinstance(expected, Absent) and isinstance(actual, Absent):
        return []
    if isinstance(expected, Absent):
        return _cut([f"+ {line}" for line in _lines(actual)])
    if isinstance(actual, Absent):
        return _cut([*(f"- {line}" for line in _lines(expected)), "+ (nothing)"])
    left, right = _lines(expected), _lines(actual)
    if left == right:  # equal as text and yet a finding: the kinds differ, as 1 and "1" do
        left, right = [json.dumps(expected)], [json.dumps(actual)]
    if len(left) == len(right) == 1:
        return _cut([f"- {left[0]}", f"+ {right[0]}"])
    compared = list(difflib.unified_diff(left, right, n=2, lineterm=""))[2:]
    return _cut([line if line.startswith("@@") else f"{line[0]} {line[1:]}" for line in compared])


def _lines(value: Json | Absent) -> list[str]:
    if isinstance(value, str):
        return value.split("\n") if value.strip() == value and value else [json.dumps(value, ensure_ascii=False)]
    short = json.dumps(value, ensure_ascii=False)
    if len(short) <= _ONE_LINE:
        return [short]
    return json.dumps(value, ensure_ascii=False, indent=2).split("\n")


def _cut(lines: list[str]) -> list[str]:
    shown_lines = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]}..." for line in lines[:_LONGEST]]
    return [*shown_lines, f"... {len(lines) - _LONGEST} lines more"] if len(lines) > _LONGEST else shown_lines
