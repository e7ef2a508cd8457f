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
