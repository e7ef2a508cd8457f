"""Spring Boot's error attributes: `{"timestamp", "status", "error", "errors": [{"field", "defaultMessage"}]}`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .located import pointer, steps

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
        if not isinstance(body, Mapping) or "timestamp" not in body or not isinstance(body.get("error"), str):
            return ()
        listed = body.get("errors")
        if isinstance(listed, list) and any(isinstance(item, Mapping) for item in listed):
            return [_violation(exchange.request, item) for item in listed if isinstance(item, Mapping)]
        message = body.get("message")
        text = message if isinstance(message, str) and message else body["error"]
        found = _PARAMETER.search(text)
        where = "" if found is None else "headers" if found["header"] else "query"
        return (
            Violation(
                message=text,
                pointer="" if found is None else pointer([found["name"]], exchange.request, where=where),
                constraint="" if found is None else "required",
                param="" if found is None else found["name"],
                native={k: v for k, v in body.items() if k not in ("message", "code", "pointer", "type", "param")},
            ),
        )


def _violation(request: Request, item: Mapping[str, Json]) -> Violation:
    code, field = _text(item, "code"), _text(item, "field")
    return Violation(
        code=code,
        message=_text(item, "defaultMessage") or _text(item, "message"),
        pointer=pointer(steps(field), request) if field else "",
        constraint=_CONSTRAINTS.get(code, ""),
        param=field,
        native={k: v for k, v in item.items() if k not in ("code", "pointer", "param", "type", "message")},
    )


def _text(item: Mapping[str, Json], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


SPRING: Final = SpringFormat()
