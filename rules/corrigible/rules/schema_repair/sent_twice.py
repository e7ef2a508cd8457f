"""A parameter that was sent more than once, where the server takes one value: the same value once, or a question.

Knows: one complaint about a place, what is declared there. Does not know: how an answer is read.
"""

from __future__ import annotations

from typing import Final

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import segments
from corrigible.schema.exchange import Request

from .rewriting import may_be_repeated
from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, edit, guarded_edit

SENT_TWICE: Final = "sentTwice"
"""The keyword of a parameter with several values that takes one. The schema is that of the one."""


def proposed(violation: SchemaViolation, request: Request) -> Proposal:
    """Return the parameter with the value that all of its copies have; of several values the caller chooses."""
    values = violation.value if isinstance(violation.value, list) else []
    distinct = list(dict.fromkeys(one for one in values if isinstance(one, str)))
    may_be_named = may_be_repeated({segments(violation.pointer)[-1]: distinct})
    if len(distinct) == 1 and may_be_named:
        operation = {"op": "replace", "path": violation.pointer, "value": distinct[0]}
        try:
            ops = guarded_edit(request, violation.pointer, values, operation)
        except PatchError:
            ops = []
        if ops:
            return Proposal([edit(violation, request, ops, "Send it once.")])
    schema = {"enum": list(distinct)} if may_be_named else {"type": "string"}
    return ask(violation, request, "Send it once, with the value that was meant.", schema=schema)
