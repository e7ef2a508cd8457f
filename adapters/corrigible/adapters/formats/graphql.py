"""GraphQL errors: `{"errors": [{"message", "locations", "path", "extensions": {"code"}}]}`, mostly with status 200."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.pointer import to_pointer
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .pointers import steps

# graphql-js quotes with ", graphql-core with '; the newest releases of both say "has invalid value".
_VARIABLE: Final = re.compile(
    r"""^Variable ["']?\$(?P<name>\w{1,80})["']? """
    r"""(?:(?:got|has) invalid value .{0,400}? at ["'](?P<at>[\w.\[\]]{1,200})["']|\S)""",
    re.DOTALL,
)
_MISSING: Final = re.compile(
    r"""Field ["']?(?P<a>\w{1,80})["']? of required type .{0,120}? was not provided"""
    r"""|to include required field ["'](?P<b>\w{1,80})["']"""
    r"""|of required type .{0,120}? was not provided|of non-null type .{0,120}? to be provided"""
)
_UNKNOWN: Final = re.compile(
    r"""Field ["'](?P<a>\w{1,80})["'] is not defined by type|not to include unknown field ["'](?P<b>\w{1,80})["']"""
)


@dataclass(frozen=True, slots=True)
class GraphQlFormat:
    name: str = "graphql"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        listed = body.get("errors") if isinstance(body, dict) else None
        if not isinstance(listed, list) or not _is_graphql(exchange.request):
            return ()
        errors = [item for item in listed if isinstance(item, dict) and isinstance(item.get("message"), str)]
        return [_violation(item) for item in errors]


def _is_graphql(request: Request) -> bool:
    """Whether a request is GraphQL: over HTTP it carries the query in a member of that name."""
    return isinstance(request.body, dict) and isinstance(request.body.get("query"), str)


def _violation(item: Mapping[str, Json]) -> Violation:
    message = str(item["message"])
    extensions = item.get("extensions")
    extensions = extensions if isinstance(extensions, dict) else {}
    code = extensions.get("code")
    place, constraint = _place(message)
    return Violation(
        code=code if isinstance(code, str) else "",
        message=message,
        pointer=place,
        constraint=constraint,
        native={k: v for k, v in item.items() if k not in ("code", "pointer", "param", "type", "message")},
    )


def _place(message: str) -> tuple[str, str]:
    """Return where in the variables a value is refused; what is wrong in the query's text has no place."""
    match = _VARIABLE.search(message)
    if match is None:
        return "", ""
    parts = steps(match["at"]) if match["at"] else [match["name"]]
    place = "/body/variables" + to_pointer(parts)
    if (missing := _MISSING.search(message)) is not None:
        name = missing["a"] or missing["b"]
        return place + (f"/{name}" if name else ""), "required"
    if (unknown := _UNKNOWN.search(message)) is not None:
        return f"{place}/{unknown['a'] or unknown['b']}", "additionalProperties"
    return place, ""


GRAPHQL: Final = GraphQlFormat()
