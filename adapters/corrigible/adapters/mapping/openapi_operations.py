"""OpenAPI 3 and Swagger 2.0 as canonical operations.

The fields of a JSON Schema, level by level.
Bounded: a description may be a stranger's, and its schemas may refer to themselves. What is left out is counted.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from corrigible.adapters.openapi.source_files import SourceFiles
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pointer import escape
from corrigible.schema.exchange import Json

from .operation import ApiDocument, CanonicalOperation, Field

MOST: Final = 2_000
"""Fields of one body."""
_DEEPEST: Final = 14
"""Segments of a pointer."""
_LONGEST_DESCRIPTION: Final = 400
"""Characters of a description."""
_MOST_CHOICES: Final = 100
"""Values of an enumeration, and alternatives of a schema."""


class Body(NamedTuple):
    """The fields of a body, and how many more there may be: those below objects that were not looked into."""

    fields: tuple[Field, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """A schema without references, alternatives and parts that hold for all."""

    type: str
    format: str
    description: str
    enum: tuple[str, ...]
    properties: Mapping[str, tuple[Json, Path]]
    required: frozenset[str]
    items: tuple[Json, Path] | None
    values: tuple[Json, Path] | None
    """Of the keys of a map."""
    references: frozenset[str]


class SchemaFields:
    """Reads the schemas of one description."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._bodies: dict[tuple[Path, str, str], Body] = {}
        self._found: dict[tuple[Path, str], tuple[Json, Path]] = {}

    def body(self, schema: Json, file: Path, pointer: str) -> Body:
        """Return the fields below a pointer. A body that is no object is one field itself."""
        reference = _reference(schema)
        if not reference:
            return self._read(schema, file, pointer)
        key = (file, reference, pointer)
        if key not in self._bodies:
            self._bodies[key] = self._read(schema, file, pointer)
        return self._bodies[key]

    def names(self, schema: Json) -> Iterator[str]:
        """Yield the names of the schemas that a schema refers to at its top, in lists and in alternatives."""
        waiting, seen = [schema], 0
        while waiting and seen < _MOST_CHOICES:
            here, seen = waiting.pop(), seen + 1
            if not isinstance(here, Mapping):
                continue
            if reference := _reference(here):
                yield reference.rpartition("/")[2]
                continue
            waiting += [here.get("items")]
            for word in ("allOf", "anyOf", "oneOf"):
                waiting += _list(here.get(word))

    def single(self, schema: Json, file: Path, pointer: str, description: str, *, required: bool) -> Field:
        """Return a schema as one field: a parameter."""
        shape = self._shape(schema, file)
        return _field(pointer, shape, required=required, description=description)

    def _read(self, schema: Json, file: Path, pointer: str) -> Body:
        fields: list[Field] = []
        left_out = 0
        shape = self._shape(schema, file)
        top = pointer
        while shape.type == "array" and shape.items is not None:
            pointer, shape = f"{pointer}/*", self._shape(*shape.items)
        if not shape.properties and shape.values is None and (shape.type or pointer != top):
            fields.append(_field(pointer, shape, required=True))
        waiting: deque[tuple[str, _Shape, frozenset[str]]] = deque([(pointer, shape, shape.references)])
        while waiting:
            here, shape, above = waiting.popleft()
            members = [(f"{here}/{escape(name)}", name, inner) for name, inner in shape.properties.items()]
            if shape.values is not None:
                members.append((f"{here}/*", "", shape.values))
            for place, name, inner in members:
                if len(fields) >= MOST:
                    left_out += 1
                    continue
                found = self._shape(*inner)
                if name or not found.properties:
                    fields.append(_field(place, found, required=name in shape.required))
                below, trail = found, place
                while below.type == "array" and below.items is not None and trail.count("/") < _DEEPEST:
                    trail, below = f"{trail}/*", self._shape(*below.items)
                if trail != place and not below.properties and below.type and below.values is None:
                    fields.append(_field(trail, below, required=False))
                if not below.properties and below.values is None:
                    continue
                if trail.count("/") >= _DEEPEST or below.references & above:
                    left_out += 1
                else:
                    waiting.append((trail, below, above | below.references))
        return Body(tuple(fields), left_out)

    def _shape(self, schema: Json, file: Path) -> _Shape:
        return self._merged(schema, file, 0)

    def _merged(self, schema: Json, file: Path, depth: int) -> _Shape:
        references: set[str] = set()
        description = ""
        if reference := _reference(schema):
            references.add(f"{file} {reference}")
            description = _text(schema.get("description"))  # OpenAPI 3.1: beside a $ref
            schema, file = self._target(reference, file)
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return _Shape("", "", "", (), {}, frozenset(), None, None, frozenset(references))
        kind, values = _type(schema), schema.get("enum")
        properties: dict[str, tuple[Json, Path]] = {
            str(name): (inner, file) for name, inner in _mapping(schema.get("properties")).items()
        }
        required = {str(one) for one in _list(schema.get("required"))}
        items = (schema["items"], file) if "items" in schema else None
        more = schema.get("additionalProperties")
        keyed = (more, file) if isinstance(more, Mapping) and more else None
        form, enum = _text(schema.get("format")), tuple(map(_value, _list(values)[:_MOST_CHOICES]))
        description = description or _text(schema.get("description")) or _text(schema.get("title"))
        for part in _list(schema.get("allOf"))[:_MOST_CHOICES]:
            one = self._merged(part, file, depth + 1)
            properties = {**one.properties, **properties}
            required |= one.required
            references |= one.references
            kind, form, enum = kind or one.type, form or one.format, enum or one.enum
            items, keyed = items or one.items, keyed or one.values
            description = description or one.description
        alternatives = [
            self._merged(one, file, depth + 1)
            for word in ("oneOf", "anyOf")
            for one in _list(schema.get(word))[:_MOST_CHOICES]
            if not (isinstance(one, Mapping) and (one.get("type") == "null" or one.get("enum") in ([None], [""])))
        ]
        if alternatives and not properties:
            plain = [one for one in alternatives if not one.properties and one.type not in ("", "object", "array")]
            chosen = plain or alternatives  # an identifier or the object: the identifier is what comes unasked
            kind, form = kind or chosen[0].type, form or chosen[0].format
            enum = enum or (chosen[0].enum if len(chosen) == 1 else ())
            items = items or next((one.items for one in chosen if one.items), None)
            if not plain:
                properties = {name: inner for one in reversed(chosen) for name, inner in one.properties.items()}
                keyed = keyed or next((one.values for one in chosen if one.values), None)
                required |= frozenset.intersection(*(one.required for one in chosen))
                references |= {reference for one in chosen for reference in one.references}
            description = description or chosen[0].description
        if not kind and (properties or keyed):
            kind = "object"
        return _Shape(
            kind, form, description, enum, properties, frozenset(required), items, keyed, frozenset(references)
        )

    def _target(self, reference: str, file: Path) -> tuple[Json, Path]:
        key = (file, reference)
        if key not in self._found:
            found = self._files.find(reference, file)
            self._found[key] = ({}, file) if found is None else (found.value, found.file)
        return self._found[key]


