"""Reading a JSON Schema: its types, its closed list of values, the schemas beside and inside it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

Schema = Mapping[str, Json]

ALTERNATIVES: Final = ("anyOf", "oneOf")
_BESIDE: Final = ("allOf", *ALTERNATIVES)
_LONGEST_CHAIN: Final = 32


SELECTS: Final = "x-selects"
"""In a schema of a closed list: each of its values belongs to another form of the object around it."""

SHAPED: Final = "x-shaped"
"""Whether the examples of a text show that it is no number as text: `0 5 * * *`, `a@example.com`, `10:30`."""
TOLD: Final = "x-told"
"""In a schema of a text without a closed list: values that its examples and its description have."""


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
