"""What a JSON Schema says at a glance: its types, its closed list of values, what holds beside and inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.schema.exchange import Json

Schema = Mapping[str, Json]

ALTERNATIVES: Final = ("anyOf", "oneOf")


def types(schema: Schema) -> tuple[str, ...]:
    """Return the types a schema allows, none where it does not say."""
    said = schema.get("type")
    return (said,) if isinstance(said, str) else tuple(said) if isinstance(said, list | tuple) else ()


def choices(schema: Schema) -> tuple[Json, ...]:
    """Return the closed list of values that a schema allows, empty where it has none."""
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return tuple(listed) if isinstance(listed, list) else ()


def kind_of(value: Json) -> str:
    """Return the type of a value, empty for what is none of JSON's."""
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
        case list():
            return "array"
        case Mapping():
            return "object"
    return ""


def parts(schema: Json, root: Schema, *, alternatives: bool = True) -> Iterator[Schema]:
    """Yield a schema and all that hold beside it: what it refers to, all of `allOf`, each alternative."""
    open_, seen = [schema], set[int]()
    while open_:
        here = open_.pop(0)
        if not isinstance(here, Mapping) or id(here) in seen:
            continue
        seen.add(id(here))
        if "$ref" in here:
            open_.insert(0, root.get("$defs", {}).get(str(here["$ref"]).rpartition("/")[2]))
        yield here
        for key in ("allOf", *ALTERNATIVES) if alternatives else ("allOf",):
            open_ += here.get(key) or ()


def member(schemas: Sequence[Json], name: str, root: Schema) -> list[Json]:
    """Return the schemas of a member or an element of what some schemas describe."""
    found: list[Json] = []
    for schema in schemas:
        for part in parts(schema, root):
            inside = part.get("properties", {})
            if name in inside:
                found.append(inside[name])
            elif isinstance(part.get("additionalProperties"), Mapping):
                found.append(part["additionalProperties"])
            if name.isdecimal() and isinstance(part.get("items"), Mapping):
                found.append(part["items"])
    return found
