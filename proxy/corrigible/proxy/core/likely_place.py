"""Where to ask when no format and no rule knows the place: at the likeliest one, or at two of which one is meant.

Knows: ranked places, descriptions. Does not know: texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.base import Described
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import LikelyPlace, Violation
from corrigible.rules.wordings import Kind, read

from .api_profile import RefusalCase
from .nothing_said import says_nothing

SURE: Final = 0.5
"""The least probability of what is asked, of all places together."""
BESIDE: Final = 0.2
"""The least probability of a second place that is asked as well."""
_SAYS_NOTHING: Final = frozenset({401, 402, 407, 408, 423, 425, 429, 431, 451, 503, 507, 508, 511})
"""Statuses for which no value of the request is to blame."""
_CONFLICT: Final = 409
"""Says of what was sent that something else does not go with it: what that is only a text says."""
_NOT_FOUND: Final = (404, 410)
_OF_THE_PATH: Final = frozenset({400, 404, 405, 409, 410, 422})
"""Statuses that can be about a path of which the text says nothing."""
_OF_THE_BODY: Final = frozenset({400, 406, 415, 422})
"""Statuses that can be about a whole body of which the text says nothing."""


def may_be_asked(case: RefusalCase, error: Violation) -> bool:
    """Whether a refusal may be about a value of the request. Of a fault of the server its text has to say so."""
    status = case.exchange.status
    if status in _SAYS_NOTHING or not error.likely:
        return False
    first = error.likely[0]
    if first.pointer == "/path" and any(one.slots.get("field") for one in read(error.message).of(Kind.MISSING)):
        return False  # a member is missing
    if read(error.message).of(Kind.RIGHT) and not read(error.message).of(Kind.UNKNOWN, Kind.MALFORMED):
        return False
    if first.is_told:
        return True
    if status == _CONFLICT and all(one.row.endswith(".conflict") for one in read(error.message).said):
        return False
    if first.pointer == "/path" and (status not in _OF_THE_PATH or _is_opaque(error, status)):
        return False
    if first.pointer == "/body" and status not in _OF_THE_BODY:
        return False
    return status < 500


def _is_opaque(error: Violation, status: int) -> bool:
    """Whether a refusal says no more than its status, which may be about whatever was sent."""
    return status in (400, 422) and says_nothing(error.message, status)


def likely_value(error: Violation) -> str:
    """Return the place of the value that an error is most likely about; empty where none is likely enough."""
    best = error.likely[0] if error.likely else None
    is_sure = best is not None and best.probability >= SURE and not best.is_absent
    return best.pointer if best is not None and is_sure and best.pointer.startswith(("/body/", "/query/")) else ""


def asked_places(error: Violation) -> Sequence[LikelyPlace]:
    """Return the places to ask at: the likeliest one, with the next one where the first is not sure."""
    first, *rest = error.likely
    if first.probability >= SURE:
        return [first]
    second = [one for one in rest[:1] if one.probability >= BESIDE and one.pointer != first.pointer]
    is_enough = first.probability + sum(one.probability for one in second) >= SURE
    return (
        [first, *second] if is_enough and {first.pointer, *(one.pointer for one in second)}.isdisjoint(_WHOLE) else []
    )


_WHOLE: Final = frozenset({"/method", "/path"})


def violation_at(case: RefusalCase, place: LikelyPlace, description: Described | None) -> SchemaViolation:
    """Return what to ask for at a place."""
    request, operation = case.request, case.match.operation
    if place.pointer == "/method" and description is not None:
        found = description.nearest_operation(request.method, request.path)
        if found is not None:
            return found
    if place.pointer == "/path":
        keyword = "reference" if case.exchange.status in _NOT_FOUND else "value"
        return SchemaViolation("/path", keyword, {"type": "string", "not": {"const": place.value}}, place.value)
    declared = (
        description.declared_place(request, operation, place.pointer) if description is not None and operation else None
    )
    schema: Mapping[str, object] = declared.schema if declared is not None else {}
    if place.is_absent:
        siblings = declared.siblings if declared is not None else ()
        parent = declared.parent_schema if declared is not None else None
        return SchemaViolation(place.pointer, "required", schema, siblings=siblings, parent_schema=parent)
    if isinstance(place.value, Mapping | list):
        return SchemaViolation(place.pointer, "value", schema, place.value)
    return SchemaViolation(place.pointer, "value", {**schema, "not": {"const": place.value}}, place.value)
