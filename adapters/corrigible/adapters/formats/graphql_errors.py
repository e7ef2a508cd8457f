"""Errors of GraphQL (GraphQL specification, section 7.1): each with its place in the variables, where it tells one.

An answer with data is a partial success: nobody has to send it again, and nothing is read of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .members import others, text
from .text_shapes import Told, told_in


class GraphQlFormat:
    """`{"errors": [{"message", "locations", "path", "extensions": {"code"}}]}`."""

    name = "graphql"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        if isinstance(body, str) and exchange.status >= 400 and is_asked(exchange.request):
            return [Violation(message=body)]
        listed = body.get("errors") if isinstance(body, dict) else None
        if not isinstance(listed, list) or not isinstance(body, dict) or holds_something(body.get("data")):
            return ()
        if not is_asked(exchange.request):
            return ()
        items = [one for one in listed if isinstance(one, dict) and "message" in one]
        if "data" not in body:
            items = [{**one, "path": None} if _is_of_document(one.get("path")) else one for one in items]
        return [_of_query(one, exchange.request) for one in items]


def is_asked(request: Request) -> bool:
    """Whether a request has one document of GraphQL, under whatever name, or the hash of one."""
    held = request.body if isinstance(request.body, dict) else request.query if request.body is None else {}
    is_persisted = isinstance(held.get("extensions"), dict) and "persistedQuery" in held["extensions"]
    is_there = any(isinstance(one, str) and (name == "query" or "{" in one) for name, one in held.items())
    return not request.form and (is_there or is_persisted)


def _is_of_document(path: Json) -> bool:
    """Whether a path begins with an operation or fragment, as that of a validation error of Ruby: nothing was run."""
    return isinstance(path, list) and bool(path) and _DEFINITION.fullmatch(str(path[0])) is not None


_DEFINITION: Final = re.compile(r"(?:query|mutation|subscription)(?: \w+)?|fragment \w+")


def holds_something(data: Json) -> bool:
    """Whether the data of an answer has a value of any field that was asked for."""
    return isinstance(data, dict) and any(one is not None for one in data.values())


def _of_query(item: Mapping[str, Json], request: Request) -> Violation:
    """Return an error at the variable that it refuses; what is wrong in the query's text has no place."""
    message, extensions = str(item["message"]), item.get("extensions")
    inner = extensions.get("message") if isinstance(extensions, dict) else None
    message = inner if isinstance(inner, str) and _is_of_status(message) and not _is_of_status(inner) else message
    code = text(extensions if isinstance(extensions, dict) else item, "code")
    told = (one for one in told_in(message, request) if one.pointer.startswith("/body/variables"))
    place, variable = next(told, Told("", message)), _variable(item.get("path"), request)
    left_out = ("path",) if variable else ()
    native = {name: one for name, one in others(item).items() if one is not None and name not in left_out}
    printed = message if place.text != message else ""
    return Violation(code, place.text, variable or place.pointer, place.keyword, native=native, printed=printed)


def _is_of_status(message: str) -> bool:
    """Whether a text says the status of an answer of HTTP by its number and in its words, or has no words."""
    said = (one for one in HTTPStatus if "status" in message.lower() or one.phrase.lower() in message.lower())
    return not message.strip() or any(re.search(rf"\b{one.value}\b", message) for one in said)


def _variable(path: Json, request: Request) -> str:
    """Return the place in the variables that a path of gqlparser leads to; empty of a path in an answer."""
    held, base = (request.query, "/query") if request.body is None else (request.body, "/body")
    query = held.get("query") if isinstance(held, Mapping) else None
    match path:
        case ["variable", str(name), *_] if isinstance(query, str):
            is_declared = re.search(rf"\$\s*{re.escape(name)}\s*:", query) is not None
            if is_declared and _VARIABLE.search(query) is None:
                return f"{base}/variables/{'/'.join(escape(str(one)) for one in path[1:])}"
    return ""


_VARIABLE: Final = re.compile(r"(?<![\w$])variable\b")
"""The name of a field or an alias, where a path of an answer may begin."""


GRAPHQL: Final = GraphQlFormat()
