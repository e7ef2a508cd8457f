"""A member that only the server writes, sent where the one in the other number is required: `port` for `ports`.

| what is required | what was sent           | what is offered                          |
|------------------|-------------------------|------------------------------------------|
| `ports`          | `port: 22`, read-only   | `ports: [22]`, if the place takes a list |
| `port`           | `ports: [22]`, the same | `port: 22`                               |

Whoever sends back what was read sends such members as well, so that whoever calls has to confirm it.

Knows: a missing member, the object that it belongs into. Does not know: which server it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import escape, segments, value_at
from corrigible.rules.safety.nearness import is_plural
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation
from .json_schema import types
from .schema_violation import SchemaViolation
from .suggestion import Suggestion, edit, guarded_edit

_MESSAGE: Final = "Send the value under the name that is required: under the one that was sent only the server writes."


def from_twin(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of the value of the only such member; None where there is none, or its value does not fit."""
    parent, _, _ = violation.pointer.rpartition("/")
    present, declared = value_at(request, parent), (violation.parent_schema or {}).get("properties")
    if not parent.startswith("/body") or not isinstance(present, Mapping) or not isinstance(declared, Mapping):
        return None
    name = segments(violation.pointer)[-1]
    twins = [one for one in present if one != name and _is_read_only(declared.get(one)) and is_plural(one, name)]
    if len(twins) != 1:
        return None
    sent = present[twins[0]]
    is_more = len(name) > len(twins[0])
    value = [sent] if is_more and not isinstance(sent, list) and _may_be_list(violation) else sent
    value = sent[0] if not is_more and isinstance(sent, list) and len(sent) == 1 else value
    if isinstance(value, list) is not is_more or first_violation(value, violation.schema) is not None:
        return None
    source = f"{parent}/{escape(twins[0])}"
    move: Operation = {"op": "move", "from": source, "path": violation.pointer}
    try:
        ops = guarded_edit(request, source, sent, move)
    except PatchError:
        return None
    if value != sent:
        ops.append({"op": "replace", "path": violation.pointer, "value": value})
    return edit(violation, request, ops, _MESSAGE, requires_confirmation=True)


def _is_read_only(schema: Json) -> bool:
    return isinstance(schema, Mapping) and schema.get("readOnly") is True


def _may_be_list(violation: SchemaViolation) -> bool:
    """Whether a place takes a list, or nothing is said about it."""
    return not types(violation.schema) or "array" in types(violation.schema)
