"""A list of scalars where each has to be a list itself: a level of lists is missing around the whole.

| sent                    | expected                | what is done                                  |
|-------------------------|-------------------------|-----------------------------------------------|
| `[1, 2, 3]`             | a list of lists         | `[[1, 2, 3]]`: it is the only row             |
| `[[1, 2], [3, 4]]`      | a list of lists of lists | `[[[1, 2], [3, 4]]]`, once that is confirmed |
| `["a", "b"]`            | a list of lists         | it is asked what belongs together             |

A list around each single value would have as many rows as values, which nobody writes by forgetting a level.

Knows: violations, requests. Does not know: descriptions, rules.
"""

from __future__ import annotations

from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import value_at
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation
from .json_schema import Schema, types
from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, edit, is_secret

_MOST: Final = 256
"""Values that are repeated in an answer."""
_DEEPEST: Final = 4


def proposed(violation: SchemaViolation, request: Request) -> Proposal | None:
    """Return the list around all lists that the place of a violation is in; None where it is not about such a place."""
    around, _, index = violation.pointer.rpartition("/")
    row = value_at(request, around) if around.startswith("/body/") and index.isdecimal() else None
    if violation.keyword != "type" or types(violation.schema) != ("array",) or request.form:
        return None
    if not isinstance(row, list) or len(row) < 2 or any(isinstance(one, list | dict) or one is None for one in row):
        return None
    schema: Schema = {"type": "array", "items": violation.schema}
    place, depth = around, 1
    while depth < _DEEPEST and (outer := _list_around(place, request)):
        place, depth, schema = outer, depth + 1, {"type": "array", "items": schema}
    whole = value_at(request, place)
    found = violation._replace(pointer=place, schema=schema, value=whole)
    is_known = _is_of_numbers(whole, depth) and first_violation([whole], schema) is None
    if not is_known or is_secret(place, whole):
        return ask(found, request, "Send lists inside a list: say which of the values belong together.")
    ops: list[Operation] = [
        {"op": "test", "path": place, "value": whole},
        {"op": "replace", "path": place, "value": [whole]},
    ]
    message = "Send the numbers as the only one of the lists that are expected."
    # What is not said of a row may be that it is a pair.
    is_guess = depth > 1 or "items" not in violation.schema
    return Proposal([edit(found, request, ops, message, requires_confirmation=is_guess)])


def _list_around(place: str, request: Request) -> str:
    """Return the place of the list that the list at a place is an element of, empty where it is none."""
    outer, _, index = place.rpartition("/")
    is_element = index.isdecimal() and outer.startswith("/body/")
    return outer if is_element and isinstance(value_at(request, outer), list) else ""


def _is_of_numbers(value: Json, depth: int) -> bool:
    """Whether a value is a list, as deep as it has to be, of few numbers and nothing else."""
    values: list[Json] = [value]
    for _ in range(depth):
        if not all(isinstance(one, list) for one in values):
            return False
        values = [inner for one in values if isinstance(one, list) for inner in one]
        if len(values) > _MOST:
            return False
        spend(len(values))
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
