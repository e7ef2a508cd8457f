"""Texts on the wire read as what a schema asks for: form bodies, queries, paths and headers know only text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.spelling import typed
from corrigible.schema.exchange import Json

from .place import Schema, member, parts

_SCALARS: Final = ("integer", "number", "boolean", "null")
_DEEPEST: Final = 30


def read(value: Json, schemas: Sequence[Json], root: Schema, *, single: bool = True, depth: int = 0) -> Json:
    """Return a value with its texts read as what the schemas ask for; what cannot be read stays text.

    `single`: one text where an array is asked for is an array of one.
    """
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        return _scalar(value, schemas, root, single=single, depth=depth)
    if isinstance(value, Mapping):
        return {
            name: read(inner, member(schemas, name, root), root, single=single, depth=depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        inner_schemas = member(schemas, "0", root)
        return [read(inner, inner_schemas, root, single=single, depth=depth + 1) for inner in value]
    return value


def _scalar(text: str, schemas: Sequence[Json], root: Schema, *, single: bool, depth: int) -> Json:
    kinds: set[str] = set()
    for schema in schemas:
        for part in parts(schema, root):
            said = part.get("type")
            mine = {said} if isinstance(said, str) else set(said or ())
            listed = part.get("enum", [part["const"]] if "const" in part else None)
            if text in (listed or ()) or ("string" in mine and listed is None and "pattern" not in part):
                return text
            if not mine and listed is not None:
                mine = {_kind(one) for one in listed}
            kinds |= mine
    for kind in _SCALARS:
        if kind in kinds and (kind != "null" or text == "") and (value := typed(text, kind)) != text:
            return value
    if single and "array" in kinds and not kinds & {"string", "integer", "number", "boolean", "object"}:
        return [read(text, member(schemas, "0", root), root, depth=depth + 1)]
    return text


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            return "array" if isinstance(value, list) else "object"
