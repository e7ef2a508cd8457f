"""Scalars in a list where each has to be a list: a level around the whole is missing."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.pointer import value_at
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Request

NUMBERS = {"type": "array", "items": {"type": "number"}}


def repaired(body: Any, pointer: str, schema: Any = NUMBERS, **more: Any) -> tuple[Any, bool | None, list[str]]:
    """Return what is sent at which place, whether that is confirmed, and what is asked for."""
    request = Request("POST", "/grids", body=body, **more)
    found = repair(SchemaViolation(pointer, "type", schema, value_at(request, pointer)), request, "1.")
    assert found is not None
    (suggestion,) = found.suggestions
    ops = [(op["path"], op["value"]) for op in suggestion.get("patch", ()) if op["op"] == "replace"]
    asked = [one["pointer"] for one in suggestion.get("placeholders", ())]
    return ops, suggestion["safety"].get("requires_confirmation"), asked


def test_a_row_may_be_the_only_one() -> None:
    assert repaired({"rows": [1, 2, 3]}, "/body/rows/1") == ([("/body/rows", [[1, 2, 3]])], True, [])
    assert repaired({"rows": ["a", "b"]}, "/body/rows/0", {"type": "array"}) == (
        [("/body/rows", [["a", "b"]])],
        True,
        [],
    )


def test_the_level_around_all_of_them_is_missing() -> None:
    ring = [[24, 60], [25, 60], [24, 60]]
    pair = {**NUMBERS, "minItems": 2, "maxItems": 3}
    assert repaired({"at": ring}, "/body/at/0/0", pair) == ([("/body/at", [ring])], True, [])


@pytest.mark.parametrize(
    ("rows", "schema"),
    [
        ([1, 2, 3, 4], {**NUMBERS, "maxItems": 2}),  # pairs
        ([1, "b"], NUMBERS),
        ([1] * 1100, NUMBERS),  # too many to repeat
    ],
)
def test_otherwise_it_is_asked_what_belongs_together(rows: Any, schema: Any) -> None:
    assert repaired({"rows": rows}, "/body/rows/0", schema) == ([], None, ["/body/rows"])


def test_one_value_is_put_into_a_list_as_before() -> None:
    assert repaired({"rows": [1]}, "/body/rows/0") == ([("/body/rows/0", [1])], None, [])
