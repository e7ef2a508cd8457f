"""Reading a JSON Schema: its types, its closed list of values, the schemas beside and inside it; values with its types.

Form bodies, queries, paths and headers carry only text: `read` gives them the types of their schemas.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.budget import spend
from corrigible.rules.safety import spelling
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

Schema = Mapping[str, Json]

ALTERNATIVES: Final = ("anyOf", "oneOf")
_BESIDE: Final = ("allOf", *ALTERNATIVES)
_LONGEST_CHAIN: Final = 32


SELECTS: Final = "x-selects"
"""In a schema of a closed list: each of its values belongs to another form of the object around it."""


def types(schema: Schema) -> tuple[str, ...]:
    """Return the types a schema names, none where it names none."""
    kind = schema.get("type")
    return (kind,) if isinstance(kind, str) else tuple(kind) if isinstance(kind, list | tuple) else ()


def all_types(schema: Json, root: Schema) -> set[str]:
    """Return the types that a schema, what it refers to and its alternatives name."""
    return {kind for part in parts(schema, root) for kind in types(part)}


def choices(schema: Schema) -> tuple[Json, ...]:
    """Return the closed list of values that a schema allows, empty where it has none."""
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return tuple(listed) if isinstance(listed, list) else ()


def members(schema: Json) -> Mapping[str, Schema]:
    """Return the members that an object declares, by name: what is no schema says nothing of its member."""
    declared = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(declared, Mapping):
        return {}
    return {str(name): inner if isinstance(inner, Mapping) else {} for name, inner in declared.items()}


def kind_of(value: Json) -> str:
    """Return the type of a value, empty for what is none of JSON's."""
    return _KINDS.get(type(value)) or ("object" if isinstance(value, Mapping) else "")


_KINDS: Final = {
    **{type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"},
}


def parts(schema: Json, root: Schema, *, alternatives: bool = True, seen: set[int] | None = None) -> Iterator[Schema]:
    """Yield a schema and all that hold beside it: what it refers to, all of `allOf`, each alternative.

    `seen` are those that were yielded before, by their ids; it is added to.
    """
    open_ = deque([schema])
    if seen is None:
        seen = set()
    while open_:
        here = open_.popleft()
        if not isinstance(here, dict) or id(here) in seen:
            continue
        seen.add(id(here))
        spend()
        if "$ref" in here:
            open_.appendleft(root.get("$defs", {}).get(str(here["$ref"]).rpartition("/")[2]))
        yield here
        for key in _BESIDE if alternatives else _BESIDE[:1]:
            if key in here:
                open_ += here[key] or ()


def member(schemas: Sequence[Json], name: str, root: Schema) -> list[Json]:
    """Return the schemas of a member or an element of what some schemas describe."""
    # Alternatives lead to the same schemas: each of them once, or a filter of filters doubles them level by level.
    members: dict[int, Json] = {}
    seen: set[int] = set()
    for schema in schemas:
        for part in parts(schema, root, seen=seen):
            inside = part.get("properties", {})
            inner: list[Json] = []
            if name in inside:
                inner.append(inside[name])
            elif isinstance(part.get("additionalProperties"), dict):
                inner.append(part["additionalProperties"])
            if name.isdecimal() and isinstance(part.get("items"), dict):
                inner.append(part["items"])
            for one in inner:
                members.setdefault(id(_target(one, root)), one)
    return list(members.values())


def _target(schema: Json, root: Schema) -> Json:
    """Return what a schema that is only a reference refers to, else the schema."""
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(schema, dict) or len(schema) != 1 or "$ref" not in schema:
            break
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2])
    return schema


def literal_pattern(text: str) -> str:
    """Return the pattern of a text itself, in ECMA-262: its flag `u` allows to escape no other signs."""
    return _SPECIAL.sub(r"\\\g<0>", text)


_SPECIAL: Final = re.compile(r"[.*+?^${}()|\[\]\\]")


# What a question shows of a schema


