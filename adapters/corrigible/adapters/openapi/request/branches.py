"""Which of several alternatives a value is likely meant to satisfy: `oneOf`, `anyOf`.

Knows: schemas, the validator's errors for each alternative. Does not know: requests, what is said about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jsonschema_rs

from corrigible.adapters.openapi.schema.schema_path import declared, is_unset, small, target
from corrigible.rules.schema_repair.json_schema import Schema
from corrigible.schema.exchange import Json

_MOST_CANDIDATES: Final = 6
"""Members that alternatives require one of: more are no choice to offer."""


def candidate_branches(schema: Json, branches: Sequence[Json], instance: Json, root: Schema) -> list[int]:
    """Return the alternatives in question: the one that a discriminating member names, else all that set a value."""
    chosen = _named_branch(schema, instance)
    if chosen is not None:
        return [chosen]
    left = [index for index in range(len(branches)) if not is_unset(target(branches[index], root))]
    left = left or list(range(len(branches)))
    if not isinstance(instance, Mapping):
        return left
    members = {index: declared([branches[index]], root) for index in left}
    for name, value in instance.items():
        if isinstance(value, Mapping | list) or not any(name in inner for inner in members.values()):
            continue
        allowed = {index: closed_list(members[index].get(name), root) for index in left}
        agreeing = [index for index, listed in allowed.items() if listed is not None and value in listed]
        if agreeing and any(listed is not None and value not in listed for listed in allowed.values()):
            left = [index for index in left if allowed[index] is None or index in agreeing]
    return left


def _named_branch(schema: Json, instance: Json) -> int | None:
    discriminator = schema.get("discriminator") if isinstance(schema, Mapping) else None
    if discriminator is None or not isinstance(instance, Mapping):
        return None
    value = instance.get(discriminator["propertyName"])
    branch = discriminator["branches"].get(value) if isinstance(value, str) else None
    return branch if isinstance(branch, int) else None


def closed_list(schema: Json, root: Schema) -> list[Json] | None:
    """Return the closed list of values of a member, None where it has none."""
    if not isinstance(schema, Mapping):
        return None
    resolved = target(schema, root)
    listed = [resolved["const"]] if "const" in resolved else resolved.get("enum")
    return listed if isinstance(listed, list) else None


def distance(errors: Sequence[jsonschema_rs.ValidationError], depth: int) -> tuple[bool, int]:
    """Return how far an alternative is: another type altogether is farthest, then the number of members at fault."""
    another, faults = False, set[object]()
    for error in errors:
        kind: Any = error.kind
        inside = error.instance_path[depth:]
        if inside:
            faults.add(inside[0])
        elif kind.name in ("additionalProperties", "unevaluatedProperties"):
            faults.update(kind.unexpected)
        else:
            another = another or kind.name == "type"
            faults.add(kind.property if kind.name == "required" else (kind.name,))
    return another, len(faults)


def is_choice_of_members(
    contexts: Sequence[Sequence[jsonschema_rs.ValidationError]],
    alternatives: Sequence[Schema],
    error: jsonschema_rs.ValidationError,
) -> bool:
    """Whether alternatives only require members of an object that has none: then fewer members are not nearer."""
    for inner in (inner for context in contexts for inner in context):
        kind: Any = inner.kind
        if kind.name != "required" or inner.instance_path != error.instance_path:
            return False
    required = {str(name) for alternative in alternatives for name in alternative.get("required", ())}
    return (
        isinstance(error.instance, Mapping)
        and required.isdisjoint(error.instance)
        and len(required) <= _MOST_CANDIDATES
    )


def complete(alternative: dict[str, Json], names: Mapping[str, Json], root: Schema) -> dict[str, Json]:
    """Add the schemas of members that an alternative requires and the schema around it declares."""
    needed = [name for name in alternative.get("required", ()) if name in names]
    if not needed:
        return alternative
    members = {name: small(names[name], root, 1) for name in needed}
    return {**alternative, "properties": {**members, **alternative.get("properties", {})}}
