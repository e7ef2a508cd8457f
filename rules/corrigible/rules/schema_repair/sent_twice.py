"""A parameter that was sent more than once, where the server takes one value: the same value once, or a question.

Knows: one complaint about a place, what is declared there. Does not know: how an answer is read.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request

from .json_schema import Schema, types
from .rewriting import may_be_repeated
from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, edit, guarded_edit

SENT_TWICE: Final = "sentTwice"
"""The keyword of a parameter with several values that takes one. The schema is that of the one."""

_OFTEN: Final = re.compile(
    r"(?i)\b(?:(?:multiple|several|many|two) (?:times|values)|more than (?:once|one(?: value)?)|twice|repeat(?:ed|s)?"
    r"|duplicate[sd]?|only (?:be )?(?:\w+ )?once|single value|single-valued|already (?:set|given|specified))\b"
)
_READ: Final = 1000
"""Letters of a message that are looked at."""
_MOST: Final = 8


def sent_twice(error: Violation, request: Request, schema: Schema) -> SchemaViolation | None:
    """Return the violation of a parameter that an error names and says is there more than once."""
    place, values = segments(error.pointer), value_at(request, error.pointer)
    if len(place) != 2 or (place[0] != "query" and not (place[0] == "body" and request.form)):
        return None
    if not isinstance(values, list) or not 1 < len(values) <= _MOST or "array" in types(schema):
        return None
    if not all(isinstance(one, str) for one in values) or _OFTEN.search(error.message[:_READ]) is None:
        return None
    return SchemaViolation(error.pointer, SENT_TWICE, schema, values)


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
