"""Feedback about paths as the caller sends them, where the proxy takes a prefix away from each.

Knows: which members of feedback are paths of requests. Does not know: where prefixes come from. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from corrigible.proxy.core.decision import Annotate
from corrigible.rules.schema_repair.json_schema import literal_pattern
from corrigible.schema.exchange import Json
from corrigible.schema.word import TERMINAL_ACTIONS, BaseAction


def with_prefix(decision: Annotate, prefix: str) -> Annotate:
    """Return the decision with the prefix before each path that the caller would send."""
    feedback = dict(decision.feedback)
    feedback["suggestions"] = [_suggestion(one, prefix) for one in feedback["suggestions"] or ()]
    return decision._replace(feedback=feedback, encoded=orjson.dumps(feedback))


def _suggestion(suggestion: Any, prefix: str) -> Json:
    out = dict(suggestion)
    if isinstance(out.get("patch"), list):
        out["patch"] = [_operation(one, prefix) for one in out["patch"]]
    if isinstance(out.get("steps"), list):
        out["steps"] = [_at_path(one, prefix) for one in out["steps"]]
    if isinstance(out.get("placeholders"), list):
        out["placeholders"] = [_placeholder(one, prefix) for one in out["placeholders"]]
    if isinstance(out.get("parameters"), Mapping) and _tells(out):
        out["parameters"] = _called(_at_path(out["parameters"], prefix), prefix)
    return out


_TELLING: Final = TERMINAL_ACTIONS | {BaseAction.USE_ALTERNATIVE_ENDPOINT}
"""Actions whose parameters tell of requests and results. Those of the others may be members of a body."""


def _tells(suggestion: Mapping[str, Json]) -> bool:
    """Whether a path among the parameters is one of this server's: with an origin it is another's."""
    is_telling = not _TELLING.isdisjoint((suggestion.get("action"), suggestion.get("base_action")))
    return is_telling and "origin" not in (suggestion.get("parameters") or {})


def _called(parameters: Any, prefix: str) -> Json:
    method = parameters.get("method")
    if isinstance(method, str) and (call := _CALL.fullmatch(method)) is not None:
        return {**parameters, "method": f"{call[1]} {prefix}{call[2]}"}
    return dict(parameters)


_CALL: Final = re.compile(r"([A-Z]+) (/.*)", re.DOTALL)


def _operation(operation: Any, prefix: str) -> Json:
    if operation.get("path") == "/path" and isinstance(operation.get("value"), str):
        return {**operation, "value": prefix + operation["value"]}
    return dict(operation)


def _placeholder(placeholder: Any, prefix: str) -> Json:
    schema = placeholder.get("schema")
    if placeholder.get("pointer") != "/path" or not isinstance(schema, Mapping):
        return dict(placeholder)
    schema = dict(schema)
    if isinstance(schema.get("pattern"), str) and schema["pattern"].startswith("^"):
        schema["pattern"] = f"^{literal_pattern(prefix)}{schema['pattern'][1:]}"
    for name in ("enum", "examples"):
        if isinstance(schema.get(name), list):
            schema[name] = [prefix + one if isinstance(one, str) else one for one in schema[name]]
    return {**placeholder, "schema": schema}


def _at_path(document: Any, prefix: str) -> Json:
    path = document.get("path") if isinstance(document, Mapping) else None
    if isinstance(path, str) and path.startswith("/"):
        return {**document, "path": prefix + path}
    return dict(document) if isinstance(document, Mapping) else document
