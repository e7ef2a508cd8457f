"""Validates requests against an OpenAPI description: the operation, and each violation.

Written apart from what the project's own translator does with descriptions: neither hides the other's faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from corrigible.conformance.model.yaml_file import load_yaml, path_pattern
from corrigible.schema.document import pointer_parts, to_pointer, value_at
from corrigible.schema.exchange import Json, Request

_METHODS: Final = frozenset({"get", "put", "post", "delete", "patch", "head", "options", "trace"})
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SCALARS: Final = ("string", "integer", "number", "boolean", "null")


@dataclass(frozen=True, slots=True)
class Breach:
    """One place where a request is not what its operation takes."""

    pointer: str
    """Into the request document. Of a member that is missing or not known, the member's own."""
    keyword: str
    message: str


@dataclass(frozen=True, slots=True)
class Route:
    operation: str
    params: Mapping[str, str]
    item: Mapping[str, Json]
    """The path item and the operation in it, merged."""


class Description:
    """One OpenAPI 3.1 document whose references stay within it."""

    def __init__(self, document: Mapping[str, Json]) -> None:
        self.document = document
        self.bases = _bases(document)
        self._validator = lru_cache(maxsize=256)(self._build_validator)
        self._paths = [(path_pattern(template), template, item) for template, item in document["paths"].items()]
        # A literal segment goes before one that may be anything.
        self._paths.sort(key=lambda entry: entry[1].count("{"))

    @classmethod
    def load(cls, path: Path) -> Description:
        return cls(load_yaml(path.read_text("utf-8")))

    def route(self, method: str, path: str) -> Route | None:
        """Return the operation of a method and path, below any of the servers' paths."""
        for template, item, values in self._items(path):
            operation = item.get(method.lower())
            if method.lower() in _METHODS and isinstance(operation, Mapping):
                names = re.findall(r"\{([^{}]*)\}", template)
                shared = [p for p in item.get("parameters", ()) if isinstance(p, Mapping)]
                merged = {**operation, "parameters": [*shared, *operation.get("parameters", ())]}
                name = operation.get("operationId") or f"{method.upper()} {template}"
                return Route(name, dict(zip(names, values, strict=True)), merged)
        return None

    def methods(self, path: str) -> list[str]:
        """Return the methods that a path takes."""
        return sorted({name.upper() for _, item, _ in self._items(path) for name in item if name in _METHODS})

    def breaches_of(self, request: Request) -> list[Breach] | None:
        """Return where a request document breaks the description; None where it names no operation of it."""
        route = self.route(request.method, request.path)
        if route is None:
            return None
        headers = {name.lower(): value for name, value in request.headers.items()}
        return self.breaches(route, query=request.query, headers=headers, body=request.body)

    def breaches(
        self, route: Route, *, query: Mapping[str, Json], headers: Mapping[str, str], body: Json
    ) -> list[Breach]:
        """Return every place where a call is not what its operation takes, parameters first."""
        return [*self._parameter_breaches(route, query, headers), *self._body_breaches(route, body)]

    def schema_at(self, request: Request, pointer: str) -> Mapping[str, Json] | None:
        """Return what a place in a request has to be, None where the description does not say."""
        route = self.route(request.method, request.path)
        if route is None:
            return None
        part, *rest = pointer_parts(pointer) or ("",)
        if part in ("query", "headers") and rest:
            place = "query" if part == "query" else "header"
            for parameter in self._parameters(route):
                if parameter["in"] == place and str(parameter["name"]).lower() == rest[0].lower():
                    return self.resolved(parameter.get("schema", {}))
        if part != "body":
            return None
        schema, missing = self._walked(route, rest)
        return None if missing else schema

    def _walked(self, route: Route, steps: Sequence[str]) -> tuple[Mapping[str, Json], bool]:
        """Return the schema at the end of steps into a body, or the last one that is described, and whether it is."""
        schema = self.resolved(self._body_schema(route) or {})
        for step in steps:
            inner = schema.get("items") if step.isdecimal() or step == "-" else schema.get("properties", {}).get(step)
            if not isinstance(inner, Mapping):
                return schema, True
            schema = self.resolved(inner)
        return schema, False

    def excludes(self, request: Request, pointer: str) -> bool:
        """Whether a place in a body can hold nothing: an object above it is closed and has no such member."""
        route = self.route(request.method, request.path)
        part, *rest = pointer_parts(pointer) or ("",)
        if route is None or part != "body":
            return False
        schema, missing = self._walked(route, rest)
        return missing and (schema.get("additionalProperties") is False or schema.get("type") in _SCALARS)

    def _items(self, path: str) -> Iterator[tuple[str, Mapping[str, Json], tuple[str, ...]]]:
        for base in self.bases:
            if path.startswith(base):
                for pattern, template, item in self._paths:
                    match = pattern.fullmatch(path[len(base) :])
                    if match is not None:
                        yield template, item, match.groups()

    def _parameters(self, route: Route) -> Iterator[Mapping[str, Json]]:
        for parameter in route.item["parameters"]:
            yield self.resolved(parameter)

    def _parameter_breaches(
        self, route: Route, query: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Iterator[Breach]:
        declared = set()
        for parameter in self._parameters(route):
            name, place = str(parameter["name"]), parameter["in"]
            values = {"query": query, "header": headers, "path": route.params}.get(place)
            if values is None:
                continue
            key = name.lower() if place == "header" else name
            pointer = {"query": to_pointer(("query", name)), "header": to_pointer(("headers", key))}.get(place, "/path")
            declared.add((place, key))
            if key not in values:
                if parameter.get("required"):
                    yield Breach(pointer, "required", f"{place} parameter {name} is missing")
                continue
            schema = parameter.get("schema", {})
            for error in self._validator(_frozen(schema)).iter_errors(self._typed(values[key], schema)):
                yield Breach(pointer, str(error.validator), error.message)
        for name in query:
            if ("query", name) not in declared:
                yield Breach(
                    to_pointer(("query", name)), "additionalProperties", f"query parameter {name} is not known"
                )

    def _body_schema(self, route: Route) -> Mapping[str, Json] | None:
        resolved = self.resolved(route.item.get("requestBody") or {})
        for kind, media in (resolved.get("content") or {}).items():
            if kind.startswith("application/") and isinstance(media, Mapping):
                schema = media.get("schema", {})
                return schema if isinstance(schema, Mapping) else {}
        return None

    def _body_breaches(self, route: Route, body: Json) -> Iterator[Breach]:
        schema = self._body_schema(route)
        if schema is None:
            return
        if body is None:
            if self.resolved(route.item["requestBody"]).get("required"):
                yield Breach("/body", "required", "the body is missing")
            return
        errors = sorted(self._validator(_frozen(schema)).iter_errors(body), key=lambda e: [str(p) for p in e.path])
        for error in errors:
            yield from _breach(error)

    def resolved(self, value: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return what a reference stands for."""
        while "$ref" in value:
            value = value_at(self.document, pointer_parts(str(value["$ref"]).removeprefix("#")) or ())
        return value

    def _typed(self, value: Json, schema: Mapping[str, Json]) -> Json:
        """Read a scalar of a query or header as the type that it is to have."""
        schema_type = self.resolved(schema).get("type")
        if not isinstance(value, str):
            return value
        if schema_type == "integer" and _INTEGER.fullmatch(value):
            return int(value)
        if schema_type == "number" and _NUMBER.fullmatch(value):
            return float(value)
        if schema_type == "boolean" and value in ("true", "false"):
            return value == "true"
        return value

    def _build_validator(self, schema: _Frozen) -> Draft202012Validator:
        # The schema stands at the root beside the components, so that references into them hold.
        whole = {"components": self.document.get("components", {}), "allOf": [schema.value]}
        return Draft202012Validator(whole, format_checker=_FORMATS)


_FORMATS: Final = FormatChecker(formats=("date", "email", "uuid", "ipv4", "ipv6", "regex"))


@dataclass(frozen=True, slots=True, eq=False)
class _Frozen:
    """A schema as the key of a cache: the same object in the document is the same schema."""

    value: Mapping[str, Json]

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and other.value is self.value


def _frozen(schema: Mapping[str, Json]) -> _Frozen:
    return _Frozen(schema)


def _breach(error: ValidationError) -> Iterator[Breach]:
    place = "/body" + to_pointer(error.absolute_path)
    keyword = str(error.validator)
    instance: Any = error.instance
    if keyword == "required":
        expected: Any = error.validator_value
        for name in expected:
            if name not in instance and f"'{name}'" in error.message:
                yield Breach(place + to_pointer((name,)), keyword, error.message)
    elif keyword == "additionalProperties":
        properties = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        for name in instance:
            if name not in properties:
                yield Breach(place + to_pointer((name,)), keyword, f"{name} is not known")
    else:
        yield Breach(place, keyword, error.message)


def _bases(document: Mapping[str, Json]) -> list[str]:
    bases = [""]
    for server in document.get("servers") or ():
        bases.append(urlsplit(str(server.get("url", ""))).path.rstrip("/"))
    return list(dict.fromkeys(bases))
