"""From the ways in which dialects name a place to a pointer into the request document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.schema.exchange import Json, Request

_STEPS = re.compile(r"[./\[\]]+")
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

_NAME: Final = r"""['"`]?(?P<a>[\w$@:\[\].-]{1,80}?)['"`]?(?:[.,;]?$|[,;\s])"""
_KIND: Final = r"(?:propert(?:y|ies)|fields?|param(?:eter)?s?|arguments?|attributes?|members?|keys?)"
_MISSING_MEMBER: Final = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"\b(?:must have|requires|lacks)(?: an?| the)? (?:required )?{_KIND}:? {_NAME}",
        rf"\bmissing (?:required )?{_KIND}:? {_NAME}",
        r"""^['"`](?P<a>[\w$@.-]{1,80})['"`] is (?:a )?required(?: property| field| parameter)?\b""",
        rf"""^(?:the )?{_KIND} ['"`]?(?P<a>[\w$@.-]{{1,80}})['"`]? (?:is (?:required|missing)|must be set)\b""",
        rf"""^the ['"`]?(?P<a>[\w$@.-]{{1,80}})['"`]? {_KIND} (?:is (?:required|missing)|must be set)\b""",
        r"^(?P<a>[a-z_$][\w$@.-]{0,79}) is (?:a )?required(?: property| field| parameter)?\.?$",
        r"""^['"`](?P<a>[\w$@.-]{1,80})['"`] (?:wasn't|was not|must be) (?:supplied|provided|given|specified)\b""",
    )
)
_UNKNOWN_MEMBER: Final = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        r"""additional propert(?:y|ies); found ['"`](?P<a>[^'"`]{1,80})['"`]""",
        r"""^additional properties are not allowed \(['"`](?P<a>[^'"`]{1,80})['"`] w(?:as|ere) unexpected\)""",
        r"""unevaluated properties: ['"`](?P<a>[^'"`]{1,80})['"`]""",
        rf"\b(?:unknown|unexpected|unrecogni[sz]ed|unevaluated|undeclared) {_KIND}:? {_NAME}",
        rf"""^{_KIND} ['"`](?P<a>[\w$@.-]{{1,80}})['"`] (?:is not allowed|does not exist|is unknown)""",
    )
)

_SUBJECT: Final = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"^(?:the )?(?:{_KIND} )?['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}}?)['\"`]? (?:{_KIND} )?"
        r"(?:is|are|must|has|does|should|can(?:not|'t|\b)|may not)\b",
        r"^(?:the )?(?:invalid|unknown|unsupported|bad|wrong) (?:value (?:for|of) )?"
        rf"['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}}?)['\"`]?(?: {_KIND})?(?:[.:,;]|$)",
    )
)


def subject(message: str, request: Request) -> str:
    """Return the place of the member of the request that a message begins by naming, empty where there is none."""
    named = _named(message, _SUBJECT)
    place = pointer(steps(named), request) if named else ""
    return place if place and resolve(request.document(), place) is not MISSING else ""


def missing_member(message: str) -> str:
    """Return the member whose absence a message complains about, empty where it names none."""
    return _named(message, _MISSING_MEMBER)


def unknown_member(message: str) -> str:
    """Return the member that a message says is none, empty where it names none."""
    return _named(message, _UNKNOWN_MEMBER)


def _named(message: str, patterns: Sequence[re.Pattern[str]]) -> str:
    if len(message) > 500:
        return ""
    found = next((found for pattern in patterns if (found := pattern.search(message))), None)
    return found["a"] if found is not None else ""


def steps(place: str) -> list[str]:
    """Split `items[0].price`, `.body.items`, `$.items` or `items/0/price` into its parts."""
    if place.startswith(("#/", "/")):
        return [part.replace("~1", "/").replace("~0", "~") for part in place.lstrip("#")[1:].split("/") if part]
    return [part.strip("'\"") for part in _STEPS.split(place.removeprefix("$")) if part]


def part_of(name: str) -> str:
    """Return which part of the request a dialect's word means, empty where it is no such word."""
    return _WHERE.get(re.sub(r"[\s_-]", "", name).lower(), "")


def pointer(parts: Sequence[str], request: Request, *, member: str = "", where: str = "") -> str:
    """Return the pointer to a place, empty where it is none in the request document.

    `parts` may begin with a word for the part of the request unless `where` says it. `member` is one further step.
    """
    parts = [str(part) for part in parts]
    if not where and parts and (said := part_of(parts[0])):
        # A member of the body may be called `path` or `form` too: what the body has at its top is meant.
        own = len(parts) == 1 and said not in ("body", "request") and _has(request.body, parts[0])
        where, parts = ("", parts) if own else (said, parts[1:])
    if where == "request":
        where, parts = (part_of(parts[0]), parts[1:]) if parts else ("", [])
    elif not where and (parts or member):
        where = "body" if request.body is not None or request.method not in ("GET", "HEAD", "DELETE") else "query"
    if member:
        parts = [*parts, member]
    match where:
        case "":
            return ""
        case "path":
            return "/path"
        case "cookie":
            return ""
        case "headers":
            return f"/headers/{escape(parts[0].lower())}" if parts else "/headers"
        case "query":
            return _query(parts, request)
        case _:
            return "/body" + "".join("/" + escape(part) for part in parts)


def _query(parts: Sequence[str], request: Request) -> str:
    """Return the place in a query, whose names stand as they were sent: `a[b]`, `a[]`."""
    if not parts:
        return "/query"
    head, rest = parts[0], parts[1:]
    nested = head + "".join(f"[{part}]" for part in rest)
    for name in (nested, f"{head}[]", head):
        if name in request.query:
            index = rest if name != nested and isinstance(request.query[name], list) else ()
            return f"/query/{escape(name)}" + "".join("/" + escape(part) for part in index)
    return f"/query/{escape(nested)}"


def member_pointer(found: str, message: str, constraint: str, request: Request) -> str:
    """Return the place of the member that a message names below a place, the place itself where it names none.

    Validators point to the object that lacks a member, or has one too many: the place is the member's own.
    """
    named = unknown_member(message) if constraint in ("additionalProperties", "unevaluatedProperties") else ""
    if constraint == "required":
        named = missing_member(message)
    if not named or found in ("", "/path"):
        return found
    if found == "/query":
        return _query(steps(named), request)
    if found == "/headers" or found.startswith("/headers/"):
        return f"/headers/{escape(named.lower())}"
    last = found.rpartition("/")[2]
    if last == escape(named) and not isinstance(resolve(request.document(), found), Mapping):
        return found  # the place is the member's own already
    return found + "/" + escape(named)


def _has(body: Json, name: str) -> bool:
    return isinstance(body, Mapping) and name in body
