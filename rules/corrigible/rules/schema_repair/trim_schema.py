"""A schema cut down to the constraints that help the user to give a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from corrigible.schema.exchange import Json

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
