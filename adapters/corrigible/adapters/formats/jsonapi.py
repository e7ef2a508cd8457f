"""JSON:API 1.1 error objects: `{"errors": [{"status": "422", "detail": "...", "source": {"pointer": "/data/x"}}]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.adapters.formats.message.member_names import missing_member
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .members import others, text
from .pointers import member_pointer, pointer, steps


@dataclass(frozen=True, slots=True)
class JsonApiFormat:
    name: str = "jsonapi"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        listed = body.get("errors") if isinstance(body, dict) else None
        if not isinstance(listed, list) or not any(_is_error(item) for item in listed):
            return ()
        return [
            _violation(exchange.request, item) if isinstance(item, dict) else Violation(message=item)
            for item in listed
            if isinstance(item, (dict, str))
        ]


def _is_error(item: Json) -> bool:
    """Whether an error object is JSON:API's: a `source` object, or a status that is text beside a title or detail."""
    if not isinstance(item, dict):
        return False
    source, status = item.get("source"), item.get("status")
    placed = isinstance(source, dict) and any(name in source for name in ("pointer", "parameter", "header"))
    return placed or (isinstance(status, str) and status.isdecimal() and ("title" in item or "detail" in item))


def _violation(request: Request, item: Mapping[str, Json]) -> Violation:
    source = item.get("source")
    message = text(item, "detail", "title")
    constraint = "required" if missing_member(message) else ""
    place, param = _place(request, source) if isinstance(source, dict) else ("", "")
    return Violation(
        code=text(item, "code"),
        message=message,
        pointer=member_pointer(place, message, constraint, request),
        constraint=constraint,
        param=param,
        native=others(item),
    )


def _place(request: Request, source: Mapping[str, Json]) -> tuple[str, str]:
    if place := text(source, "pointer"):
        return pointer(steps(place), request, place="body"), ""
    for member, where in (("parameter", "query"), ("header", "headers")):
        if name := text(source, member):
            return pointer([name], request, place=where), name
    return "", ""


JSONAPI: Final = JsonApiFormat()
