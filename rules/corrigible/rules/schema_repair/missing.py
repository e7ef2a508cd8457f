"""What is done about a missing member: a misspelt one is renamed, what is settled is sent, anything else is asked for.

Of an object that has none of several forms: the member that all require is missing, or one choice per form is offered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.safety.filled_in import is_for_the_caller
from corrigible.rules.safety.nearness import is_same
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from . import levels, names
from .first_violation import first_violation, is_fully_checked
from .json_schema import Schema, choices, members, trim_schema, types
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, edit, guarded_ops, options

NAMED: Final = "x-named"
"""In a schema of a member: the value that the path has under its name, which is its `const` where it is known to be."""

_IF_MEANT: Final = "Send the value that the description has there, if it is what is meant."
_IF_AGREED: Final = "Send the only value that is allowed there, if whoever asks for this agrees."
_MOST_FORMS: Final = 3


def proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Add what has only one value, give a misspelt member its name, or ask."""
    if value_at(request, violation.pointer) is not MISSING and violation.pointer != "/body":
        return None
    if (renamed := names.misspelt(violation, request)) is not None:
        return renamed
    parent = violation.pointer.rpartition("/")[0]
    moved = levels.wrapped(violation, request)
    moved = moved or levels.unwrapped(parent, violation.parent_schema, violation, request)
    moved = moved or levels.list_wrapped(violation, request) or levels.into_query(violation, request)
    value = settled_value(violation.schema)
    if is_nought(value, violation.schema):
        value = MISSING
    if moved is None and value is MISSING:
        moved = _into_free_map(violation, request)
    if moved is not None:
        return Proposal([moved])
    question = ask(violation, request, names.ASK_MISSING)
    if value is not MISSING:
        ops = _added(request, violation.pointer, value)
        return _filled_in(violation, request, ops, value, question) if ops else question
    if (named := violation.schema.get(NAMED)) is not None:
        return _named_again(violation, request, named, question)
    if violation.pointer == "/body" and (inner := _members_to_ask(violation.schema, request)):
        return ask(violation, request, "Send a body with what is required.", places=inner)
    other = names.rename_only_undeclared(violation, request)
    return question if other is None else Proposal([*other.suggestions, *question.suggestions])


