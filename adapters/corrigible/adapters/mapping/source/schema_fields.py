"""The fields of a JSON Schema, level by level.

Bounded: a description may be a stranger's, and its schemas may refer to themselves. What is left out is counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from corrigible.adapters.mapping.operation import Field
from corrigible.adapters.openapi.document.source_files import SourceFiles
from corrigible.rules.pointer import escape
from corrigible.schema.exchange import Json

MOST: Final = 2_000
"""Fields of one body."""
_DEEPEST: Final = 14
"""Segments of a pointer."""
_LONGEST: Final = 400
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
            if not _is_null(one)
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
        description=shortened(description or shape.description, _LONGEST),
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


def _is_null(schema: Json) -> bool:
    return isinstance(schema, Mapping) and (schema.get("type") == "null" or schema.get("enum") in ([None], [""]))


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)[:_LONGEST]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
