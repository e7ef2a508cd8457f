"""Finding one's way in a schema: what holds at a place, which members are declared there, a small schema of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from corrigible.rules.schema_repair.json_schema import ALTERNATIVES, SHAPED, TOLD, Schema, member, parts
from corrigible.rules.schema_repair.local_time import LOCAL
from corrigible.rules.schema_repair.told_in_prose import HELD, MEANT
from corrigible.rules.schema_repair.told_names import OF_LISTS, TOLD_NAMES
from corrigible.schema.exchange import Json

_COPIED: Final = (
    *("type", "enum", "const", "format", "pattern", "default", "readOnly", "uniqueItems", "required", SHAPED, TOLD),
    *(MEANT, HELD, LOCAL, TOLD_NAMES, OF_LISTS),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
)
_SHALLOW: Final = 2


def target(schema: Schema, root: Schema) -> Schema:
    """Return a schema, or what it refers to; through several references."""
    for _ in range(32):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            break
        definition = root.get("$defs", {}).get(reference.rpartition("/")[2])
        if not isinstance(definition, dict):
            return {}
        rest = {key: value for key, value in schema.items() if key not in ("$ref", "$defs")}
        schema = {**definition, **rest} if rest else definition
    return schema


def at(root: Schema, path: Sequence[str | int]) -> list[Json]:
    """Return the schemas that hold at a place of an instance, none where it is undeclared."""
    nodes: list[Json] = [root]
    for name in path:
        nodes = member(nodes, str(name), root)
    return nodes


def declared(schemas: Sequence[Json], root: Schema) -> dict[str, Json]:
    """Return the members that some schemas declare, the first to declare one decides."""
    members: dict[str, Json] = {}
    for schema in schemas:
        for part in parts(schema, root):
            for name, inner in part.get("properties", {}).items():
                members.setdefault(name, inner)
    return members


def is_unset(schema: Json) -> bool:
    """Whether an alternative only stands for clearing a value: null, or an empty text."""
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "null" or schema.get("enum") in ([""], [None], ["", None]) or schema.get("const") == ""


def small(schema: Json, root: Schema, depth: int = _SHALLOW) -> dict[str, Json]:
    """Return a self-contained schema with the same constraints down to a depth, and fewer below."""
    if not isinstance(schema, dict):
        return {} if schema is not False else {"not": {}}
    out: dict[str, Json] = {}
    for part in parts(schema, root, alternatives=False):
        out = _merged(out, _own_constraints(part, root, depth))
    if depth <= 0:
        out.pop("required", None)
    return out


def _own_constraints(schema: Schema, root: Schema, depth: int) -> dict[str, Json]:
    """Return a schema's own constraints without those it refers to."""
    out: dict[str, Any] = {key: schema[key] for key in _COPIED if key in schema}
    if depth <= 0:
        return out
    for key in ALTERNATIVES:
        if key in schema:
            # Cut forms do not exclude each other any more.
            out["anyOf" if depth <= 1 else key] = [small(inner, root, depth - 1) for inner in schema[key]]
    if isinstance(schema.get("items"), dict):
        out["items"] = small(schema["items"], root, depth - 1)
    if "properties" in schema:
        out["properties"] = {name: small(inner, root, depth - 1) for name, inner in schema["properties"].items()}
    if "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        out["additionalProperties"] = small(inner, root, depth - 1) if isinstance(inner, dict) else inner
    return out


def _merged(schema: dict[str, Json], other: Mapping[str, Json]) -> dict[str, Json]:
    out = {**schema, **other}
    if "properties" in schema and "properties" in other:
        out["properties"] = {**schema["properties"], **other["properties"]}
    if "required" in schema and "required" in other:
        out["required"] = list(dict.fromkeys([*schema["required"], *other["required"]]))
    return out
