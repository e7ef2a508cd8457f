"""Canonical operations of the descriptions beside this file: OpenAPI 3, Swagger 2.0, descriptors of gRPC.

A second reading, apart from the product's: the ground truth must not move when the product's own reader does. It reads
what these files hold and no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from corrigible.adapters.mapping.operation import CanonicalOperation, Field

HERE: Final = Path(__file__).parent
MOST: Final = 600
"""Fields of a body or of a result after which no deeper level is read."""

_Place = tuple[dict[str, Any], str, bool, tuple[str, ...]]

_METHODS: Final = ("get", "put", "post", "delete", "patch")
_TYPES: Final = {
    FieldDescriptor.CPPTYPE_STRING: "string",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_ENUM: "string",
    FieldDescriptor.CPPTYPE_INT32: "integer",
    FieldDescriptor.CPPTYPE_UINT32: "integer",
    FieldDescriptor.CPPTYPE_DOUBLE: "number",
    FieldDescriptor.CPPTYPE_FLOAT: "number",
    FieldDescriptor.CPPTYPE_INT64: "string",
    FieldDescriptor.CPPTYPE_UINT64: "string",
    FieldDescriptor.CPPTYPE_MESSAGE: "object",
}


def index() -> dict[str, dict[str, str]]:
    """Return what `index.json` says of each API."""
    found: dict[str, dict[str, str]] = json.loads((HERE / "descriptions/index.json").read_text("utf-8"))
    return found


@cache
def operations(api: str) -> Mapping[str, CanonicalOperation]:
    """Return the operations of an API by their key."""
    path = HERE / "descriptions" / index()[api]["file"]
    if path.suffix == ".binpb":
        return {operation.key: operation for operation in _of_descriptors(api, path.read_bytes())}
    document = json.loads(path.read_text("utf-8"))
    return {operation.key: operation for operation in Document(api, document).operations()}


@dataclass(frozen=True)
class Document:
    """An OpenAPI 3 or Swagger 2.0 document."""

    api: str
    document: dict[str, Any]

    def operations(self) -> Iterator[CanonicalOperation]:
        """Yield all operations in the order of the document."""
        for path, item in self.document["paths"].items():
            for method in _METHODS:
                if method in item:
                    yield self._operation(method.upper(), path, item, item[method])

    def _operation(self, method: str, path: str, item: dict[str, Any], one: dict[str, Any]) -> CanonicalOperation:
        parameters = [self._resolved(given) for given in [*item.get("parameters", ()), *one.get("parameters", ())]]
        arguments = list(self._arguments(parameters))
        names: list[str] = []
        body = self._body(one, parameters)
        if body is not None:
            schema, required = body
            arguments += self._fields(schema, "/body", names, required=required)
        answer = self._answer(one)
        results = self._fields(answer, "/result", names) if answer is not None else []
        return CanonicalOperation(
            api=self.api,
            name=one.get("operationId") or f"{method} {path}",
            method=method,
            path=path,
            summary=one.get("summary", ""),
            description=one.get("description", ""),
            tags=tuple(one.get("tags", ())),
            deprecated=bool(one.get("deprecated")),
            arguments=tuple(arguments),
            results=tuple(results),
            schemas=tuple(dict.fromkeys(names)),
        )

    def _arguments(self, parameters: list[dict[str, Any]]) -> Iterator[Field]:
        for given in parameters:
            place = given["in"]
            schema = self._merged(given.get("schema", given), [])
            if place in ("path", "query", "header"):
                yield _field(
                    f"/{place}/{given['name']}", schema, given.get("required", False), given.get("description", "")
                )
            elif place == "formData":
                yield _field(
                    f"/body/{given['name']}", schema, given.get("required", False), given.get("description", "")
                )

    def _body(self, one: dict[str, Any], parameters: list[dict[str, Any]]) -> tuple[dict[str, Any], bool] | None:
        for given in parameters:
            if given["in"] == "body":
                return given["schema"], given.get("required", False)
        held = self._resolved(one.get("requestBody", {}))
        content = held.get("content", {})
        if not content:
            return None
        media = content.get("application/json") or next(iter(content.values()))
        return media.get("schema", {}), held.get("required", False)

    def _answer(self, one: dict[str, Any]) -> dict[str, Any] | None:
        for status, response in one.get("responses", {}).items():
            if not status.startswith("2"):
                continue
            response = self._resolved(response)
            if "schema" in response:
                found: dict[str, Any] = response["schema"]
                return found
            content = response.get("content", {})
            media: dict[str, Any] = content.get("application/json") or next(iter(content.values()), {})
            return media.get("schema")
        return None

    def _fields(self, schema: dict[str, Any], at: str, names: list[str], *, required: bool = True) -> list[Field]:
        """Return the fields below, whole levels at a time, until there are `MOST`."""
        found: list[Field] = []
        level: list[_Place] = [(schema, at, required, ())]
        while level and len(found) < MOST:
            following: list[_Place] = []
            for place in level:
                following += self._below(place, names, found)
            level = following
        return found

    def _below(self, place: _Place, names: list[str], found: list[Field]) -> Iterator[_Place]:
        schema, at, required, above = place
        here: list[str] = []
        merged = self._merged(schema, here)
        names += here
        if at not in ("/body", "/result"):
            found.append(_field(at, merged, required, merged.get("description", "")))
        if any(name in above for name in here):
            return
        above = (*above, *here)
        if "items" in merged:
            yield merged["items"], f"{at}/*", False, above
        wanted = merged.get("required", ())
        for name, child in merged.get("properties", {}).items():
            yield child, f"{at}/{name.replace('~', '~0').replace('/', '~1')}", name in wanted, above
        rest = merged.get("additionalProperties")
        if isinstance(rest, dict) and rest and "properties" not in merged:
            yield rest, f"{at}/*", False, above

    def _resolved(self, given: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in given:
            target: Any = self.document
            for part in given["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            given = target
        return given

    def _merged(self, schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
        """Return the schema without references, all alternatives put together: any of their properties may come."""
        if "$ref" in schema:
            names.append(schema["$ref"].rpartition("/")[2])
            return self._merged(self._resolved(schema), names) | {
                key: value for key, value in schema.items() if key == "description"
            }
        result = {key: value for key, value in schema.items() if key not in ("allOf", "oneOf", "anyOf")}
        for kind in ("allOf", "oneOf", "anyOf"):
            for part in schema.get(kind, ()):
                merged = self._merged(part, names)
                properties = {**merged.get("properties", {}), **result.get("properties", {})}
                wanted = [*result.get("required", ()), *(merged.get("required", ()) if kind == "allOf" else ())]
                result = {**merged, **result}
                if properties:
                    result["properties"] = properties
                if isinstance(wanted, list):
                    result["required"] = wanted
        return result


def _field(pointer: str, schema: dict[str, Any], required: object, description: str) -> Field:
    kind = schema.get("type", "")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "")
    if not kind and "properties" in schema:
        kind = "object"
    return Field(
        pointer=pointer,
        type=kind,
        format=schema.get("format", ""),
        description=description or schema.get("description", ""),
        required=required is True,
        enum=tuple(str(one) for one in schema.get("enum", ()) if one is not None),
    )


def _of_descriptors(api: str, content: bytes) -> Iterator[CanonicalOperation]:
    files = descriptor_pb2.FileDescriptorSet.FromString(content)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    for file in files.file:
        for service in pool.FindFileByName(file.name).services_by_name.values():
            for method in service.methods:
                names: list[str] = []
                yield CanonicalOperation(
                    api=api,
                    name=f"{service.full_name}/{method.name}",
                    method="POST",
                    path=f"/{service.full_name}/{method.name}",
                    arguments=tuple(_of_message(method.input_type, "/body", names, ())),
                    results=tuple(_of_message(method.output_type, "/result", names, ())),
                    schemas=tuple(dict.fromkeys(names)),
                )


def _of_message(message: Descriptor, at: str, names: list[str], above: tuple[str, ...]) -> Iterator[Field]:
    names.append(message.name)
    if message.full_name in above:
        return
    for field in message.fields:
        pointer = f"{at}/{field.json_name}"
        kind = _TYPES[field.cpp_type]
        if field.is_repeated:
            yield Field(pointer=pointer, type="array")
            pointer += "/*"
        values = tuple(value.name for value in field.enum_type.values) if field.enum_type else ()
        yield Field(pointer=pointer, type=kind, format="byte" if field.type == field.TYPE_BYTES else "", enum=values)
        if field.message_type:
            yield from _of_message(field.message_type, pointer, names, (*above, message.full_name))
