"""The `spec` of expressions: names, types, enumerations and limits of what an operation's request may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from corrigible.adapters.openapi.request.operation_checks import OperationChecker
from corrigible.adapters.openapi.request.parameters import JSON
from corrigible.adapters.openapi.schema.schema_path import declared, is_unset, target
from corrigible.rules.schema_repair.inside_text import text_schema
from corrigible.rules.schema_repair.json_schema import Schema, parts
from corrigible.schema.exchange import Json

_KEPT: Final = (
    *("type", "enum", "const", "format", "pattern", "default", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)
_DEPTH: Final = 3
_MOST_STEPS: Final = 8


def facts(checks: OperationChecker) -> dict[str, Json]:
    """Return `{required, properties}` of the body; of the query where there is no body."""
    schema, _ = checks.body_schema()
    if schema is not None:
        root = checks.root(schema)
        body = _object(root, root, _DEPTH)
        if body.get("properties"):
            return {"required": body.get("required", []), "properties": body["properties"]}
    if not checks.query:
        return {}
    root = checks.root({})
    return {
        "required": [parameter["name"] for parameter in checks.query if parameter.get("required")],
        "properties": {parameter["name"]: _of_parameter(parameter, root) for parameter in checks.query},
    }


def member_names(checks: OperationChecker) -> list[str]:
    """Return the names of the properties that `facts` has."""
    schema, _ = checks.body_schema()
    members = declared([checks.root(schema)], checks.root(schema)) if schema is not None else {}
    return list(members) or [parameter["name"] for parameter in checks.query]


def _of_parameter(parameter: Mapping[str, Any], root: Schema) -> dict[str, Json]:
    schema = _schema(parameter["schema"], root, _DEPTH - 1)
    return text_schema(schema) if parameter.get(JSON) else schema


def _object(schema: Schema, root: Schema, depth: int) -> dict[str, Json]:
    out: dict[str, Any] = {"type": "object"}
    required = [name for part in parts(schema, root, alternatives=False) for name in part.get("required", ())]
    if required:
        out["required"] = sorted(set(required))
    members = declared([schema], root) if depth else {}
    if members:
        out["properties"] = {name: _schema(inner, root, depth - 1) for name, inner in members.items()}
    return out


def _schema(schema: Json, root: Schema, depth: int, inside: int = 0) -> dict[str, Json]:
    """Return the facts of a schema. Of alternatives the first is taken, with the types of all.

    `inside` counts steps into alternatives and elements: they are no deeper, but may lead back to where they began.
    """
    if not isinstance(schema, Mapping) or inside > _MOST_STEPS:
        return {}
    here = target(schema, root)
    alternatives = [target(inner, root) for key in ("anyOf", "oneOf") for inner in here.get(key) or ()]
    real = [inner for inner in alternatives if not is_unset(inner)]
    if real and "properties" not in here:
        types = list(dict.fromkeys(kind for inner in real for kind in _types(inner, root)))
        first = _schema(real[0], root, depth, inside + 1)
        return first if len(types) < 2 else {**first, "type": types}
    if any("properties" in part for part in parts(here, root)) or _types(here, root) == ["object"]:
        return _object(here, root, depth)
    out: dict[str, Json] = {}
    for part in parts(here, root, alternatives=False):
        out |= {key: part[key] for key in _KEPT if key in part and key not in out}
    if "enum" in out:
        out["enum"] = [value for value in out["enum"] if value not in ("", None)]
    if isinstance(out.get("type"), list):
        kinds = [kind for kind in out["type"] if kind != "null"]
        out["type"] = kinds[0] if len(kinds) == 1 else kinds
    if "items" in here and depth > 0:
        out["items"] = _schema(here["items"], root, depth, inside + 1)
    return out


def _types(schema: Schema, root: Schema) -> list[str]:
    for part in parts(schema, root, alternatives=False):
        kinds = part.get("type")
        if kinds is not None:
            return [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        if "properties" in part:
            return ["object"]
    return []
