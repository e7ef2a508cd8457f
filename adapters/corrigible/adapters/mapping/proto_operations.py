"""Methods of protobuf services as canonical operations: the fields of their messages by the names of proto-JSON."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2

from corrigible.adapters.protobuf.descriptors import Descriptors, load
from corrigible.adapters.protobuf.field_schema import Constraints, field_schema, is_map, is_opaque, value_schema
from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.repair import AS_TEXT

from .openapi_operations import MOST, Body, shortened
from .operation import ApiDocument, CanonicalOperation, Field

_DEEPEST: Final = 14
_LONGEST: Final = 1_500
_SERVICES: Final = 6
"""Numbers in paths of `SourceCodeInfo.Location`: the field `service` of a file, `message_type`, `enum_type`."""
_MESSAGES: Final = 4
_METHODS: Final = 2
_FIELDS: Final = 2
_NESTED: Final = 3


def read_protos(path: Path, api: str = "") -> ApiDocument:
    """Read descriptors, a `.proto` file or a folder of those. Raises AuthoringError with what is wrong."""
    return from_descriptors(load(path, comments=True), api or path.stem)


def from_descriptors(descriptors: Descriptors, api: str) -> ApiDocument:
    """Return every method of every service."""
    reader = _Reader(descriptors, api)
    operations = tuple(reader.operation(name) for name in sorted(descriptors.methods))
    return ApiDocument(name=api, title=api, version="", origin="", base="", operations=operations)


class _Reader:
    def __init__(self, descriptors: Descriptors, api: str) -> None:
        self._descriptors, self._api = descriptors, api
        self._constraints = Constraints(descriptors.pool)
        self._comments = dict[str, str]()
        self._deprecated = set[str]()
        for data in descriptors.files:
            self._read_file(descriptor_pb2.FileDescriptorProto.FromString(data))
        self._bodies: dict[tuple[str, str], Body] = {}

    def operation(self, method: str) -> CanonicalOperation:
        kinds = self._descriptors.methods[method]
        name = method.removeprefix("/")
        taken, returned = self._body(kinds.request_type, "/body"), self._body(kinds.response_type, "/result")
        return CanonicalOperation(
            api=self._api,
            name=name,
            method="POST",
            path=method,
            description=shortened(self._comments.get(name.replace("/", "."), ""), _LONGEST),
            tags=(name.partition("/")[0].rpartition(".")[2],),
            deprecated=name.replace("/", ".") in self._deprecated,
            arguments=taken.fields,
            results=returned.fields,
            schemas=tuple(dict.fromkeys((kinds.request_type.full_name, kinds.response_type.full_name))),
            left_out=taken.left_out + returned.left_out,
        )

    def _body(self, message: Any, pointer: str) -> Body:
        key = (message.full_name, pointer)
        if key not in self._bodies:
            self._bodies[key] = self._read(message, pointer)
        return self._bodies[key]

    def _read(self, message: Any, pointer: str) -> Body:
        fields: list[Field] = []
        left_out = 0
        waiting: deque[tuple[str, Any, frozenset[str]]] = deque([(pointer, message, frozenset({message.full_name}))])
        while waiting:
            here, kind, above = waiting.popleft()
            for field in kind.fields:
                if len(fields) >= MOST:
                    left_out += 1
                    continue
                place = f"{here}/{escape(field.json_name)}"
                rules = self._constraints.of_field(field)
                fields.append(self._field(place, field_schema(field, rules), field, rules.get("required") is True))
                repeated = field.is_repeated
                inner = field.message_type
                if inner is not None and is_map(field):
                    value = inner.fields_by_name["value"]
                    inner = value.message_type
                    if inner is None:
                        fields.append(self._field(f"{place}/*", value_schema(value, {}), value, False))
                elif repeated and (inner is None or is_opaque(field)):
                    fields.append(self._field(f"{place}/*", value_schema(field, {}), field, False))
                if inner is None or inner.full_name.startswith("google.protobuf."):
                    continue
                if inner.full_name in above or place.count("/") >= _DEEPEST:
                    left_out += 1
                else:
                    waiting.append((f"{place}/*" if repeated else place, inner, above | {inner.full_name}))
        return Body(tuple(fields), left_out)

    def _field(self, pointer: str, schema: dict[str, Any], field: Any, required: bool) -> Field:
        kind, form = str(schema.get("type", "")), str(schema.get("format", ""))
        if AS_TEXT in schema:  # proto-JSON writes what needs more than 53 bits as text
            kind, form = "string", "uint64" if schema.get("minimum") == 0 else "int64"
        choices = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
        return Field(
            pointer=pointer,
            type=kind,
            format=form,
            description=shortened(self._comments.get(field.full_name, ""), 400),
            required=required,
            enum=tuple(map(str, choices)),
        )

    def _read_file(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        """Learn the comments, where the descriptors have them, and what is deprecated."""
        places = {
            tuple(one.path): " ".join((one.leading_comments or one.trailing_comments).split())
            for one in file.source_code_info.location
        }
        package = f"{file.package}." if file.package else ""
        for at, service in enumerate(file.service):
            for number, method in enumerate(service.method):
                name = f"{package}{service.name}.{method.name}"
                self._comments[name] = places.get((_SERVICES, at, _METHODS, number), "")
                if method.options.deprecated:
                    self._deprecated.add(name)
        waiting: list[tuple[str, descriptor_pb2.DescriptorProto, tuple[int, ...]]]
        waiting = [(f"{package}{one.name}", one, (_MESSAGES, at)) for at, one in enumerate(file.message_type)]
        while waiting:
            name, message, path = waiting.pop()
            for number, field in enumerate(message.field):
                self._comments[f"{name}.{field.name}"] = places.get((*path, _FIELDS, number), "")
            waiting += [(f"{name}.{one.name}", one, (*path, _NESTED, at)) for at, one in enumerate(message.nested_type)]
