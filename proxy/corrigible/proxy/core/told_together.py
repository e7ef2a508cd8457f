"""What several errors of one refusal say together: an unknown member is the missing one, a server knows what it misses.

Knows: errors, suggestions for them. Does not know: descriptions, where errors come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .request_at_fault import OF_UNKNOWN


def rank(error: Violation, errors: Sequence[Violation], *, may_follow: bool) -> int:
    """Return when an error is looked at: one that may follow from another last.

    Where a member is missed beside an unknown one, that may be it: the missing one is looked at before.
    """
    parent = _parent(error)
    beside = {one.constraint for one in errors if one.pointer and _parent(one) == parent}
    if error.pointer and "required" in beside and not beside.isdisjoint(OF_UNKNOWN):
        return int(error.constraint in OF_UNKNOWN)
    return 2 if may_follow else 0


def with_members_told(violation: SchemaViolation, errors: Sequence[Violation], request: Request) -> SchemaViolation:
    """Return what is missing with all that the server misses beside it declared: it knows these members.

    What it says it misses though it was sent is rather the member that was meant, under another name.
    """
    around = violation.parent_schema or {}
    properties = around.get("properties")
    if violation.keyword != "required" or not isinstance(properties, Mapping):
        return violation
    parent = violation.pointer.rpartition("/")[0]
    missed = [one.pointer for one in errors if one.constraint == "required" and _parent(one) == parent]
    told = [segments(place)[-1] for place in missed if value_at(request, place) is MISSING]
    undeclared: dict[str, Json] = {name: {} for name in told if name not in properties}
    if not undeclared:
        return violation
    return violation._replace(parent_schema={**around, "properties": {**properties, **undeclared}})


def moved_from(result: RuleResult) -> set[str]:
    """Return the places whose values the only edit of a result sends under another name."""
    edits = [one for one in result.suggestions if "patch" in one]
    moves = [op for op in edits[0]["patch"] if op["op"] == "move"] if len(edits) == 1 else []
    return {str(op["from"]) for op in moves}


def _parent(error: Violation) -> str:
    return error.pointer.rpartition("/")[0]
