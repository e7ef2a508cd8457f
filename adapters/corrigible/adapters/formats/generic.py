"""What APIs without an adapter say: the known dialects, then whatever looks like an error in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

from .ajv import AJV
from .fastapi import FASTAPI
from .graphql import GRAPHQL
from .jsonapi import JSONAPI
from .located import member_pointer, missing_member, pointer, steps, subject, unknown_member
from .problem import PROBLEM
from .spring import SPRING

DIALECTS: Final = (FASTAPI, AJV, GRAPHQL, JSONAPI, SPRING, PROBLEM)
"""In the order in which they are asked: what is told apart best goes first."""

_MESSAGE = ("message", "detail", "description", "error_description", "title", "msg", "reason", "error")
_CODE = ("code", "error_code", "errorCode", "type", "keyword", "rule")
_PLACE = ("pointer", "field", "param", "parameter", "path", "property", "propertyPath", "loc", "location", "source")
_OWN = frozenset({"code", "message", "pointer", "type", "param", "constraint"})
_LISTS = ("errors", "validation", "violations", "invalid_params", "invalid-params", "detail", "details", "issues")


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
        listed = outer.get(name)
        if isinstance(listed, list) and listed:
            found = [_violation(item, exchange) for item in listed if isinstance(item, (Mapping, str))]
            if found:
                return found
    whole = _violation(outer, exchange)
    return (whole,) if whole.message or whole.code else ()


def _violation(said: Mapping[str, Json] | str, exchange: Exchange) -> Violation:
    if isinstance(said, str):
        constraint = _constraint(said)
        return Violation(message=said, pointer=_named(said, constraint, exchange), constraint=constraint)
    # Spring's `path` is where the request went, not what was wrong with it.
    place = next((said[name] for name in _PLACE if said.get(name) and said[name] != exchange.request.path), "")
    message = _text(said, _MESSAGE)
    constraint = _constraint(message)
    found = _pointer(place, exchange)
    if found:
        found = member_pointer(found, message, constraint, exchange.request)
    else:
        found = _named(message, constraint, exchange)
    return Violation(
        code=_text(said, _CODE),
        message=message,
        pointer=found,
        constraint=constraint,
        type=said["type"] if isinstance(said.get("type"), str) else "",
        param=place if isinstance(place, str) else "",
        native={k: v for k, v in said.items() if k not in _OWN},
    )


def _constraint(message: str) -> str:
    return "required" if missing_member(message) else "additionalProperties" if unknown_member(message) else ""


def _named(message: str, constraint: str, exchange: Exchange) -> str:
    """Return the place of a member that only the message names."""
    member = missing_member(message) if constraint == "required" else unknown_member(message) if constraint else ""
    if not member:
        return subject(message, exchange.request)
    return pointer(steps(member), exchange.request)


def _text(said: Mapping[str, Json], names: Sequence[str]) -> str:
    return next((str(said[name]) for name in names if isinstance(said.get(name), (str, int))), "")


def _pointer(place: Json, exchange: Exchange) -> str:
    """Turn `body.items[0].price`, `["body", "items", 0]`, `#/items/0` or `items/0` into a pointer into the request."""
    if isinstance(place, Mapping):
        place = place.get("pointer") or place.get("parameter") or ""
    if isinstance(place, list):
        return pointer([str(part) for part in place], exchange.request)
    return pointer(steps(place), exchange.request) if isinstance(place, str) and place else ""
