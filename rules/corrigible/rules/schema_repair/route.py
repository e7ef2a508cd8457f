"""Suggestions for a path or a method that no operation has: the near one, a choice, or nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final
from urllib.parse import quote, unquote

from corrigible.rules.functions.builtin import Operation
from corrigible.rules.safety.decisive import READS, calls_what_decides, words
from corrigible.rules.safety.nearness import nearest, slips
from corrigible.rules.safety.spelling import may_be_other_word
from corrigible.schema.exchange import Json, Request

from .json_schema import Schema, choices, literal_pattern, types
from .levels import read_by_query
from .schema_violation import WORDS, SchemaViolation
from .suggestion import Proposal, Suggestion, ask, confirmed, edit, options

UNSURE: Final = "x-unsure"
"""In a schema of paths or methods: no answer says that the path or the method is wrong, so whoever calls confirms."""
BARE: Final = "x-bare"
"""In a schema of methods: nothing was sent, and the operation that changes something takes what says what to change."""
TOLD: Final = "x-told"
"""In a schema of methods: the server names it, and not what it does."""
UNNAMED: Final = "x-unnamed"
"""In a schema of methods: the path with one name more has the method that was sent, and nothing says that name."""
ELSEWHERE: Final = "elsewhere"
"""The keyword of a path that lacks the method which a near path has."""

_WRITES: Final = ("POST", "PUT", "PATCH")
_MOST: Final = 5
_RPC: Final = re.compile(r"/(?:[A-Za-z_]\w*\.)*[A-Z]\w*/[A-Za-z_]\w*")
"""A gRPC method, which is its own path: services begin with a capital, `/v1/refunds` is none."""
_CALL: Final = re.compile(r"/[A-Za-z_][\w.]*(?:/[A-Za-z_]\w*){1,4}")
"""What may be a misspelt one, with slashes for the dots of its package."""
_COMMON: Final = re.compile(r"(?i)api|rest|v\d[\w.-]{0,7}")
"""Beginnings that all paths of an API share."""
_IF_MEANT: Final = "Use a path that is known, if it is what was meant."
_QUESTIONS: Final = {
    TOLD: "The server names another method. Use it if it does what was meant.",
    BARE: "Say what was meant: the path has several methods, and nothing was sent that tells them apart.",
}
_AROUND: Final = "The description has no operation of this path. Use one that does what was meant."
_WHERE_IT_BELONGS: Final = (
    "Use the path that has this method: it says where the resource belongs, which this path leaves out."
)


def proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    proposal = _proposed(violation, request, group)
    if proposal is None or violation.schema.get(UNSURE) is not True:
        return proposal
    return proposal._replace(suggestions=[confirmed(one) for one in proposal.suggestions])


def _proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    offered = [one for one in choices(violation.schema) if isinstance(one, str)]
    if violation.keyword == "around":
        return ask(violation, request, _AROUND)
    if violation.keyword == ELSEWHERE and not offered:
        return ask(violation, request, _WHERE_IT_BELONGS)
    if all(_RPC.fullmatch(one) for one in offered) and _CALL.fullmatch(str(violation.value)):
        return _rpc(violation, request, offered, group)
    if violation.keyword == ELSEWHERE:
        message = "Use the near path that has this method, if it is what was meant."
        near = _to(violation, request, "/path", offered[0], message, intent=True, confirm=True)
        return Proposal([near, *_asked_for_path(violation, request).suggestions])
    if violation.keyword == "base" and len(offered) == 1:
        message = "Use the path that the description has for this operation."
        return Proposal([_to(violation, request, "/path", offered[0], message)])
    if violation.keyword in ("path", "base"):
        return _path(violation, request, [one for one in offered if one != request.path], group)
    return _method(violation, request, offered, group)


def _rpc(violation: SchemaViolation, request: Request, offered: list[str], group: str) -> Proposal | None:
    """Use the method that alone is near; what is near besides others is a choice."""
    is_one = len(offered) == 1
    message = "Use the method that is known." if is_one else "Use a method that is known, if it is what was meant."
    edits = [_to(violation, request, violation.pointer, one, message, intent=True) for one in offered[:_MOST]]
    return Proposal(edits) if is_one else options(edits, group) if edits else None


# Paths


def _path(violation: SchemaViolation, request: Request, offered: list[str], group: str) -> Proposal | None:
    sure = [one for one in offered if _is_misspelling(request.path, one)]
    far = {one: slips(request.path, one) for one in offered}
    if len(sure) == 1 and all(far[one] > far[sure[0]] for one in offered if one != sure[0]):
        is_other = request.method not in READS and _has_other_word(request.path, sure[0])
        # The description may leave out a base path that the server has.
        is_unsure = is_other or request.path.endswith(sure[0])
        message = _IF_MEANT if is_unsure else "Use the path that is known."
        return Proposal([_to(violation, request, "/path", sure[0], message, confirm=is_unsure)])
    if not offered:
        return None
    if len(offered) == 1:
        return Proposal([_to(violation, request, "/path", offered[0], _IF_MEANT, intent=True, confirm=True)])
    likely = [*sure, *(one for one in offered if one not in sure)][:_MOST]
    return options([_to(violation, request, "/path", one, _IF_MEANT, intent=True) for one in likely], group)


def _is_misspelling(path: str, other: str) -> bool:
    """Whether each segment is the same or near: nothing that the path names is dropped, added or exchanged."""
    have, want = _segments(path), _segments(other)
    if have == want or path.replace(":", "/") == other.replace(":", "/"):
        return True  # a custom method is the same one behind a slash
    if len(have) == len(want):
        return all(one == two or nearest(one, [two]) == [two] for one, two in zip(have, want, strict=True))
    shorter, longer = sorted((have, want), key=len)
    head = longer[: len(longer) - len(shorter)]
    if longer[len(head) :] == shorter:
        return all(_COMMON.fullmatch(part) for part in head)
    # `/api/v1/things` for `/api/things`
    is_inside = all(_COMMON.fullmatch(part) for part in longer[:2]) and len(head) == 1
    return is_inside and [longer[0], *longer[2:]] == shorter


def _has_other_word(path: str, other: str) -> bool:
    """Whether a segment of a path may be a word of its own, which no operation has there: `clone` for `close`."""
    have, want = _segments(path), _segments(other)
    return len(have) == len(want) and any(may_be_other_word(one, two) for one, two in zip(have, want, strict=True))


# Segments of a path


def with_segment(path: str, old: str, new: str) -> str | None:
    """Return a path with one of its segments in another spelling, None where it is not clear which."""
    found = _span(path, old)
    return None if found is None else f"{path[: found[0]]}{quote(new, safe=_UNQUOTED)}{path[found[1] :]}"


def has_segment(path: str, value: str) -> bool:
    """Whether one segment of a path, and no other, is a value, apart from an extension at the end or OData's keys."""
    found = _span(path, value)
    return found is not None and path[: found[0]][-1:] != "."


