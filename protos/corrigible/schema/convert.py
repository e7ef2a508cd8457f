"""Feedback as protobuf and back, without loss.

One walk over the message descriptors does it: field names are member names, an enumeration value is the
word in upper case behind its type's name. The only special cases are JSON literals and header lists.
"""

from __future__ import annotations

import re
from typing import Any, Final

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message

from .error import ReaderError
from .exchange import Json
from .feedback import Feedback, parse
from .v0_1 import feedback_pb2 as pb

Field = Any
"""A FieldDescriptor: of Python or of upb, which share no type."""

_INT64: Final = range(-(2**63), 2**63)


def to_proto(feedback: Feedback) -> pb.Feedback:
    """Return the message that says the same."""
    message = pb.Feedback()
    _fill(message, feedback.document())
    return message


def from_proto(message: pb.Feedback) -> Feedback:
    """Read a message that anybody may have written, or raise `ReaderError`."""
    return parse(_members(message))


def value_to_proto(value: Json) -> pb.Value:
    """Return any JSON value as a message. Integers stay integers, of any size."""
    message = pb.Value()
    match value:
        case None:
            message.null_value = pb.NULL_VALUE
        case bool():
            message.bool_value = value
        case int() if value in _INT64:
            message.int_value = value
        case int():
            message.big_int_value = str(value)
        case float():
            message.double_value = value
        case str():
            message.string_value = value
        case list():
            message.list_value.SetInParent()
            message.list_value.items.extend(value_to_proto(item) for item in value)
        case _:
            message.struct_value.CopyFrom(_struct(value))
    return message


def value_from_proto(message: pb.Value) -> Json:
    """Return the JSON value, or raise `ReaderError` where the message holds none."""
    match message.WhichOneof("kind"):
        case "null_value":
            return None
        case "big_int_value":
            return _big(message.big_int_value)
        case "list_value":
            return [value_from_proto(item) for item in message.list_value.items]
        case "struct_value":
            return _object(message.struct_value)
        case None:
            raise ReaderError("a value of no known kind")
        case kind:
            return getattr(message, kind)


def _big(digits: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,400}", digits):
        raise ReaderError("a big_int_value that is no integer")
    return int(digits)


def _struct(members: dict[str, Json]) -> pb.Struct:
    return pb.Struct(members=[pb.Member(name=name, value=value_to_proto(value)) for name, value in members.items()])


def _object(message: pb.Struct) -> dict[str, Json]:
    return {member.name: value_from_proto(member.value) for member in message.members}


def _fill(message: Message, members: dict[str, Json]) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.name in members:
            _set(message, field, members[field.name])


def _set(message: Message, field: Field, value: Any) -> None:
    if field.message_type is None:
        plain = _number(field.enum_type, value) if field.enum_type is not None else value
        if field.is_repeated:
            getattr(message, field.name).extend(plain)
        else:
            setattr(message, field.name, plain)
        return
    target = getattr(message, field.name)
    match field.message_type.name:
        case "Value":
            target.CopyFrom(value_to_proto(value))
        case "Struct":
            target.CopyFrom(_struct(value))
            target.SetInParent()
        case "Header":
            target.extend(pb.Header(name=name, value=text) for name, text in value.items())
        case _ if field.is_repeated:
            for item in value:
                _fill(target.add(), item)
        case _:
            target.SetInParent()
            _fill(target, value)


def _members(message: Message) -> dict[str, Json]:
    return {
        field.name: _get(message, field)
        for field in message.DESCRIPTOR.fields
        if (len(getattr(message, field.name)) if field.is_repeated else _present(message, field))
    }


def _present(message: Message, field: Field) -> bool:
    return message.HasField(field.name) if field.has_presence else True


def _get(message: Message, field: Field) -> Json:
    value = getattr(message, field.name)
    if field.message_type is None:
        if field.enum_type is not None:
            return _word(field.enum_type, value)
        return list(value) if field.is_repeated else value
    match field.message_type.name:
        case "Value":
            return value_from_proto(value)
        case "Struct":
            return _object(value)
        case "Header":
            return {header.name: header.value for header in value}
        case _:
            return [_members(item) for item in value] if field.is_repeated else _members(value)


def _prefix(kind: EnumDescriptor) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.name).upper() + "_"


def _number(kind: EnumDescriptor, word: str) -> int:
    return kind.values_by_name[_prefix(kind) + word.upper()].number


def _word(kind: EnumDescriptor, number: int) -> str | None:
    """Return the word, None for the zero that says nothing, and a word nobody knows for a newer number."""
    known = kind.values_by_number.get(number)
    word = known.name.removeprefix(_prefix(kind)).lower() if known is not None else f"#{number}"
    return None if word == "unspecified" and kind.name != "Applicability" else word
