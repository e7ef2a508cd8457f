"""Repairs of a request for an answer of a media type that the operation does not produce.

Another media type is another answer than was asked for, so the intent changes. Servers may find out what they cannot
answer only when all is done: a call that is not idempotent is sent again only by who confirms it.
"""

from __future__ import annotations

from typing import Final

from corrigible.rules.functions.edits import Operation
from corrigible.schema.exchange import Request

from .body_form import is_json
from .repair import Repair
from .schema_violation import SchemaViolation
from .suggestion import Proposal, edit, guarded_edit, options

ACCEPT: Final = "/headers/accept"
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_MOST: Final = 5


def repair_accept(violation: SchemaViolation, request: Request, group: str) -> Repair:
    """Return the suggestions for an `Accept` that was refused. `enum` of the schema has what is produced."""
    produced = [str(one) for one in violation.schema["enum"]]
    plain = [one for one in produced if is_json(one)]
    chosen = plain if len(plain) == 1 else produced
    if len(chosen) > _MOST:
        chosen = [*plain, *(one for one in produced if one not in plain)][:_MOST]
    edits = []
    for media in chosen:
        operation: Operation = {"op": "replace", "path": ACCEPT, "value": media}
        message = f"Accept {media}, which this operation produces."
        if request.method not in _IDEMPOTENT:
            message += " Look first whether the call was carried out."
        edits.append(
            edit(
                violation,
                request,
                guarded_edit(request, ACCEPT, violation.value, operation),
                message,
                changes_intent=True,
                requires_confirmation=request.method not in _IDEMPOTENT,
            )
        )
    proposal = Proposal(edits) if len(edits) == 1 else options(edits, group)
    diagnosis = "The operation produces no answer of the media type that was asked for."
    return Repair(tuple(proposal.suggestions), proposal.type, diagnosis, "NOT_ACCEPTABLE")
