"""Finding one's way in a schema: what holds at a place, which members are declared there, a small schema of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.budget import spend
from corrigible.rules.schema_repair.json_schema import ALTERNATIVES, Schema, member, parts
from corrigible.rules.schema_repair.values import LOCAL, SHAPED
from corrigible.schema.exchange import Json

_COPIED: Final = (
    *("type", "enum", "const", "format", "pattern", "default", "readOnly", "uniqueItems", "required", SHAPED),
    LOCAL,
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
)
_SHALLOW: Final = 2
_NAMES_A_STEP: Final = 8


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
            properties = part.get("properties", {})
            spend(len(properties) // _NAMES_A_STEP)
            for name, inner in properties.items():
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


WIDEST: Final = 10_000
"""Schemas that hold at one place of an instance, all of `allOf` and the alternatives written out."""
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")


class Widths:
    """Counts the schemas that hold at one place, references resolved; each schema is counted once."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[int, int] = {}

    def of(self, schema: Json) -> int:
        """Return the number. Raises ValueError above `WIDEST`."""
        if not isinstance(schema, Mapping):
            return 1
        if id(schema) in self._known:
            return self._known[id(schema)]  # of one that leads back to itself: 0, it is counted already
        self._known[id(schema)] = 0
        count = 1
        for inner in _in_place(schema, self._root):
            count += self.of(inner)
            if count > WIDEST:
                raise ValueError(f"more than {WIDEST:,} schemas hold at one place, references resolved")
        self._known[id(schema)] = count
        return count


def _in_place(schema: Mapping[str, Json], root: Schema) -> Iterator[Json]:
    """Yield the schemas that hold at the place of a schema beside it."""
    if "$ref" in schema:
        yield root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2])
    for key in _IN_PLACE:
        inner = schema.get(key)
        yield from inner if isinstance(inner, list) else () if inner is None else (inner,)
