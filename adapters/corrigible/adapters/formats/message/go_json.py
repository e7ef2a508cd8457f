"""What Go's encoding/json says of a value that it cannot decode: the kind it met, the field, the type it takes.

`json: cannot unmarshal number into Go struct field Pod.spec.env.value of type string`. The path has the names of
fields only: keys of maps and indexes of lists are left out, and an element is told as the field that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import to_pointer
from corrigible.schema.exchange import Json

_ERROR: Final = re.compile(
    r"\bcannot unmarshal (?P<sent>string|number|bool|object|array)(?: (?P<number>-?\d[\d.eE+-]{0,40}))? into Go"
    r" (?:struct field (?P<field>[\w.$-]{1,200})|value) of type (?P<type>[\w.*\[\]]{1,200})"
)
_MARK: Final = "cannot unmarshal "
_LONGEST: Final = 2000
_MOST: Final = 500
_DEEPEST: Final = 12
BYTES: Final = "bytes"
"""For bytes, which are base64 in JSON."""
_INTEGER: Final = re.compile(r"u?int(?:8|16|32|64)?")
_TYPES: Final[Mapping[str, str]] = {
    **{"string": "string", "bool": "boolean", "float32": "number", "float64": "number", "time.Time": "string"},
    **{"time.Duration": "integer", "[]uint8": BYTES, "[]byte": BYTES},
}


class DecodeError(NamedTuple):
    sent: str
    """The kind that was met, in Go's word."""
    number: str
    """The number itself, where it is told."""
    names: tuple[str, ...]
    """The fields on the way to the value, from the body down."""
    type: str
    """The JSON type that is taken, empty for a named type of the server: its JSON may have any form."""


def decode_error(message: str) -> DecodeError | None:
    """Return what a message of encoding/json says, None for any other message."""
    match = _ERROR.search(message) if _MARK in message[:_LONGEST] else None
    if match is None:
        return None
    names = (match["field"] or "").split(".")[1:]
    return DecodeError(match["sent"], match["number"] or "", tuple(names), _json_type(match["type"].lstrip("*")))


def decoded_places(error: DecodeError, body: Json) -> list[str]:
    """Return the places of the body that an error may be about: they have its names on the way, and its kind.

    Without a name that is the whole body only: a decoder of a parameter or of a part says no name either.
    """
    if not error.names:
        return ["/body"] if _is_meant(body, error) else []
    left = [_MOST]
    found = [to_pointer(("body", *path)) for path in _walk(body, error.names, (), error, left)]
    return found if left[0] >= 0 else []


def _json_type(kind: str) -> str:
    if kind in _TYPES:
        return _TYPES[kind]
    if kind.startswith(("map[", "[")):
        return "object" if kind.startswith("map[") else "array"
    return "integer" if _INTEGER.fullmatch(kind) else ""


def _walk(
    value: Json, names: Sequence[str], path: tuple[str, ...], error: DecodeError, left: list[int]
) -> Iterator[tuple[str, ...]]:
    left[0] -= 1
    if left[0] < 0 or len(path) > _DEEPEST:
        return
    spend()
    if not names and _is_meant(value, error):
        yield path
        return
    if isinstance(value, Mapping):
        own = [one for one in value if names and one.lower() == names[0].lower()]  # Go's names know no case
        for name in own or value:
            yield from _walk(value[name], names[1:] if own else names, (*path, str(name)), error, left)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, names, (*path, str(index)), error, left)


def _is_meant(value: Json, error: DecodeError) -> bool:
    match error.sent:
        case "string":
            return isinstance(value, str)
        case "number":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and error.number in ("", str(value))
        case "bool":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, Mapping)
    return isinstance(value, list)
