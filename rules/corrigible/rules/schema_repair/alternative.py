"""Objects that have none of several forms: ask for the member that all require, or offer one choice per form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import MISSING, escape
from corrigible.schema.exchange import Json, Request

from . import nesting, renaming
from .json_schema import Schema, choices
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, options
from .trim_schema import trim_schema

_MOST: Final = 3


def required_by_all(violation: SchemaViolation) -> SchemaViolation | None:
    """Return the member that every form requires and the object lacks, as a violation of its own."""
    forms = _forms(violation)
    lacking = [_lacking(form, violation.value) for form in forms]
    common = [name for name in (lacking[0] if lacking else ()) if all(name in others for others in lacking)]
    if not common:
        return None
    name = common[0]
    declared = dict.fromkeys(str(name) for form in forms for name in _properties(form))
    schema = _joined([_properties(form).get(name) for form in forms])
    return SchemaViolation(f"{violation.pointer}/{escape(name)}", "required", schema, MISSING, tuple(declared))


def chosen(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Give a misspelt member its name, or ask for what one of the forms lacks.

    None where some form lacks nothing or there is no object.
    """
    forms = _forms(violation)
    lacking = [_lacking(form, violation.value) for form in forms]
    if not forms or not all(lacking):
        return None
    if (renamed := renaming.in_one_form(violation, forms, request)) is not None:
        return renamed
    if (moved := _one_level_away(violation, forms, lacking, request)) is not None:
        return moved
    questions: list[Suggestion] = []
    kept = [-len(_properties(form).keys() & violation.value.keys()) for form in forms]
    order = sorted(range(len(forms)), key=lambda number: (kept[number], len(lacking[number])))
    for form, names in [(forms[number], lacking[number]) for number in order[:_MOST]]:
        places = [
            (f"{violation.pointer}/{escape(name)}", trim_schema(_schema(_properties(form).get(name)))) for name in names
        ]
        questions += ask(
            violation, request, "Give what is missing, if this is the form that is meant.", places=places
        ).suggestions
    return options(questions, group)


def _one_level_away(
    violation: SchemaViolation, forms: Sequence[Schema], lacking: Sequence[Sequence[str]], request: Request
) -> Proposal | None:
    """Return the only move of what no form declares into the one member that a form lacks."""
    declared = tuple(dict.fromkeys(str(name) for form in forms for name in _properties(form)))
    moves: list[Suggestion] = []
    for form, names in zip(forms, lacking, strict=True):
        place = f"{violation.pointer}/{escape(names[0])}"
        missing = SchemaViolation(place, "required", _schema(_properties(form).get(names[0])), MISSING, declared)
        moved = nesting.wrapped(missing, request) if len(names) == 1 else None
        moves += [moved] if moved is not None else []
    return Proposal(moves) if len(moves) == 1 else None


def _forms(violation: SchemaViolation) -> list[Schema]:
    listed = violation.schema.get(violation.keyword)
    if not isinstance(violation.value, Mapping) or not isinstance(listed, list):
        return []
    return [form for form in listed if isinstance(form, Mapping)]


def _lacking(form: Schema, value: Json) -> list[str]:
    required = form.get("required")
    return [str(name) for name in required if name not in value] if isinstance(required, list) else []


def _properties(form: Schema) -> Schema:
    properties = form.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _schema(value: Json) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _joined(schemas: Sequence[Json]) -> Schema:
    """Return one schema for a member that several forms describe: together their values, or the first one's schema."""
    known_schemas = [_schema(schema) for schema in schemas]
    values = [value for schema in known_schemas for value in choices(schema) if not isinstance(value, list | dict)]
    if all(choices(schema) for schema in known_schemas):
        return {"enum": list(dict.fromkeys(values))}
    return known_schemas[0] if all(schema == known_schemas[0] for schema in known_schemas) else {}
