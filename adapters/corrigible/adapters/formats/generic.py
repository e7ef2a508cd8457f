"""What APIs without an adapter say: the known dialects, then whatever looks like an error in JSON.

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

from collections.abc import Mapping, Sequence
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
"""In the order in which they are asked: what is told apart best goes first."""

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
"""Names of objects that can hold nothing but complaints by member."""


class GenericFormat:
    """Reads what most JSON APIs say, in whichever of their shapes."""

    name = "generic"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        for dialect in DIALECTS:
            violations = dialect.read(exchange, body)
            if violations:
                return violations
        return _read(exchange, body)


def _read(exchange: Exchange, body: Json) -> Sequence[Violation]:
    if isinstance(body, list):
        return [_violation(item, exchange) for item in body if isinstance(item, (Mapping, str))]
    if not isinstance(body, Mapping):
        return ()
    inner = body.get("error")
    outer = inner if isinstance(inner, Mapping) else body
    for name in _LISTS:
        found = _several(outer.get(name), name, exchange)
        if found:
            return found
    if is_field_map(outer):
        return read_field_map(outer, exchange.request)
    whole = _violation(outer, exchange)
    return (whole,) if whole.message or whole.code else ()


def _several(said: Json, name: str, exchange: Exchange) -> list[Violation]:
    if isinstance(said, Mapping):
        if any(isinstance(said.get(one), str) for one in ("message", "msg", "code")):
            return [_violation(said, exchange)]
        return read_field_map(said, exchange.request) if name in _BY_MEMBER or is_field_map(said) else []
    listed = said if isinstance(said, list) else []
    return [_violation(item, exchange) for item in listed if isinstance(item, (Mapping, str))]


def _violation(said: Mapping[str, Json] | str, exchange: Exchange) -> Violation:
    if isinstance(said, str):
        found, constraint = about(said, exchange.request)
        return Violation(message=said, pointer=found, constraint=constraint)
    # Spring's `path` is where the request went, not what was wrong with it.
    place = next((said[name] for name in _PLACE if said.get(name) and said[name] != exchange.request.path), "")
    message = text(said, *_MESSAGE)
    found, constraint = about(message, exchange.request)
    if placed := _pointer(place, said, exchange):
        constraint = constraint or named(message).constraint
        found = member_pointer(placed, message, constraint, exchange.request)
    return Violation(
        code=text(said, *_CODE),
        message=message,
        pointer=found,
        constraint=constraint,
        type=said["type"] if isinstance(said.get("type"), str) else "",
        param=place if isinstance(place, str) else "",
        native=others(said),
    )


def _pointer(place: Json, said: Mapping[str, Json], exchange: Exchange) -> str:
    """Turn `body.items[0].price`, `["body", "items", 0]`, `#/items/0` or `items/0` into a pointer into the request."""
    if isinstance(place, Mapping):
        place = place.get("pointer") or place.get("parameter") or ""
    if isinstance(place, list):
        return pointer([str(part) for part in place], exchange.request)
    if not isinstance(place, str) or not place:
        return ""
    # express-validator says the part of the request beside the name.
    beside = next((said[name] for name in ("location", "in") if isinstance(said.get(name), str)), "")
    return pointer(steps(place), exchange.request, where=part_of(beside) if beside != place else "")
