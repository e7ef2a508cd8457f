"""Texts on the wire read as the types of a schema: form bodies, queries, paths and headers carry only text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.safety import spelling
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from .json_schema import Schema, choices, kind_of, member, parts, types

_SCALARS: Final = ("integer", "number", "boolean", "null")
_DEEPEST: Final = 30


def read(value: Json, schemas: Sequence[Json], root: Schema, *, single: bool = True, depth: int = 0) -> Json:
    """Return a value with its texts read as the types of the schemas; a text that cannot be read stays text.

    `single`: one text in the place of an array is an array of one. A caller may hold a number or a boolean that
    becomes text on the wire.
    """
    spend()
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        return _scalar(value, schemas, root, single=single, depth=depth)
    if isinstance(value, bool | int | float):
        scalar = _scalar(scalar_text(value), schemas, root, single=single, depth=depth)
        return (
            value if scalar == value or (isinstance(scalar, str) and "string" not in _kinds(schemas, root)) else scalar
        )
    if isinstance(value, Mapping):
        return {
            name: read(inner, member(schemas, name, root), root, single=single, depth=depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        inner_schemas = member(schemas, "0", root)
        return [read(inner, inner_schemas, root, single=single, depth=depth + 1) for inner in value]
    return value


def takes_any_text(schemas: Sequence[Json], root: Schema) -> bool:
    """Whether every text stays as it is where these schemas hold."""
    return any(_is_any_text(part) for schema in schemas for part in parts(schema, root))


def _is_any_text(schema: Schema) -> bool:
    return "string" in types(schema) and "pattern" not in schema and not choices(schema)


def _scalar(text: str, schemas: Sequence[Json], root: Schema, *, single: bool, depth: int) -> Json:
    kinds: set[str] = set()
    for schema in schemas:
        for part in parts(schema, root):
            listed, named = choices(part), types(part)
            if text in listed or _is_any_text(part):
                return text
            kinds.update(named or map(kind_of, listed))
    for kind in _SCALARS:
        if kind in kinds and (value := spelling.typed(text, kind)) != text:
            return value
    if single and "array" in kinds and not kinds & {"string", "integer", "number", "boolean", "object"}:
        return [read(text, member(schemas, "0", root), root, depth=depth + 1)]
    return text


def _kinds(schemas: Sequence[Json], root: Schema) -> set[str]:
    """Return the types that schemas name, of a closed list without a type those of its values."""
    return {
        kind
        for schema in schemas
        for part in parts(schema, root)
        for kind in types(part) or map(kind_of, choices(part))
    }
