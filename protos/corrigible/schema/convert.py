"""Feedback as protobuf and back, without loss.

One walk over the message descriptors does it: field names are member names, an enumeration value is the
word in upper case behind its type's name. The only special case is a literal: JSON text in a field `..._json`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .error import ReaderError
from .exchange import Json
from .extra import MissingExtra
from .feedback import Feedback, parse

try:
    from google.protobuf.descriptor import EnumDescriptor
    from google.protobuf.message import Message

    from .v0_1 import feedback_pb2 as pb
except ModuleNotFoundError:
    raise MissingExtra(__name__, "proxy", "google.protobuf") from None

Field = Any
"""A FieldDescriptor, of pure Python or of upb; they have no common type."""

_LITERAL: Final = "_json"


def to_proto(feedback: Feedback) -> pb.RecoveryFeedback:
    """Return the equivalent message."""
    message = pb.RecoveryFeedback()
    _fill(message, feedback.document())
    return message


def from_proto(message: pb.RecoveryFeedback) -> Feedback:
    """Read an untrusted message, or raise `ReaderError`."""
    return parse(_members(message))


def _fill(message: Message, members: dict[str, Json]) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.name.endswith(_LITERAL):
            name = field.name.removesuffix(_LITERAL)
            if name in members:
                text = json.dumps(members[name], ensure_ascii=False, separators=(",", ":"), allow_nan=False)
                setattr(message, field.name, text)
        elif field.name in members:
            _set(message, field, members[field.name])


def _set(message: Message, field: Field, value: Any) -> None:
    if field.message_type is None:
        kind = field.enum_type
        plain = kind.values_by_name[_prefix(kind) + value.upper()].number if kind is not None else value
        if field.is_repeated:
            getattr(message, field.name).extend(plain)
        else:
            setattr(message, field.name, plain)
        return
    target = getattr(message, field.name)
    if field.message_type.GetOptions().map_entry:
        target.update(value)
    elif field.is_repeated:
        for item in value:
            _fill(target.add(), item)
    else:
        target.SetInParent()
        _fill(target, value)


def _members(message: Message) -> dict[str, Json]:
    return {
        field.name.removesuffix(_LITERAL): _get(message, field)
        for field in message.DESCRIPTOR.fields
        if (len(getattr(message, field.name)) if field.is_repeated else _present(message, field))
    }


def _present(message: Message, field: Field) -> bool:
    return message.HasField(field.name) if field.has_presence else True


def _get(message: Message, field: Field) -> Json:
    value = getattr(message, field.name)
    if field.name.endswith(_LITERAL):
        return _literal(value)
    if field.message_type is None:
        if field.enum_type is not None:
            return _word(field.enum_type, value)
        return list(value) if field.is_repeated else value
    if field.message_type.GetOptions().map_entry:
        return dict(value)
    return [_members(item) for item in value] if field.is_repeated else _members(value)


def _literal(text: str) -> Json:
    if text == "":
        return {}  # no parameters are set
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ReaderError("a literal that is no JSON") from None


def _prefix(kind: EnumDescriptor) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.name).upper() + "_"


def _word(kind: EnumDescriptor, number: int) -> str | None:
    """Return the enumeration value as text; None for zero (unspecified), `#NUMBER` for an unknown number."""
    value = kind.values_by_number.get(number)
    word = value.name.removeprefix(_prefix(kind)).lower() if value is not None else f"#{number}"
    return None if word == "unspecified" and kind.name != "Applicability" else word
