"""Finding one's way in a schema: what holds at a place, which members are declared there, a small schema of it.

Alternatives of a schema that lead back to themselves (And, Or, Leaf), rewritten so that one of them is chosen first.
A validator that tells why none of them fits walks into each: the work doubles with every level of a filter of filters.
Here the alternative is taken that can only be meant by what is plain to see (its type, the members it requires, closed
values of members), and only that one is walked into. Where several may be meant nothing is said: never more is refused
than the schema refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.budget import spend
from corrigible.rules.schema_repair.json_schema import ALTERNATIVES, TOLD, Schema, kind_of, member, parts
from corrigible.rules.schema_repair.values import LOCAL, SHAPED
from corrigible.schema.exchange import Json

_COPIED: Final = (
    *("type", "enum", "const", "format", "pattern", "default", "readOnly", "uniqueItems", "required", SHAPED, TOLD),
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
CHOSEN: Final = "x-chosen"
"""Marks a schema that applies only where its alternative is chosen."""
_MOST_ALTERNATIVES: Final = 32
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")


def chosen_first(schema: Schema) -> Schema:
    """Return the schema with its recursive alternatives rewritten, the same object where it has none.

    Raises ValueError where so many schemas hold at one place that judging one value has no end.
    """
    definitions: Mapping[str, Json] = schema.get("$defs", {})
    widths = Widths(schema)
    try:
        for one in (schema, *definitions.values()):
            widths.of(one)
    except RecursionError:
        raise ValueError("references are nested too deep") from None
    recursive = _recursive(definitions)
    if not recursive:
        return schema
    made = {
        name: _rewritten(inner, schema, recursive) if name in recursive else inner
        for name, inner in definitions.items()
    }
    if all(made[name] is definitions[name] for name in made):
        return schema
    return {**schema, "$defs": made}


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


def _recursive(definitions: Mapping[str, Json]) -> set[str]:
    """Return the definitions that lead back to themselves."""
    direct = {name: set(_references(inner)) & definitions.keys() for name, inner in definitions.items()}
    recursive: set[str] = set()
    for name in definitions:
        pending, seen = list(direct[name]), set[str]()
        while pending:
            other = pending.pop()
            if other == name:
                recursive.add(name)
                break
            if other not in seen:
                seen.add(other)
                pending += direct[other]
    return recursive


def _references(value: Json) -> Iterator[str]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"].rpartition("/")[2]
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _rewritten(schema: Json, root: Schema, recursive: set[str]) -> Json:
    if isinstance(schema, list):
        rewritten = [_rewritten(inner, root, recursive) for inner in schema]
        return (
            schema if all(new_item is other for new_item, other in zip(rewritten, schema, strict=True)) else rewritten
        )
    if not isinstance(schema, Mapping):
        return schema
    out = {
        key: inner if key in ("enum", "const", "default") else _rewritten(inner, root, recursive)
        for key, inner in schema.items()
    }
    changed = any(out[key] is not schema[key] for key in out)
    for key in ALTERNATIVES:
        branches = out.get(key)
        if isinstance(branches, list) and 1 < len(branches) <= _MOST_ALTERNATIVES and _returns(branches, recursive):
            del out[key]
            chosen = _choice(schema[key], branches, root, schema.get("discriminator"))
            out["allOf"] = [*out.get("allOf", ()), *chosen]
            changed = True
    return out if changed else schema


def _returns(branches: Sequence[Json], recursive: set[str]) -> bool:
    return not recursive.isdisjoint(_references(list(branches)))


def _choice(
    alternatives: Sequence[Json], branches: Sequence[Json], root: Schema, discriminator: Json
) -> list[dict[str, Json]]:
    """Return the schemas of a choice: one alternative at least may be meant, and where only one may be, that one."""
    seen = [_cheap_constraints(alternative, root) for alternative in alternatives]
    closed = _closed_member(seen, discriminator)
    out: list[dict[str, Json]] = []
    if closed is not None:
        name, values = closed
        listed = [value for value_list in values for value in value_list]
        kind = {"type": "object"} if all(alternative.get("type") == "object" for alternative in seen) else {}
        out.append({**kind, "required": [name], "properties": {name: {"enum": listed}}})
        conditions = [{"required": [name], "properties": {name: {"enum": value}}} for value in values]
        return [
            *out,
            *(
                {CHOSEN: True, "if": condition, "then": then}
                for condition, then in zip(conditions, branches, strict=True)
            ),
        ]
    # The types of members distinguish alternatives if exactly one has them right; else the types are what is wrong.
    typed = [_cheap_constraints(alternative, root, typed=True) for alternative in alternatives]
    out.append({"anyOf": seen})
    for index, branch in enumerate(branches):
        alone = [_alone(typed, index), {"allOf": [{"not": {"anyOf": typed}}, _alone(seen, index)]}]
        out.append({CHOSEN: True, "if": {"anyOf": alone}, "then": branch})
    return out


def _alone(alternatives: Sequence[Json], index: int) -> dict[str, Json]:
    """Return what holds where one of several holds and no other."""
    return {"allOf": [alternatives[index], {"not": {"anyOf": [*alternatives[:index], *alternatives[index + 1 :]]}}]}


def _cheap_constraints(schema: Json, root: Schema, *, typed: bool = False) -> dict[str, Json]:
    """Return the constraints of an alternative that exclude it at a glance: a subset of its own."""
    keys = ("const", "enum", "type") if typed else ("const", "enum")
    out: dict[str, Any] = {}
    required: dict[str, None] = {}
    members: dict[str, Json] = {}
    for part in parts(schema, root, alternatives=False):
        if "type" in part:
            out.setdefault("type", part["type"])
        for key in ("const", "enum"):
            if key in part:
                out.setdefault(key, part[key])
        required.update(dict.fromkeys(part.get("required", ())))
        for name, inner in part.get("properties", {}).items():
            if isinstance(inner, Mapping) and name not in members:
                resolved = target(inner, root)
                fields = {key: resolved[key] for key in keys if key in resolved}
                if fields:
                    members[name] = fields
    if required:
        out["required"] = list(required)
    if members:
        out["properties"] = members
    return out


def _closed_member(
    alternatives: Sequence[Mapping[str, Json]], discriminator: Json
) -> tuple[str, list[list[Json]]] | None:
    """Return the member whose value alone names the alternative, and the values that name each."""
    if isinstance(discriminator, Mapping):
        values: list[list[Json]] = [[] for _ in alternatives]
        for value, index in discriminator["branches"].items():
            if index < len(values):
                values[index].append(value)
        if all(values):
            return discriminator["propertyName"], values
    for name in alternatives[0].get("required", ()):
        listed = [_values(alternative, name) for alternative in alternatives]
        texts = [repr((kind_of(value), value)) for values in listed for value in values]
        if all(listed) and len(texts) == len(set(texts)):
            return name, listed
    return None


def _values(schema: Mapping[str, Json], name: str) -> list[Json]:
    if name not in schema.get("required", ()):
        return []
    member = schema.get("properties", {}).get(name, {})
    return [member["const"]] if "const" in member else list(member.get("enum", ()))