_KEPT: Final = (
    *("type", "enum", "const", "default", "format", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "required"),
    "contentMediaType",
)
_IMPLIED_BY_VALUES: Final = frozenset({"format", "pattern", "minLength", "maxLength"})
"""What a list of values makes needless."""
_DEEPEST: Final = 2
_MOST_VALUES: Final = 40
_MOST_MEMBERS: Final = 12


def trim_schema(schema: Mapping[str, Json], depth: int = 0) -> dict[str, Json]:
    """Return the assertions of a schema without its prose, long lists and depths cut."""
    out: dict[str, Any] = {name: schema[name] for name in _KEPT if name in schema}
    if isinstance(listed := out.get("enum"), list) and len(listed) > _MOST_VALUES:
        del out["enum"]
    if "enum" in out:
        out = {name: value for name, value in out.items() if name not in _IMPLIED_BY_VALUES}
    if isinstance(pattern := out.get("pattern"), str) and len(pattern) > 200:
        del out["pattern"]
    if depth == _DEEPEST:
        return out
    for name in ("items", "contentSchema"):
        if isinstance(inner := schema.get(name), Mapping):
            out[name] = trim_schema(inner, depth + 1)
    for name in ("anyOf", "oneOf"):
        parts = schema.get(name)
        if isinstance(parts, list) and 0 < len(parts) <= _MOST_MEMBERS:
            out[name] = [trim_schema(part, depth + 1) for part in parts if isinstance(part, Mapping)]
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties:
        required = [name for name in out.get("required") or () if name in properties]
        names = dict.fromkeys([*required, *properties])
        out["properties"] = {
            name: trim_schema(properties[name], depth + 1) if isinstance(properties[name], Mapping) else {}
            for name in list(names)[:_MOST_MEMBERS]
        }
    return out


# Texts on the wire


_SCALARS: Final = ("integer", "number", "boolean", "null")
_DEEPEST_VALUE: Final = 30


def read(value: Json, schemas: Sequence[Json], root: Schema, *, single: bool = True, depth: int = 0) -> Json:
    """Return a value with its texts read as the types of the schemas; a text that cannot be read stays text.

    `single`: one text in the place of an array is an array of one. A caller may hold a number or a boolean that
    becomes text on the wire.
    """
    spend()
    if depth > _DEEPEST_VALUE:
        return value
    if isinstance(value, str):
        return _scalar(value, schemas, root, single=single, depth=depth)
    if isinstance(value, bool | int | float):
        scalar = _scalar(scalar_text(value), schemas, root, single=single, depth=depth)
        is_kept = scalar == value or (isinstance(scalar, str) and "string" not in _kinds(_all_parts(schemas, root)))
        return value if is_kept else scalar
    if isinstance(value, Mapping):
        return {
            name: read(inner, member(schemas, name, root), root, single=single, depth=depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        inside = member(schemas, "0", root)
        return [read(inner, inside, root, single=single, depth=depth + 1) for inner in value]
    return value


def takes_any_text(schemas: Sequence[Json], root: Schema) -> bool:
    """Whether every text stays as it is where these schemas hold."""
    return any(map(_is_any_text, _all_parts(schemas, root)))


def _is_any_text(schema: Schema) -> bool:
    return "string" in types(schema) and "pattern" not in schema and not choices(schema)


def _scalar(text: str, schemas: Sequence[Json], root: Schema, *, single: bool, depth: int) -> Json:
    held = _all_parts(schemas, root)
    if any(text in choices(part) or _is_any_text(part) for part in held):
        return text
    kinds = _kinds(held)
    for kind in _SCALARS:
        if kind in kinds and (value := spelling.typed(text, kind)) != text:
            return value
    if single and "array" in kinds and kinds <= {"array", "null"}:
        return [read(text, member(schemas, "0", root), root, depth=depth + 1)]
    return text


def _all_parts(schemas: Sequence[Json], root: Schema) -> list[Schema]:
    return [part for schema in schemas for part in parts(schema, root)]


def _kinds(held: Sequence[Schema]) -> set[str]:
    """Return the types that schemas name, of a closed list without a type those of its values."""
    return {kind for part in held for kind in types(part) or map(kind_of, choices(part))}
