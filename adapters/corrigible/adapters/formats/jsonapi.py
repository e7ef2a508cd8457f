"""JSON:API 1.1 error objects: `{"errors": [{"status": "422", "detail": "...", "source": {"pointer": "/data/x"}}]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .located import member_pointer, pointer, steps
from .message import missing_member


@dataclass(frozen=True, slots=True)
class JsonApiFormat:
    name: str = "jsonapi"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        listed = body.get("errors") if isinstance(body, Mapping) else None
        if not isinstance(listed, list) or not any(_is_error(item) for item in listed):
            return ()
        return [
            _violation(exchange.request, item) if isinstance(item, Mapping) else Violation(message=item)
            for item in listed
            if isinstance(item, (Mapping, str))
        ]


def _is_error(item: Json) -> bool:
    """Whether an error object is JSON:API's: a `source` object, or a status that is text beside a title or detail."""
    if not isinstance(item, Mapping):
        return False
    source, status = item.get("source"), item.get("status")
    placed = isinstance(source, Mapping) and any(name in source for name in ("pointer", "parameter", "header"))
    return placed or (isinstance(status, str) and status.isdecimal() and ("title" in item or "detail" in item))


def _violation(request: Request, item: Mapping[str, Json]) -> Violation:
    source = item.get("source")
    message = _text(item, "detail") or _text(item, "title")
    constraint = "required" if missing_member(message) else ""
    place, param = _place(request, source) if isinstance(source, Mapping) else ("", "")
    return Violation(
        code=_text(item, "code"),
        message=message,
        pointer=member_pointer(place, message, constraint, request),
        constraint=constraint,
        param=param,
        native={k: v for k, v in item.items() if k not in ("code", "pointer", "param", "type", "message")},
    )


def _place(request: Request, source: Mapping[str, Json]) -> tuple[str, str]:
    if said := _text(source, "pointer"):
        return pointer(steps(said), request, where="body"), ""
    if said := _text(source, "parameter"):
        return pointer([said], request, where="query"), said
    if said := _text(source, "header"):
        return pointer([said], request, where="headers"), said
    return "", ""


def _text(item: Mapping[str, Json], name: str) -> str:
    value = item.get(name)
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


JSONAPI: Final = JsonApiFormat()
