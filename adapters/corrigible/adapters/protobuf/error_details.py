"""Details of a google.rpc.Status that came as bytes, because no gateway on the way knew their types.

Sources: google/rpc/error_details.proto; buf/validate/validate.proto (Violations); connectrpc.com "Error details".
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, json_format, message_factory
from google.protobuf.message import DecodeError

from corrigible.schema.exchange import Json

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int64": _Field.TYPE_INT64,
    "uint64": _Field.TYPE_UINT64,
}
# Message -> its fields: name, number, type; `*` repeated, `{}` map of texts.
_MESSAGES: Final[Mapping[str, tuple[tuple[str, int, str], ...]]] = {
    "google.rpc.BadRequest": (("field_violations", 1, "*google.rpc.BadRequest.FieldViolation"),),
    "google.rpc.BadRequest.FieldViolation": (
        ("field", 1, "string"),
        ("description", 2, "string"),
        ("reason", 3, "string"),
    ),
    "google.rpc.PreconditionFailure": (("violations", 1, "*google.rpc.PreconditionFailure.Violation"),),
    "google.rpc.PreconditionFailure.Violation": (
        ("type", 1, "string"),
        ("subject", 2, "string"),
        ("description", 3, "string"),
    ),
    "google.rpc.QuotaFailure": (("violations", 1, "*google.rpc.QuotaFailure.Violation"),),
    "google.rpc.QuotaFailure.Violation": (
        ("subject", 1, "string"),
        ("description", 2, "string"),
        ("quota_id", 5, "string"),
    ),
    "google.rpc.ErrorInfo": (("reason", 1, "string"), ("domain", 2, "string"), ("metadata", 3, "{}")),
    "google.rpc.RetryInfo": (("retry_delay", 1, "google.protobuf.Duration"),),
    "google.rpc.ResourceInfo": (
        ("resource_type", 1, "string"),
        ("resource_name", 2, "string"),
        ("owner", 3, "string"),
        ("description", 4, "string"),
    ),
    "google.rpc.Help": (("links", 1, "*google.rpc.Help.Link"),),
    "google.rpc.Help.Link": (("description", 1, "string"), ("url", 2, "string")),
    "buf.validate.Violations": (("violations", 1, "*buf.validate.Violation"),),
    "buf.validate.Violation": (
        ("field_path", 1, "string"),  # of versions before 1.0; later ones have `field`
        ("rule_id", 2, "string"),
        ("message", 3, "string"),
        ("for_key", 4, "bool"),
        ("field", 5, "buf.validate.FieldPath"),
    ),
    "buf.validate.FieldPath": (("elements", 1, "*buf.validate.FieldPathElement"),),
    "buf.validate.FieldPathElement": (
        ("field_name", 2, "string"),
        ("index", 6, "?uint64"),
        ("bool_key", 7, "?bool"),
        ("int_key", 8, "?int64"),
        ("uint_key", 9, "?uint64"),
        ("string_key", 10, "?string"),
    ),
}


def decoded(type_name: str, data: bytes) -> Mapping[str, Json] | None:
    """Return a detail as proto-JSON, None where its type is not known here or the bytes are none of it."""
    if type_name not in _MESSAGES:
        return None
    pool = _pool()
    try:
        kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"corrigible.detail.{type_name}"))
        document: Mapping[str, Json] = json_format.MessageToDict(kind.FromString(data), descriptor_pool=pool)
    except (DecodeError, ValueError, TypeError):
        return None
    return document


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    """Build the types under a package of our own: other descriptors may have them in another version."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(duration_pb2.DESCRIPTOR.serialized_pb)
    for package in ("google.rpc", "buf.validate"):
        file = descriptor_pb2.FileDescriptorProto(
            name=f"corrigible/{package}.proto",
            package=f"corrigible.detail.{package}",
            syntax="proto3",
            dependency=[duration_pb2.DESCRIPTOR.name],
        )
        for name in sorted(name for name in _MESSAGES if name.startswith(f"{package}.")):
            outer, _, inner = name.removeprefix(f"{package}.").partition(".")
            holder: Any = next((one.nested_type for one in file.message_type if inner and one.name == outer), None)
            _describe((file.message_type if holder is None else holder).add(), inner or outer, _MESSAGES[name])
        pool.Add(file)
    return pool


def _describe(message: Any, name: str, fields: tuple[tuple[str, int, str], ...]) -> None:
    message.name = name
    for called, number, kind in fields:
        plain = kind.lstrip("*?")
        field = message.field.add(name=called, number=number, json_name=_camel(called))
        field.label = _Field.LABEL_REPEATED if kind.startswith(("*", "{}")) else _Field.LABEL_OPTIONAL
        if kind == "{}":
            entry = message.nested_type.add(name=f"{called.title()}Entry")
            entry.options.map_entry = True
            for number, part in enumerate(("key", "value"), start=1):
                entry.field.add(name=part, number=number, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
            field.type, field.type_name = _Field.TYPE_MESSAGE, entry.name
        elif plain in _KINDS:
            field.type = _KINDS[plain]
        else:
            field.type = _Field.TYPE_MESSAGE
            field.type_name = f".{plain}" if plain.startswith("google.protobuf.") else f".corrigible.detail.{plain}"
        if kind.startswith("?"):
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{called}")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
