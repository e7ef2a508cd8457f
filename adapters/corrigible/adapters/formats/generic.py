"""Errors of APIs without an adapter: the known dialects, then whatever looks like an error in JSON.

Where no dialect knows a body, this is guessed, from the top:

| found                                                      | read as                                     |
|------------------------------------------------------------|---------------------------------------------|
| a list of objects or texts                                 | a complaint each                            |
| an object `error`                                          | the error is that object, else the body     |
| in the error a list of `_LISTS`                            | a complaint each                            |
| ... an object there with a `message`, `msg` or `code`      | one complaint                               |
| ... one of `_BY_MEMBER`, or one of nothing but text lists  | complaints under their members' names       |
| an error of nothing but lists of texts                     | complaints under their members' names       |
| anything else that has a message or a code                 | one complaint                               |

Of a complaint the first member of `_MESSAGE`, `_CODE` and `_PLACE` that is there counts; where none says the place or
the constraint, the sentence may (`message`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

from .ajv import AJV
from .fastapi import FASTAPI
from .field_map import is_field_map, read_field_map
from .graphql import GRAPHQL
from .jsonapi import JSONAPI
from .members import others, text
from .message import named
from .pointers import about, member_pointer, part_of, pointer, steps
from .problem import PROBLEM
from .spring import SPRING

DIALECTS: Final = (FASTAPI, AJV, GRAPHQL, JSONAPI, SPRING, PROBLEM)
"""In the order in which they are tried: the most distinctive goes first."""

_MESSAGE = ("message", "detail", "description", "error_description", "title", "msg", "reason", "error")
_CODE = ("code", "error_code", "errorCode", "type", "keyword", "rule")
_PLACE = (
    *("pointer", "field", "param", "parameter", "path", "property", "propertyPath", "target", "loc", "location"),
    "source",
)
_LISTS = (
    *("errors", "validation", "violations", "invalid_params", "invalid-params", "detail", "details", "issues"),
    *("message", "messages", "validationErrors", "validation_errors", "fieldErrors", "field_errors", "fields"),
)
_BY_MEMBER = frozenset({"errors", "validationErrors", "validation_errors", "fieldErrors", "field_errors"})
"""Names of objects that can only hold errors by member."""


class GenericFormat:
    """Reads the errors of most JSON APIs, in whichever of their shapes."""

    name = "generic"

    def __init__(self, facts: Callable[[Exchange, Violation], Mapping[str, Json]] | None = None) -> None:
        """`facts` are further native members, of an API whose own dialect gives them too."""
        self._facts = facts

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        dialects = (dialect.read(exchange, body) for dialect in DIALECTS)
        violations = next(filter(None, dialects), None) or _read(exchange, body)
        if self._facts is None:
            return violations
        return [one._replace(native={**self._facts(exchange, one), **one.native}) for one in violations]


def _read(exchange: Exchange, body: Json) -> Sequence[Violation]:
    if isinstance(body, list):
        return [_violation(item, exchange) for item in body if isinstance(item, (Mapping, str))]
    if not isinstance(body, Mapping):
        return ()
    inner = body.get("error")
    outer = inner if isinstance(inner, Mapping) else body
    for name in _LISTS:
        violations = _several(outer.get(name), name, exchange)
        if violations:
            return violations
    if is_field_map(outer):
        return read_field_map(outer, exchange.request)
    whole = _violation(outer, exchange)
    return (whole,) if whole.message or whole.code else ()


def _several(entries: Json, name: str, exchange: Exchange) -> list[Violation]:
    if isinstance(entries, Mapping):
        if any(isinstance(entries.get(one), str) for one in ("message", "msg", "code")):
            return [_violation(entries, exchange)]
        return read_field_map(entries, exchange.request) if name in _BY_MEMBER or is_field_map(entries) else []
    listed = entries if isinstance(entries, list) else []
    return [_violation(item, exchange) for item in listed if isinstance(item, (Mapping, str))]


def _violation(error: Mapping[str, Json] | str, exchange: Exchange) -> Violation:
    if isinstance(error, str):
        place, constraint = about(error, exchange.request)
        return Violation(message=error, pointer=place, constraint=constraint)
    # Spring's `path` is where the request went, not what was wrong with it.
    named_place = next((error[name] for name in _PLACE if error.get(name) and error[name] != exchange.request.path), "")
    message = text(error, *_MESSAGE)
    place, constraint = about(message, exchange.request)
    if named_pointer := _pointer(named_place, error, exchange):
        constraint = constraint or named(message).constraint
        place = member_pointer(named_pointer, message, constraint, exchange.request)
    return Violation(
        code=text(error, *_CODE),
        message=message,
        pointer=place,
        constraint=constraint,
        type=error["type"] if isinstance(error.get("type"), str) else "",
        param=named_place if isinstance(named_place, str) else "",
        native=others(error),
    )


def _pointer(place: Json, error: Mapping[str, Json], exchange: Exchange) -> str:
    """Turn `body.items[0].price`, `["body", "items", 0]`, `#/items/0` or `items/0` into a pointer into the request."""
    if isinstance(place, Mapping):
        place = place.get("pointer") or place.get("parameter") or ""
    if isinstance(place, list):
        return pointer([str(part) for part in place], exchange.request)
    if not isinstance(place, str) or not place:
        return ""
    # express-validator names the part of the request beside the name.
    part = next((error[name] for name in ("location", "in") if isinstance(error.get(name), str)), "")
    return pointer(steps(place), exchange.request, where=part_of(part) if part != place else "")
