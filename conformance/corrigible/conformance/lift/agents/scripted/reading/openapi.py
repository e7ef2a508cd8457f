"""What an OpenAPI description says of the places of a request: a small reader, for an agent that goes by it alone.

Knows: operations, $ref, properties, branches. Does not know: answers, feedback.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.model.paths import path_pattern
from corrigible.schema.exchange import Json, Request

from .path import JsonPath, normalized_name

_DEEPEST: Final = 12

Schema = Mapping[str, Any]


class OperationSchema:
    """The schemas of one operation. Knows nothing where the description has no such operation."""

    def __init__(self, document: Json, request: Request) -> None:
        self._document: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
        operation, shared = self._operation(request)
        body: Any = self._resolved(operation.get("requestBody") or {}).get("content")
        kinds = list(body.values()) if isinstance(body, Mapping) else []
        self._body: Schema = kinds[0].get("schema") or {} if kinds and isinstance(kinds[0], Mapping) else {}
        parameters = [self._resolved(parameter) for parameter in (*shared, *(operation.get("parameters") or ()))]
        query_parameters = [parameter for parameter in parameters if parameter.get("in") == "query"]
        self._query: Schema = {
            "type": "object",
            "properties": {
                parameter["name"]: parameter.get("schema") or {}
                for parameter in query_parameters
                if "name" in parameter
            },
            "required": [
                parameter["name"] for parameter in query_parameters if parameter.get("required") and "name" in parameter
            ],
        }

    def at(self, place: JsonPath) -> tuple[Schema, ...]:
        """Return the schemas that a place may have, without references and branches."""
        start = self._body if place[:1] == ("body",) else self._query if place[:1] == ("query",) else {}
        nodes = self._branches(start)
        for part in place[1:]:
            inner = [node for schema in nodes for node in _inside(schema, part)]
            nodes = [branch for schema in inner for branch in self._branches(schema)]
        return tuple(schema for schema in nodes if schema)

    def members(self, place: JsonPath) -> tuple[str, ...]:
        """Return the names that an object at a place may have."""
        return tuple(dict.fromkeys(name for schema in self.at(place) for name in schema.get("properties") or {}))

    def required(self, place: JsonPath) -> tuple[str, ...]:
        """Return the names that an object at a place must have."""
        return tuple(dict.fromkeys(name for schema in self.at(place) for name in schema.get("required") or ()))

    def _operation(self, request: Request) -> tuple[Mapping[str, Any], tuple[Any, ...]]:
        paths = self._document.get("paths")
        for template, item in (paths if isinstance(paths, Mapping) else {}).items():
            if path_pattern(template).fullmatch(request.path):
                operation = item.get(request.method.lower()) if isinstance(item, Mapping) else None
                if isinstance(operation, Mapping):
                    return operation, tuple(item.get("parameters") or ())
        return {}, ()

    def _resolved(self, value: Any) -> Mapping[str, Any]:
        for _ in range(_DEEPEST):
            if not isinstance(value, Mapping) or not isinstance(value.get("$ref"), str):
                break
            node: Any = self._document
            for part in value["$ref"].removeprefix("#/").split("/"):
                node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
            value = node
        return value if isinstance(value, Mapping) else {}

    def _branches(self, schema: Any, depth: int = 0) -> list[Schema]:
        resolved = self._resolved(schema)
        out = [resolved] if resolved else []
        if depth < _DEEPEST:
            for word in ("allOf", "anyOf", "oneOf"):
                for branch in resolved.get(word) or ():
                    out += self._branches(branch, depth + 1)
        return out


def _inside(schema: Schema, part: str | int) -> Iterator[Any]:
    if isinstance(part, int) or part.isdecimal():
        if "items" in schema:
            yield schema["items"]
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        name = next((name for name in properties if normalized_name(name) == normalized_name(part)), None)
        if name is not None:
            yield properties[name]
            return
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield schema["additionalProperties"]
