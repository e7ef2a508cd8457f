"""Where a gRPC request breaks what its descriptors say: the description of an API that speaks protobuf."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rapidfuzz.distance import Indel

from corrigible.adapters.openapi.judge import Judge, Path, Spot
from corrigible.adapters.operation import Operations
from corrigible.rules.breach import Breach
from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.schema.exchange import Json, Request

from .descriptors import Descriptors
from .schema import Schemas

_NEAR: Final = 0.75
_MOST: Final = 3


class Methods(Operations):
    """gRPC methods as operations: `/package.Service/Method` is `package.Service/Method`."""

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__({})
        self.names = tuple(method[1:] for method in methods)
        self._known = frozenset(methods)

    def find(self, method: str, path: str) -> tuple[str, dict[str, str]] | None:
        return (method[1:], {}) if method in self._known else None


class ProtobufDescription:
    """The `Described` of some descriptors."""

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self._schemas = Schemas(descriptors.pool)
        self.operations: Operations = Methods(tuple(descriptors.methods))
        self._judge = functools.lru_cache(maxsize=64)(self._judged)

    def breaches(self, request: Request, operation: str, at: str = "") -> tuple[Breach, ...]:
        """Return where a request breaks its message; with `at` only what stands there or below."""
        method = self._descriptors.methods.get(f"/{operation}")
        if method is None or not isinstance(request.body, Mapping):
            return ()
        # proto-JSON leaves out what has its default, and writes 64-bit numbers as text: constraints see neither.
        seen = self._seen(method.takes, request.body)
        found = tuple(_told(self._judge(operation).breaches(seen, lambda path: _spot(request, path))))
        if not at:
            return found
        return tuple(b for b in found if b.pointer == at or b.pointer.startswith(f"{at}/"))

    def nearest_operation(self, method: str, path: str) -> Breach | None:
        """Return the methods that an unknown one may mean: of the same service first."""
        service, _, name = method.rpartition("/")
        scored = sorted(
            (-Indel.normalized_similarity(method.lower(), known.lower()) - (known.startswith(f"{service}/")), known)
            for known in self._descriptors.methods
        )
        near = [known for score, known in scored if -score % 1 >= _NEAR or -score >= 1 + _NEAR][:_MOST]
        return Breach("/method", "method", {"enum": near}, method) if near and name else None

    def facts(self, operation: str) -> Json:
        """Return `{required, properties}` of the message, one level deep."""
        method = self._descriptors.methods.get(f"/{operation}")
        if method is None:
            return {}
        schema = self._schemas.of(method.takes)
        here = schema["$defs"][method.takes.full_name]
        return {"required": here.get("required", []), "properties": here["properties"]}

    def _judged(self, operation: str) -> Judge:
        return Judge(self._schemas.of(self._descriptors.methods[f"/{operation}"].takes))

    def _seen(self, message: Any, value: Json) -> Json:
        """Return a message as constraints see it: defaults of fields without presence filled in, numbers as numbers."""
        if not isinstance(value, Mapping):
            return value
        out = dict(value)
        for field in message.fields:
            name = field.json_name
            if name in out:
                out[name] = self._field(field, out[name])
            elif field.has_presence or self._schemas.is_ignored(field):
                continue
            elif not field.is_repeated:
                out[name] = _default(field)
            elif not _is_map(field):
                out[name] = []
        return out

    def _field(self, field: Any, value: Json) -> Json:
        if _is_map(field):
            inner = field.message_type.fields_by_name["value"]
            return {k: self._one(inner, v) for k, v in value.items()} if isinstance(value, Mapping) else value
        if field.is_repeated:
            return [self._one(field, inner) for inner in value] if isinstance(value, list) else value
        return self._one(field, value)

    def _one(self, field: Any, value: Json) -> Json:
        kind = field.message_type
        if kind is not None:
            return value if kind.full_name.startswith("google.protobuf.") else self._seen(kind, value)
        if field.cpp_type in _INTEGERS and isinstance(value, str) and value.lstrip("-").isdecimal():
            return int(value)
        return value


def _told(found: Sequence[Breach]) -> Iterator[Breach]:
    for breach in found:
        if breach.keyword not in ("required", "additionalProperties", "anyOf") and breach.value is MISSING:
            yield breach._replace(keyword="required")  # a default that breaks a constraint is a value nobody gave
        else:
            yield breach


def _spot(request: Request, path: Path) -> Spot:
    pointer = "".join(f"/{escape(str(part))}" for part in ("body", *path))
    return Spot(pointer, resolve(request.document(), pointer))


def _default(field: Any) -> Json:
    return field.enum_type.values_by_number[0].name if field.enum_type is not None else _plain(field.default_value)


def _plain(value: Any) -> Json:
    return "" if isinstance(value, bytes) else value


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


_INTEGERS: Final = (1, 2, 3, 4)
"""CPPTYPE_INT32, INT64, UINT32, UINT64."""
