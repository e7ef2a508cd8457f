"""Ajv and the servers built on it: its own error objects, express-openapi-validator, Fastify."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .ajv_choice import of_one_alternative
from .members import others, text
from .pointers import member_pointer, part_of, pointer, steps

_EXPRESS_CODE: Final = re.compile(r"^(\w+)\.openapi\.")
_FASTIFY: Final = re.compile(r"^(?P<where>body|querystring|params|headers)(?P<path>/\S*)? (?P<message>.+)$", re.DOTALL)
_MEMBERS: Final = ("missingProperty", "additionalProperty", "unevaluatedProperty")
_NEXT: Final = re.compile(r", (?=(?:body|querystring|params|headers)[/ ])")
_KEYWORDS: Final = (
    (re.compile(r"must have required property"), "required"),
    (re.compile(r"must NOT have additional properties"), "additionalProperties"),
    (re.compile(r"must be equal to one of the allowed values"), "enum"),
    (re.compile(r"must be equal to constant"), "const"),
    (re.compile(r"must match pattern"), "pattern"),
    (re.compile(r"must match format"), "format"),
    (re.compile(r"must be >= "), "minimum"),
    (re.compile(r"must be <= "), "maximum"),
    (re.compile(r"must be > "), "exclusiveMinimum"),
    (re.compile(r"must be < "), "exclusiveMaximum"),
    (re.compile(r"must be multiple of"), "multipleOf"),
    (re.compile(r"must NOT have fewer than \d+ char"), "minLength"),
    (re.compile(r"must NOT have more than \d+ char"), "maxLength"),
    (re.compile(r"must NOT have fewer than \d+ items"), "minItems"),
    (re.compile(r"must NOT have more than \d+ items"), "maxItems"),
    (re.compile(r"must NOT have duplicate items"), "uniqueItems"),
    (re.compile(r"must match a schema in anyOf"), "anyOf"),
    (re.compile(r"must match exactly one schema in oneOf"), "oneOf"),
    (re.compile(r"^is read-only$"), "readOnly"),
    (re.compile(r"must be (?:string|number|integer|boolean|object|array|null)\b"), "type"),
)


def constraint_of(message: str) -> str:
    """Return the keyword whose message of Ajv's this is, empty where it is none."""
    return next((keyword for pattern, keyword in _KEYWORDS if pattern.search(message)), "")


@dataclass(frozen=True, slots=True)
class AjvFormat:
    name: str = "ajv"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        request = exchange.request
        if isinstance(body, list):
            return _errors(request, body)
        if not isinstance(body, dict):
            return ()
        if body.get("code") == "FST_ERR_VALIDATION" and isinstance(body.get("message"), str):
            return [_fastify(request, part) for part in _NEXT.split(body["message"])]
        for name in ("errors", "validation", "details"):
            listed = body.get(name)
            if isinstance(listed, list) and (violations := _errors(request, listed)):
                return violations
        return ()


def _errors(request: Request, listed: Sequence[Json]) -> list[Violation]:
    out: list[Violation] = []
    for item in of_one_alternative(listed):
        if not isinstance(item, dict):
            continue
        if isinstance(item.get("keyword"), str) and ("instancePath" in item or "dataPath" in item):
            out.append(read_error(request, item))
        elif isinstance(item.get("errorCode"), str) and ".openapi." in item["errorCode"]:
            out.append(_express(request, item))
    return out


def read_error(request: Request, item: Mapping[str, Json]) -> Violation:
    """Read Ajv's own object: the path of the instance, and parameters that name the member."""
    given = item.get("params")
    params: Mapping[str, Json] = given if isinstance(given, dict) else {}
    keyword, path = str(item["keyword"]), str(item.get("instancePath") or item.get("dataPath") or "")
    member = next((params[name] for name in _MEMBERS if isinstance(params.get(name), str)), "")
    place = pointer(steps(path), request) or ("/body" if request.body is not None else "")
    if member and place:
        place += "/" + escape(member)
    return Violation(
        code=keyword,
        message=text(item, "message"),
        pointer=place,
        constraint=keyword,
        param=path,
        native=others(item),
    )


def _express(request: Request, item: Mapping[str, Json]) -> Violation:
    """Read express-openapi-validator's: `path` leads to the member itself, also where it is missing."""
    code, message, path = text(item, "errorCode"), text(item, "message"), text(item, "path")
    match = _EXPRESS_CODE.search(code)
    keyword = match[1] if match is not None else ""
    place = pointer(steps(path), request)
    if keyword != "additionalProperties":
        place = member_pointer(place, message, keyword, request)
    return Violation(code=code, message=message, pointer=place, constraint=keyword, param=path)


def _fastify(request: Request, message: str) -> Violation:
    match = _FASTIFY.match(message)
    if match is None:
        return Violation(code="FST_ERR_VALIDATION", message=message)
    message, where = match["message"], part_of(match["where"])
    keyword = constraint_of(message)
    place = pointer(steps(match["path"] or ""), request, place=where) or f"/{where}"
    return Violation(
        code="FST_ERR_VALIDATION",
        message=message,
        pointer=member_pointer(place, message, keyword, request),
        constraint=keyword,
    )


AJV: Final = AjvFormat()