def _field(pointer: str, shape: _Shape, *, required: bool, description: str = "") -> Field:
    return Field.model_construct(
        pointer=pointer,
        type=shape.type,
        format=shape.format,
        description=shortened(description or shape.description, _LONGEST_DESCRIPTION),
        required=required,
        enum=shape.enum,
    )


def shortened(text: str, longest: int) -> str:
    """Return a text on one line, cut at the end of a word."""
    line = " ".join(text[: longest * 4].split())
    return line if len(line) <= longest else line[:longest].rpartition(" ")[0]


def _reference(schema: Json) -> str:
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    return reference if isinstance(reference, str) else ""


def _type(schema: Mapping[str, Json]) -> str:
    kind = schema.get("type")
    names = [kind] if isinstance(kind, str) else [one for one in _list(kind) if isinstance(one, str)]
    return next((one for one in names if one != "null"), "")


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)[:_LONGEST_DESCRIPTION]


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SUCCESS: Final = re.compile(r"2(?:\d\d|XX)", re.IGNORECASE)
_PLACES: Final = ("path", "query", "header")
"""Cookies carry credentials: they are no arguments."""
_NO_ARGUMENTS: Final = frozenset({"accept", "content-type", "authorization"})
"""Headers that an OpenAPI description may not list as parameters (3.0.3, parameter object)."""
_LONGEST: Final = 1_500
"""Characters of a description."""
_PREFERRED: Final = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")


def read_openapi(path: Path, api: str = "") -> ApiDocument:
    """Read a description. Raises AuthoringError with file and line where it is none."""
    files = SourceFiles(path)
    document = files.document
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(paths, Mapping):
        raise AuthoringError(Place(path), 'not an OpenAPI description: "paths" is missing')
    info = document.get("info")
    title, version = (_text(info.get(key)) for key in ("title", "version")) if isinstance(info, Mapping) else ("", "")
    name = api or " ".join(filter(None, (title, version))) or path.stem
    reader = _Reader(files, name)
    origin, base = _server(document)
    operations = tuple(reader.operations(paths))
    return ApiDocument(name=name, title=title, version=version, origin=origin, base=base, operations=operations)


