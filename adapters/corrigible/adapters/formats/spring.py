"""Spring Boot's error attributes: `{"timestamp", "status", "error", "errors": [{"field", "defaultMessage"}]}`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .members import others, text
from .pointers import pointer, steps

_CONSTRAINTS: Final = {
    "NotNull": "required",
    "Min": "minimum",
    "DecimalMin": "minimum",
    "PositiveOrZero": "minimum",
    "Positive": "exclusiveMinimum",
    "Max": "maximum",
    "DecimalMax": "maximum",
    "NegativeOrZero": "maximum",
    "Negative": "exclusiveMaximum",
    "Pattern": "pattern",
    "Email": "format",
    "typeMismatch": "type",
}
"""Jakarta Bean Validation's names, and Spring's for a value that cannot be bound."""

_PARAMETER: Final = re.compile(
    r"^Required (?:request )?(?:(?P<header>header)|(?:query )?parameter) '(?P<name>[\w.\[\]-]{1,80})'"
)


@dataclass(frozen=True, slots=True)
class SpringFormat:
    name: str = "spring"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        if not isinstance(body, dict) or "timestamp" not in body or not isinstance(body.get("error"), str):
            return ()
        listed = body.get("errors")
        if isinstance(listed, list) and any(isinstance(item, dict) for item in listed):
            return [_violation(exchange.request, item) for item in listed if isinstance(item, dict)]
        message = text(body, "message") or body["error"]
        match = _PARAMETER.search(message)
        place = "" if match is None else "headers" if match["header"] else "query"
        return (
            Violation(
                message=message,
                pointer="" if match is None else pointer([match["name"]], exchange.request, place=place),
                constraint="" if match is None else "required",
                param="" if match is None else match["name"],
                native=others(body),
            ),
        )


def _violation(request: Request, item: Mapping[str, Json]) -> Violation:
    code, field = text(item, "code"), text(item, "field")
    return Violation(
        code=code,
        message=text(item, "defaultMessage", "message"),
        pointer=pointer(steps(field), request) if field else "",
        constraint=_CONSTRAINTS.get(code, ""),
        param=field,
        native=others(item),
    )


SPRING: Final = SpringFormat()