def schema_of_path(path: str, old: str, schema: Schema) -> dict[str, Json]:
    """Return the schema of a path in which one segment is to be another: the rest of it stays."""
    found = _span(path, old)
    if found is None:
        return {"type": "string"}
    offered = [one for one in choices(schema) if isinstance(one, str)]
    if offered and len(offered) <= _MOST:
        return {"enum": [with_segment(path, old, one) for one in offered]}
    wanted = "-?[0-9]+" if set(types(schema)) == {"integer"} else "[^/]+"
    before, after = literal_pattern(path[: found[0]]), literal_pattern(path[found[1] :])
    return {"type": "string", "pattern": f"^{before}{wanted}{after}$"}


def _span(path: str, value: str) -> tuple[int, int] | None:
    """Return where a value stands in a path, None where that is nowhere, or in several segments."""
    for pattern in _PIECES if value else ():
        if found := [one.span() for one in pattern.finditer(path) if unquote(one[0]) == value]:
            return found[0] if len(found) == 1 else None
    return None


_UNQUOTED: Final = "!$&'()*+,;=:@~"
_PIECES: Final = (
    re.compile(r"[^/]+"),
    re.compile(r"(?<=[/(=,'])(?:(?!%27)[^/()=,'])+(?=[()=,'])|(?<=%27)(?:(?!%27)[^/()=,'])+(?=%27)"),
    re.compile(r"[^/]+(?=\.[A-Za-z][A-Za-z0-9]{1,7}$)|(?<=[^/]\.)[A-Za-z][A-Za-z0-9]{1,7}$"),
)
"""What a value may be: a segment, the name or a key in `orders(shop='a',number=7)` of OData, what an extension ends."""


def _segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _asked_for_path(violation: SchemaViolation, request: Request) -> Proposal:
    message = "No operation of this path does what this method does. Use one that does what was meant."
    return ask(violation, request, message, places=[("/path", {"type": "string", "pattern": "^/"})])


# Methods