def _server(document: Mapping[str, Json]) -> tuple[str, str]:
    """Return origin and base path of the first server; empty where they are relative or have variables."""
    first = next(iter(_list(document.get("servers"))), None)
    url = _text(first.get("url")) if isinstance(first, Mapping) else ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    if "{" in url or "@" in parts.netloc:
        return "", ""
    origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") and parts.netloc else ""
    return origin, parts.path.rstrip("/")


class _Reader:
    def __init__(self, files: SourceFiles, api: str) -> None:
        self._files, self._api = files, api
        self._schemas = SchemaFields(files)

    def operations(self, paths: Mapping[str, Json]) -> Iterator[CanonicalOperation]:
        for template, entry in paths.items():
            item, file = self._files.dereferenced(entry, self._files.path)
            if not isinstance(item, Mapping) or not str(template).startswith("/"):
                continue
            for method in _METHODS:
                if isinstance(operation := item.get(method), Mapping):
                    yield self._operation(str(template).partition("#")[0], method.upper(), operation, item, file)

    def _operation(
        self, path: str, method: str, operation: Mapping[str, Json], item: Mapping[str, Json], file: Path
    ) -> CanonicalOperation:
        taken, taken_schema = self._request(operation, file)
        returned, returned_schema = self._result(operation, file)
        names = [*self._schemas.names(taken_schema), *self._schemas.names(returned_schema)]
        return CanonicalOperation(
            api=self._api,
            name=_text(operation.get("operationId")) or f"{method} {path}",
            method=method,
            path=path,
            summary=shortened(_text(operation.get("summary")) or _text(item.get("summary")), _LONGEST),
            description=shortened(_text(operation.get("description")) or _text(item.get("description")), _LONGEST),
            tags=tuple(str(tag) for tag in _list(operation.get("tags"))),
            deprecated=operation.get("deprecated") is True,
            arguments=(*self._parameters(operation, item, file), *taken.fields),
            results=returned.fields,
            schemas=tuple(dict.fromkeys(names)),
            left_out=taken.left_out + returned.left_out,
        )

    def _parameters(self, operation: Mapping[str, Json], item: Mapping[str, Json], file: Path) -> Iterator[Field]:
        seen: dict[str, Field] = {}
        for entry in (*_list(item.get("parameters")), *_list(operation.get("parameters"))):
            one, source = self._files.dereferenced(entry, file)
            if not isinstance(one, Mapping) or one.get("in") not in _PLACES or not isinstance(one.get("name"), str):
                continue
            place, name = str(one["in"]), str(one["name"])
            if place == "header" and name.lower() in _NO_ARGUMENTS:
                continue
            schema = one.get("schema")
            if schema is None and isinstance(content := one.get("content"), Mapping):
                schema = next((inner.get("schema") for inner in content.values() if isinstance(inner, Mapping)), None)
            pointer = f"/{place}/{escape(name.lower() if place == 'header' else name)}"
            seen[pointer] = self._schemas.single(
                schema, source, pointer, _text(one.get("description")),
                required=place == "path" or one.get("required") is True,
            )  # fmt: skip
        yield from seen.values()

    def _request(self, operation: Mapping[str, Json], file: Path) -> tuple[Body, Json]:
        body, file = self._files.dereferenced(operation.get("requestBody"), file)
        return self._content(body, file, "/body")

    def _result(self, operation: Mapping[str, Json], file: Path) -> tuple[Body, Json]:
        responses = operation.get("responses")
        if not isinstance(responses, Mapping):
            return Body((), 0), None
        statuses = sorted(status for status in responses if _SUCCESS.fullmatch(str(status)))
        for status in statuses or ["default"]:
            response, source = self._files.dereferenced(responses.get(status), file)
            body, schema = self._content(response, source, "/result")
            if schema is not None:
                return body, schema
        return Body((), 0), None

    def _content(self, holder: Json, file: Path, pointer: str) -> tuple[Body, Json]:
        content = holder.get("content") if isinstance(holder, Mapping) else None
        if not isinstance(content, Mapping):
            return Body((), 0), None
        schemas = {
            str(name): one["schema"] for name, one in content.items() if isinstance(one, Mapping) and "schema" in one
        }
        names = [
            *(name for name in _PREFERRED if name in schemas),
            *(name for name in schemas if "json" in name),
            *schemas,
        ]
        if not names:
            return Body((), 0), None
        return self._schemas.body(schemas[names[0]], file, pointer), schemas[names[0]]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
