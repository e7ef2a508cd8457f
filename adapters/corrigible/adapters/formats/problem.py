"""RFC 9457 problem documents, with the lists of single errors that servers add to them.

Among them those of Prism (`validation[]`), ASP.NET (`errors` by member), API Platform (`violations[]`) and the RFC's
own example (`errors[]` with a JSON pointer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .json_errors import find_errors
from .members import others, text
from .pointers import member_pointer, part_of, place_in_message, pointer, steps

_LISTS: Final = ("validation", "errors", "violations", "invalid_params", "invalid-params", "issues", "details")
_PLACES: Final = ("location", "pointer", "propertyPath", "instancePath", "field", "name", "param", "path", "property")
_CODES: Final = ("code", "keyword", "errorCode", "constraint", "type")
_MESSAGES: Final = ("message", "detail", "reason", "title", "description", "msg")
_KEYWORDS: Final = frozenset(
    {
        *("enum", "const", "required", "type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"),
        *("additionalProperties", "unevaluatedProperties", "anyOf", "oneOf", "allOf", "not", "minProperties"),
        *("maxProperties", "dependentRequired"),
    }
)
_ROUTES: Final = {
    "NO_PATH_MATCHED_ERROR": "/path",
    "NO_METHOD_MATCHED_ERROR": "/method",
    "METHOD_NOT_ALLOWED": "/method",
    "INVALID_CONTENT_TYPE": "/headers/content-type",
}
"""What gateways call a request that leads to no operation."""


@dataclass(frozen=True, slots=True)
class ProblemFormat:
    name: str = "problem"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        if not isinstance(body, dict) or not _is_problem(exchange, body):
            return ()
        listed = list(_listed(exchange.request, body))
        if listed:
            return listed
        kind = text(body, "type")
        word = kind.rpartition("#")[2] if "#" in kind else ""
        message = text(body, "detail", "title")
        if not message and not kind:
            return ()
        place, constraint = place_in_message(message, exchange.request)
        return (
            Violation(
                code=text(body, "code") or word or kind,
                message=message,
                pointer=_ROUTES.get(word, place),
                constraint=constraint,
                type=kind,
                native=others(body),
            ),
        )


def _is_problem(exchange: Exchange, body: Mapping[str, Json]) -> bool:
    if exchange.headers.get("content-type", "").lower().startswith("application/problem+json"):
        return True
    return isinstance(body.get("title"), str) and isinstance(body.get("status"), int)


def _listed(request: Request, body: Mapping[str, Json]) -> Iterator[Violation]:
    for name in _LISTS:
        errors = body.get(name)
        if isinstance(errors, list):
            for item in errors:
                if isinstance(item, dict) and (violation := _complaint(request, item)) is not None:
                    yield violation
        elif isinstance(errors, dict):
            yield from find_errors({name: errors}, request)


def _complaint(request: Request, item: Mapping[str, Json]) -> Violation | None:
    place = next((item[name] for name in _PLACES if item.get(name)), "")
    parts = [str(part) for part in place] if isinstance(place, list) else steps(place) if isinstance(place, str) else []
    if parts[:1] == ["response"]:
        return None  # what is wrong with the answer no request can mend
    code, message = text(item, *_CODES), text(item, *_MESSAGES)
    constraint = code if code in _KEYWORDS else ""
    where = "body" if isinstance(place, str) and place.startswith("#") else part_of(text(item, "in"))
    named_pointer = pointer(parts, request, place=where)
    if code == "415":
        named_pointer = "/headers/content-type"
    elif not named_pointer and constraint == "required":
        named_pointer = "/body"
    return Violation(
        code=code,
        message=message,
        pointer=member_pointer(named_pointer, message, constraint, request),
        constraint=constraint,
        type=text(item, "type"),
        param=parts[-1] if parts and parts[0] == "path" else place if isinstance(place, str) else "",
        native=others(item),
    )


PROBLEM: Final = ProblemFormat()
