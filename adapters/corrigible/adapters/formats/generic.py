"""Common JSON error shapes, for APIs without an adapter: RFC 9457, `errors[]`, FastAPI's `detail[]`, `{error}`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from corrigible.rules.pointer import escape
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

_MESSAGE = ("message", "detail", "description", "error_description", "title", "msg", "reason", "error")
_CODE = ("code", "error_code", "errorCode", "type", "keyword", "rule")
_PLACE = ("pointer", "field", "param", "parameter", "path", "property", "loc", "location", "source")
_LISTS = ("errors", "validation", "violations", "invalid_params", "invalid-params", "detail", "details", "issues")
_SEPARATORS = re.compile(r"[./\[\]]+")
_PLACES = ("body", "query", "headers", "path")


class GenericFormat:
    """Reads what most JSON APIs say, in whichever of their shapes."""

    name = "generic"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
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
        return Violation(message=said)
    # Spring's `path` is where the request went, not what was wrong with it.
    place = next((said[name] for name in _PLACE if said.get(name) and said[name] != exchange.request.path), "")
    return Violation(
        code=_text(said, _CODE),
        message=_text(said, _MESSAGE),
        pointer=_pointer(place, exchange),
        type=said["type"] if isinstance(said.get("type"), str) else "",
        param=place if isinstance(place, str) else "",
        native={k: v for k, v in said.items() if k not in ("code", "message", "pointer", "type", "param")},
    )


def _text(said: Mapping[str, Json], names: Sequence[str]) -> str:
    return next((str(said[name]) for name in names if isinstance(said.get(name), (str, int))), "")


def _pointer(place: Json, exchange: Exchange) -> str:
    """Turn `body.items[0].price`, `["body", "items", 0]`, `#/items/0` or `items/0` into a pointer into the request."""
    if isinstance(place, Mapping):
        place = place.get("pointer") or place.get("parameter") or ""
    if isinstance(place, list):
        parts = [str(part) for part in place]
    elif not isinstance(place, str) or not place:
        return ""
    elif place.startswith(("#/", "/")):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in place.lstrip("#")[1:].split("/")]
    else:
        parts = _SEPARATORS.split(place)
    if parts and parts[0] in _PLACES:
        where, parts = parts[0], parts[1:]
    else:
        where = "body" if exchange.request.body is not None else "query"
    return "/" + "/".join(escape(part) for part in (where, *parts) if part != "")