def _into_free_map(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into a missing map, unless one of them may be a declared one."""
    moved = levels.into_free_map(violation, request)
    present = value_at(request, violation.pointer.rpartition("/")[0]) if moved is not None else {}
    free = [one for one in violation.siblings if one not in present]
    strange = [one for one in present if one not in violation.siblings]
    return None if any(names.near_names(one, free) for one in strange) else moved


def _filled_in(
    violation: SchemaViolation, request: Request, ops: list[Operation], value: Json, question: Proposal
) -> Proposal:
    """Return what the description has for a missing value: flagged where only whoever calls can say it."""
    pointer, schema = violation.pointer, violation.schema
    verified = is_fully_checked(schema) and first_violation(value, schema) is None
    is_only = _is_only_value(schema)
    is_theirs = schema.get(NAMED) != value and is_for_the_caller(pointer, value, request, is_only=is_only)
    # A required parameter has no default (OpenAPI 2.0, 3.0): it is only an example, and may be any text.
    is_parameter = pointer.startswith(("/query/", "/headers/"))
    is_example = is_parameter and "default" in schema and not choices(schema) and types(schema) == ("string",)
    if not is_theirs and not is_example:
        return Proposal([edit(violation, request, ops, "Send the value that belongs there.", verified=verified)])
    message = _IF_AGREED if is_only else _IF_MEANT
    shown = edit(violation, request, ops, message, requires_confirmation=True, verified=verified)
    return Proposal([shown] if is_only else [shown, *question.suggestions])


def _named_again(violation: SchemaViolation, request: Request, value: Json, question: Proposal) -> Proposal:
    """Return what the path names as the value of a member that is missing: the old name, where a new one is meant."""
    last = [part for part in request.path.split("/") if part][-1:]
    if any(is_same(part, segments(violation.pointer)[-1]) for part in last):
        return question  # the path ends with the member's name: what it was is not what is wanted
    ops = _added(request, violation.pointer, value)
    if not ops:
        return question
    message = "Send the name that the path has, if it is to stay as it is."
    return Proposal([edit(violation, request, ops, message, requires_confirmation=True), *question.suggestions])


def _is_only_value(schema: Schema) -> bool:
    return len(choices(schema)) == 1 or types(schema) == ("null",)


def settled_value(schema: Schema) -> Json:
    """Return the value that a schema itself settles: a default or the only one allowed; `MISSING` where it does not."""
    if "default" in schema:
        return schema["default"] if first_violation(schema["default"], schema) is None else MISSING
    listed = choices(schema)
    if len(listed) == 1:
        return listed[0]
    return None if types(schema) == ("null",) else MISSING


def is_nought(value: Json, schema: Schema) -> bool:
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
    return guarded_ops(request, place, MISSING, {"op": "add", "path": place, "value": new_value})


def _members_to_ask(schema: Schema, request: Request) -> list[tuple[str, Schema]]:
    out: list[tuple[str, Schema]] = []
    declared = members(schema)
    for name in map(str, schema.get("required") or ()) if declared else ():
        inner = declared.get(name, {})
        place, value = f"/body/{escape(name)}", settled_value(inner)
        if value is MISSING or is_for_the_caller(place, value, request, is_only=_is_only_value(inner)):
            out.append((place, trim_schema(inner)))
    return out


# One of several forms


def of_forms(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Return what all forms of an object lack, a misspelt member under its name, or a question for each form.

    None where some form lacks nothing or there is no object.
    """
    listed = violation.schema.get(violation.keyword)
    forms = [form for form in listed if isinstance(form, Mapping)] if isinstance(listed, list) else []
    if not forms or not isinstance(violation.value, Mapping):
        return None
    lacking = [_lacking(form, violation.value) for form in forms]
    if common := [name for name in lacking[0] if all(name in others for others in lacking)]:
        known = tuple(dict.fromkeys(name for form in forms for name in members(form)))
        joined = _joined([members(form).get(common[0], {}) for form in forms])
        place = f"{violation.pointer}/{escape(common[0])}"
        return proposed(SchemaViolation(place, "required", joined, siblings=known), request, group)
    if not all(lacking):
        return None
    if (renamed := names.in_one_form(violation, forms, request)) is not None:
        return renamed
    if len(moves := _one_level_away(violation, forms, lacking, request)) == 1:
        return Proposal(moves)
    questions: list[Suggestion] = []
    kept = [-len(members(form).keys() & violation.value.keys()) for form in forms]
    for number in sorted(range(len(forms)), key=lambda one: (kept[one], len(lacking[one])))[:_MOST_FORMS]:
        declared = {name: trim_schema(members(forms[number]).get(name, {})) for name in lacking[number]}
        places = [(f"{violation.pointer}/{escape(name)}", schema) for name, schema in declared.items()]
        message = "Give what is missing, if this is the form that is meant."
        questions += ask(violation, request, message, places=places).suggestions
    return options(questions, group)


def _one_level_away(
    violation: SchemaViolation, forms: Sequence[Schema], lacking: Sequence[Sequence[str]], request: Request
) -> list[Suggestion]:
    """Return the moves of what no form declares into the one member that a form lacks."""
    declared = tuple(dict.fromkeys(name for form in forms for name in members(form)))
    found: list[Suggestion] = []
    for form, (name, *more) in zip(forms, lacking, strict=True):
        place, schema = f"{violation.pointer}/{escape(name)}", members(form).get(name, {})
        missing = SchemaViolation(place, "required", schema, siblings=declared)
        moved = None if more else levels.wrapped(missing, request)
        found += [] if moved is None else [moved]
    return found


def _lacking(form: Schema, value: Mapping[str, Json]) -> list[str]:
    required = form.get("required")
    return [str(name) for name in required if name not in value] if isinstance(required, list) else []


def _joined(schemas: Sequence[Schema]) -> Schema:
    """Return one schema for a member that several forms describe: together their values, or the first one's schema."""
    values = [value for schema in schemas for value in choices(schema) if not isinstance(value, list | dict)]
    if all(choices(schema) for schema in schemas):
        return {"enum": list(dict.fromkeys(values))}
    return schemas[0] if all(schema == schemas[0] for schema in schemas) else {}
