"""What is done about a missing member: a misspelt one is renamed, what is settled is sent, anything else is asked for.

Knows: violations, requests, what is declared. Does not know: which server it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.safety.filled_in import is_for_the_caller
from corrigible.rules.safety.nearness import is_same
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from . import nesting, renaming
from .first_violation import first_violation, is_fully_checked
from .json_schema import choices, types
from .other_part import into_query
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, edit, guarded_edit, options
from .trim_schema import trim_schema

NAMED: Final = "x-named"
"""In a schema of a member: the value that the path has under its name, which is its `const` where it is known to be."""

_IF_MEANT: Final = "Send the value that the description has there, if it is what is meant."
_IF_AGREED: Final = "Send the only value that is allowed there, if whoever asks for this agrees."
_ASK_MISSING: Final = "Give the value that is missing."


def proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Add what has only one value, give a misspelt member its name, or ask."""
    if value_at(request, violation.pointer) is not MISSING and violation.pointer != "/body":
        return None
    if (renamed := renaming.misspelt(violation, request, group)) is not None:
        return renamed
    parent = violation.pointer.rpartition("/")[0]
    nested = nesting.wrapped(violation, request)
    nested = nested or nesting.unwrapped(parent, violation.parent_schema, violation, request)
    nested = nested or nesting.list_wrapped(violation, request) or into_query(violation, request)
    if nested is not None:
        return Proposal([nested])
    value = settled_value(violation.schema)
    if is_nought(value, violation.schema):
        value = MISSING
    if value is MISSING and (nested := _into_free_map(violation, request)) is not None:
        return Proposal([nested])
    if value is not MISSING:
        try:
            ops = _added(request, violation.pointer, value)
        except PatchError:
            return ask(violation, request, _ASK_MISSING)
        return _filled_in(violation, request, ops, value)
    if (named := violation.schema.get(NAMED)) is not None:
        return _named_again(violation, request, named)
    if violation.pointer == "/body" and (inner := _members_to_ask(violation.schema, request)):
        return ask(violation, request, "Send a body with what is required.", places=inner)
    question = ask(violation, request, _ASK_MISSING)
    if (other := renaming.rename_only_undeclared(violation, request)) is not None:
        if other.is_sure:
            return other.proposal
        both = [*other.proposal.suggestions, *question.suggestions]
        return Proposal(both) if other.is_likely else options(both, group)
    return question


def _into_free_map(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into a missing map, unless one of them may be a declared one."""
    nested = nesting.into_free_map(violation, request)
    present = value_at(request, violation.pointer.rpartition("/")[0]) if nested is not None else {}
    free = [one for one in violation.siblings if one not in present]
    strange = [one for one in present if one not in violation.siblings]
    return None if any(renaming.near_names(one, free) for one in strange) else nested


def _filled_in(violation: SchemaViolation, request: Request, ops: list[Operation], value: Json) -> Proposal:
    """Return what the description has for a missing value: flagged where only whoever calls can say it."""
    verified = is_fully_checked(violation.schema) and first_violation(value, violation.schema) is None
    is_only = _is_only_value(violation.schema)
    is_theirs = violation.schema.get(NAMED) != value and is_for_the_caller(
        violation.pointer, value, request, is_only=is_only
    )
    if not is_theirs and not _is_example(violation):
        return Proposal([edit(violation, request, ops, "Send the value that belongs there.", verified=verified)])
    message = _IF_AGREED if is_only else _IF_MEANT
    shown = edit(violation, request, ops, message, requires_confirmation=True, verified=verified)
    return Proposal([shown] if is_only else [shown, *ask(violation, request, _ASK_MISSING).suggestions])


def _named_again(violation: SchemaViolation, request: Request, value: Json) -> Proposal:
    """Return what the path names as the value of a member that is missing: the old name, where a new one is meant."""
    question = ask(violation, request, _ASK_MISSING)
    if is_set_by_the_path(violation.pointer, request):
        return question
    try:
        ops = _added(request, violation.pointer, value)
    except PatchError:
        return question
    message = "Send the name that the path has, if it is to stay as it is."
    return Proposal([edit(violation, request, ops, message, requires_confirmation=True), *question.suggestions])


def is_set_by_the_path(pointer: str, request: Request) -> bool:
    """Whether the path ends with the name of a member, `/accounts/{email}/email`: what it was is not what is wanted."""
    last = [part for part in request.path.split("/") if part][-1:]
    return any(is_same(part, segments(pointer)[-1]) for part in last)


def _is_only_value(schema: Mapping[str, Json]) -> bool:
    return len(choices(schema)) == 1 or types(schema) == ("null",)


def _is_example(violation: SchemaViolation) -> bool:
    """Whether a default is only an example: a required parameter has none (OpenAPI 2.0, 3.0), and may be any text."""
    schema = violation.schema
    is_parameter = violation.pointer.startswith(("/query/", "/headers/"))
    return is_parameter and "default" in schema and not choices(schema) and types(schema) == ("string",)


def settled_value(schema: Mapping[str, Json]) -> Json:
    """Return the value that a schema itself settles: a default or the only one allowed; `MISSING` where it does not."""
    if "default" in schema:
        return schema["default"] if first_violation(schema["default"], schema) is None else MISSING
    listed = choices(schema)
    if len(listed) == 1:
        return listed[0]
    return None if types(schema) == ("null",) else MISSING


def is_nought(value: Json, schema: Mapping[str, Json]) -> bool:
    """Whether a default is only what the server's language has for a number or a text that nobody set.

    Generators of descriptions write it there. A server that misses such a member takes no such default itself.
    """
    is_default = "default" in schema and schema["default"] == value and not choices(schema)
    return is_default and not isinstance(value, bool) and value in (0, "")


def _added(request: Request, pointer: str, value: Json) -> list[Operation]:
    """Return the operations that add a member, and the object it belongs into where that is missing too."""
    document = request.document()
    place, new_value = pointer, value
    parent = place.rpartition("/")[0]
    while parent.count("/") >= 1 and resolve(document, parent) in (MISSING, None):
        new_value = {segments(place)[-1]: new_value}
        place, parent = parent, parent.rpartition("/")[0]
    if pointer.startswith("/headers/"):
        new_value = scalar_text(new_value)
    return guarded_edit(request, place, MISSING, {"op": "add", "path": place, "value": new_value})


def _members_to_ask(schema: Mapping[str, Json], request: Request) -> list[tuple[str, Mapping[str, Json]]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    out: list[tuple[str, Mapping[str, Json]]] = []
    for name in schema.get("required") or ():
        inner = properties.get(name)
        inner = inner if isinstance(inner, Mapping) else {}
        place, value = f"/body/{escape(str(name))}", settled_value(inner)
        if value is MISSING or is_for_the_caller(place, value, request, is_only=_is_only_value(inner)):
            out.append((place, trim_schema(inner)))
    return out
