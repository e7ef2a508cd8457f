"""From the ways in which dialects name a place to a pointer into the request document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.member_names import find_member, find_subject, missing_member, unknown_member
from corrigible.rules.pointer import MISSING, escape, parameters_at, segments, to_pointer, value_at
from corrigible.schema.exchange import Json, Request

_STEPS = re.compile(r"""\[\s*(?:'([^']*)'|"([^"]*)")\s*\]|[^./\[\]]+""")
"""A quoted name in brackets (RFC 9535) is one step, whatever it holds."""
_SEPARATORS: Final = re.compile(r"[\s_-]")
_WHERE: Final = {
    "body": "body",
    "requestbody": "body",
    "payload": "body",
    "json": "body",
    "form": "body",
    "query": "query",
    "querystring": "query",
    "queryparams": "query",
    "headers": "headers",
    "header": "headers",
    "path": "path",
    "params": "path",
    "pathparams": "path",
    "request": "request",
    "cookie": "cookie",
    "cookies": "cookie",
}
"""What dialects call the parts of a request. `params` are Express' and Fastify's path parameters."""


def place_in_message(message: str, request: Request) -> tuple[str, str]:
    """Return the place and the keyword that a message alone gives, empty where it gives none.

    A missing member is where it would be; any other has to be in the request.
    """
    name = find_member(message)
    if name.member:
        return pointer(steps(name.member), request, place=part_of(name.part)), name.constraint
    name = find_subject(message)
    place = pointer(steps(name.member), request, place=part_of(name.part)) if name.member else ""
    return (place, "") if place and value_at(request, place) is not MISSING else ("", "")


def steps(place: str) -> list[str]:
    """Split `items[0].price`, `.body.items`, `$.items`, `items/0/price` or `labels['a/b']` into its parts."""
    if place.startswith(("#/", "/")):
        return [part for part in segments(place.lstrip("#")) if part]
    parts = (match[1] or match[2] or match[0].strip("'\"") for match in _STEPS.finditer(place.removeprefix("$")))
    return [part for part in parts if part and not part.startswith("[")]


def part_of(name: str) -> str:
    """Return the part of the request that a dialect's word stands for, empty where it is no such word."""
    return _WHERE.get(_SEPARATORS.sub("", name).lower(), "")


def pointer(parts: Sequence[str], request: Request, *, member: str = "", place: str = "") -> str:
    """Return the pointer to a place, empty where it is none in the request document.

    `parts` may begin with a word for the part of the request unless `place` says it. `member` is one further step.
    """
    parts = [str(part) for part in parts]
    if not place and parts and (part := part_of(parts[0])):
        # A member of the body may be called `path` or `form` too: a top-level member of the body wins.
        if len(parts) == 1 and part == "body" and (own_place := member_called(parts[0], request.body)):
            return own_place
        is_name = len(parts) == 1 and part not in ("body", "request")
        if is_name and part == "path" and not _has(request.body, parts[0]) and part in request.query:
            return f"/query/{part}"  # a parameter of that name was sent, and a sentence begins with it
        own = is_name and _has(request.body, parts[0])
        place, parts = ("", parts) if own else (part, parts[1:])
    if place == "request":
        inner = part_of(parts[0]) if parts else ""
        place, parts = (inner, parts[1:]) if inner else (parameters_at(request)[1:] if parts else "", parts)
    elif not place and (parts or member):
        place = _part_with(parts[0], request) if len(parts) == 1 and not member else ""
        place = place or parameters_at(request)[1:]
    if member:
        parts = [*parts, member]
    match place:
        case "" | "cookie":
            return ""
        case "path":
            return "/path"
        case "headers":
            return f"/headers/{escape(parts[0].lower())}" if parts else "/headers"
        case "query":
            return _query(parts, request)
        case _:
            return "/body" + to_pointer(parts)


def member_called(name: str, body: Json) -> str:
    """Return the place of a member of this name in an object, or in the only object that it wraps."""
    if _has(body, name):
        return f"/body/{escape(name)}"
    if isinstance(body, Mapping) and len(body) == 1:
        ((around, inner),) = body.items()
        return f"/body/{escape(str(around))}/{escape(name)}" if _has(inner, name) else ""
    return ""


def _query(parts: Sequence[str], request: Request) -> str:
    """Return the place in a query, whose names are as they were sent: `a[b]`, `a[]`."""
    if not parts:
        return "/query"
    head, rest = parts[0], parts[1:]
    nested = head + "".join(f"[{part}]" for part in rest)
    for name in (nested, f"{head}[]", head):
        if name in request.query:
            index = rest if name != nested and isinstance(request.query[name], list) else ()
            return f"/query/{escape(name)}" + to_pointer(index)
    return f"/query/{escape(nested)}"


def member_pointer(place: str, message: str, constraint: str, request: Request) -> str:
    """Return the place of the member that a message names below a place, the place itself where it names none.

    Validators point to the object that lacks a member, or has one too many: the place is the member's own.
    """
    name = unknown_member(message) if constraint in ("additionalProperties", "unevaluatedProperties") else ""
    if constraint == "required":
        name = missing_member(message)
    if not name or place in ("", "/path"):
        return place
    if place == "/query":
        return _query(steps(name), request)
    if place == "/headers" or place.startswith("/headers/"):
        return f"/headers/{escape(name.lower())}"
    last = place.rpartition("/")[2]
    if last == escape(name) and not isinstance(value_at(request, place), dict):
        return place  # the place is the member's own already
    return place + "/" + escape(name)


def _part_with(name: str, request: Request) -> str:
    """Return the only part of the request that has a name: servers do not always give the part."""
    if _has(request.body, name):
        return "body"
    if name in request.query:
        return "query"
    return "headers" if "-" in name and name.lower() in request.headers else ""


def _has(body: Json, name: str) -> bool:
    return isinstance(body, dict) and name in body