def _method(violation: SchemaViolation, request: Request, offered: list[str], group: str) -> Proposal | None:
    """Suggest only methods of the same safety class, and POST for a read."""
    method = request.method
    # What else is posted may be meant to create something.
    if method == "POST" and _reads_by_post(request.path) and (read := read_by_query(violation, request)) is not None:
        return Proposal([read])
    for mark, question in _QUESTIONS.items():
        if violation.schema.get(mark) is True:
            return ask(violation, request, question, schema={"enum": offered})
    is_read = method in READS
    allowed = ("GET", "POST") if is_read else _WRITES if method in _WRITES else ()
    methods = [one.upper() for one in offered if one.upper() != method and one.upper() in allowed]
    if not methods:
        return _of_another_class(violation, request, offered)
    if is_read and methods == ["POST"] and _reads_by_post(request.path):
        message = "Use POST: this operation only reads."
        return Proposal([_to(violation, request, "/method", "POST", message, intent=True)])
    if len(methods) == 1 and not is_read:
        return Proposal([_written(violation, request, methods[0], can_read="GET" in offered)])
    message = "Use a method that the path has, if it is what was meant."
    edits = [
        _replacing(violation, request, can_read="GET" in offered)
        if (method, one) == ("PATCH", "PUT")
        else _to(violation, request, "/method", one, message, intent=True)
        for one in methods[:_MOST]
    ]
    return options(edits, group)


def _of_another_class(violation: SchemaViolation, request: Request, offered: list[str]) -> Proposal | None:
    """Return what can be said where no offered method is as safe as the one that was sent."""
    if request.method == "POST" and "GET" in offered and _reads_by_post(request.path):
        message = "This path only reads. Use GET, with what is looked for in the query."
        return ask(violation, request, message, schema={"enum": ["GET"]})
    if request.method == "POST" and offered == ["GET"] and not request.body and not request.query:
        message = "Use GET: this path has no other method, and nothing was sent that would be lost."
        return Proposal([_to(violation, request, "/method", "GET", message, intent=True, confirm=True)])
    last = words(request.path.rstrip("/").rpartition("/")[2])[:1]
    if offered == ["POST"] and request.method == "DELETE" and not WORDS["deleting"].isdisjoint(last):
        message = "Use POST, the only method of this path: its last word says what it does."
        return Proposal([_to(violation, request, "/method", "POST", message, intent=True)])
    # Another path may do it: what this one lacks proves nothing. No change of the same thing is what a read meant.
    return _asked_for_path(violation, request) if offered else None


def _written(violation: SchemaViolation, request: Request, method: str, *, can_read: bool) -> Suggestion:
    """Return the only other method of a path that writes."""
    message = "Use the method that changes this resource."
    match (request.method, method):
        case ("PATCH", "PUT"):
            return _replacing(violation, request, can_read=can_read)
        case ("PUT", "PATCH"):
            message = "Use PATCH: it changes the members that are sent, and leaves the others as they are."
        case (_, "POST") if violation.schema.get(UNNAMED) is True:
            message = f"Use POST, if something is to be added. {request.method} takes a path with a name more."
    adds = method == "POST" and violation.schema.get(UNNAMED) is True
    return _to(violation, request, "/method", method, message, intent=True, confirm=adds)


def _replacing(violation: SchemaViolation, request: Request, *, can_read: bool) -> Suggestion:
    """Return PUT in the place of PATCH. What is sent is a part of the whole: PUT would take the rest away."""
    if request.body is None:  # there is no whole of which a part was sent
        return _to(violation, request, "/method", "PUT", "Use PUT.", intent=True)
    message = "Use PUT, which replaces the whole resource: "
    message += "read it first, and send it with the changes." if can_read else "send all of it with the changes."
    put = _to(violation, request, "/method", "PUT", message, intent=True)
    put["applicability"] = "HAS_PLACEHOLDERS"
    put["placeholders"] = [{"pointer": "/body", "ask": "agent", "schema": {"type": "object"}}]
    if can_read:
        put["steps"] = [{"method": "GET", "path": request.path}]
    return put


def _reads_by_post(path: str) -> bool:
    """Whether a path ends in a word for reading, so that its POST changes nothing."""
    return not WORDS["reading"].isdisjoint(words(_segments(path)[-1])) if _segments(path) else False


def _to(
    violation: SchemaViolation,
    request: Request,
    place: str,
    new: str,
    message: str,
    *,
    intent: bool = False,
    confirm: bool = False,
) -> Suggestion:
    """Return the request with another method or path."""
    is_method = place == "/method"
    old = request.method if is_method else request.path
    ops: list[Operation] = [{"op": "test", "path": place, "value": old}, {"op": "replace", "path": place, "value": new}]
    changed = replace(request, method=new) if is_method else replace(request, path=new)
    confirm = confirm or calls_what_decides(request, changed)
    action = "USE_ALTERNATIVE_ENDPOINT"
    return edit(violation, request, ops, message, changes_intent=intent, requires_confirmation=confirm, action=action)
