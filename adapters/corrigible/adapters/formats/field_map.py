"""Errors under the names of the members they are about: Laravel, Rails, Django REST, ASP.NET, marshmallow.

`{"errors": {"email": ["The email field is required."], "items.0.price": ["must be a number"]}}`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import walk
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .message import named
from .pointers import part_of, pointer, steps

_WHOLE: Final = frozenset({"", "_", "base", "non_field_errors", "__all__", "_schema", "form"})
"""Names for errors that are about no single member."""
_DEEPEST: Final = 6
_ABSENT: Final = ("required", "Missing data for required field.", "This field is required.", "can't be blank")


def read_field_map(errors: Mapping[str, Json], request: Request) -> list[Violation]:
    """Return the errors of an object whose names are members and whose values are texts, at any depth."""
    return list(_walk(errors, (), request))


def is_field_map(errors: Json) -> bool:
    """Whether an object can only be such a one: every value is a list of texts, and there is a value."""
    return isinstance(errors, Mapping) and bool(errors) and all(_texts(value) for value in errors.values())


def _texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _walk(errors: Json, path: Sequence[str], request: Request) -> Iterator[Violation]:
    if isinstance(errors, Mapping) and len(path) < _DEEPEST:
        for name, inner in errors.items():
            yield from _walk(inner, (*path, str(name)), request)
    elif isinstance(errors, list):
        for index, item in enumerate(errors):
            yield from _walk(item, path if isinstance(item, str) else (*path, str(index)), request)
    elif isinstance(errors, str):
        yield _violation(errors, [part for part in path if part not in _WHOLE], request)


def _violation(message: str, path: Sequence[str], request: Request) -> Violation:
    if len(path) > 1 and part_of(path[0]):
        parts = [path[0], *(part for name in path[1:] for part in steps(name))]
    else:
        parts = [_as_sent(part, request) for name in path for part in steps(name)]
    constraint = named(message).constraint or ("required" if message in _ABSENT else "")
    return Violation(
        message=message,
        pointer=pointer(parts, request) if parts else "",
        constraint=constraint,
        param=path[-1] if path else "",
    )


def _as_sent(name: str, request: Request) -> str:
    """Return a member's name as the request spells it: ASP.NET writes `Name` for `name`."""
    names = request.body if isinstance(request.body, Mapping) else request.query
    if name in names or not name[:1].isupper():
        return name
    walk()
    return next((one for one in names if one.lower() == name.lower()), name[:1].lower() + name[1:])
