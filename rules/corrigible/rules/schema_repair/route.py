"""Suggestions for a path or a method that no operation has: the near one, a choice, or nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from rapidfuzz.distance import OSA

from corrigible.rules.safety.decisive import READS, deletes, words
from corrigible.rules.safety.nearness import nearest
from corrigible.rules.safety.other_word import may_be_other_word
from corrigible.schema.exchange import Json, Request

from .json_schema import Schema, choices, literal_pattern, types
from .other_part import read_by_query
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, edit, options

_WRITES: Final = ("POST", "PUT", "PATCH")
_MOST: Final = 5


UNSURE: Final = "x-unsure"
"""In a schema of paths or methods: no answer says that the path or the method is wrong, so whoever calls confirms."""

BARE: Final = "x-bare"
"""In a schema of methods: nothing was sent, and the operation that changes something takes what says what to change."""

TOLD: Final = "x-told"
"""In a schema of methods: the server names it, and not what it does."""

UNNAMED: Final = "x-unnamed"
"""In a schema of methods: the path with one name more has the method that was sent, and nothing says that name."""

WHOLE: Final = "x-whole"
"""In a schema of methods: a PATCH has all the members that PUT takes."""

ELSEWHERE: Final = "elsewhere"
"""The keyword of a path that lacks the method which a near path has."""


def proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    proposal = _proposed(violation, request, group)
    if proposal is None or violation.schema.get(UNSURE) is not True:
        return proposal
    return proposal._replace(suggestions=[_confirmed(one) for one in proposal.suggestions])


def _confirmed(suggestion: Suggestion) -> Suggestion:
    safety = suggestion["safety"]
    return {**suggestion, "safety": {**safety, "requires_confirmation": True}} if "patch" in suggestion else suggestion


def _proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    offered = [one for one in choices(violation.schema) if isinstance(one, str)]
    if violation.keyword == "around":
        message = "The description has no operation of this path. Use one that does what was meant."
        return ask(violation, request, message)
    if violation.keyword == ELSEWHERE and not offered:
        message = "Use the path that has this method: it says where the resource belongs, which this path leaves out."
        return ask(violation, request, message)
    if all(_RPC.fullmatch(one) for one in offered) and _CALL.fullmatch(str(violation.value)):
        return _rpc(violation, request, offered, group)
    if violation.keyword == ELSEWHERE:
        message = "Use the near path that has this method, if it is what was meant."
        near = _to(violation, request, "/path", request.path, offered[0], message, is_choice=True, confirm=True)
        return Proposal([near, *_asked_for_path(violation, request).suggestions])
    if violation.keyword == "base" and len(offered) == 1:
        message = "Use the path that the description has for this operation."
        return Proposal([_to(violation, request, "/path", request.path, offered[0], message)])
    return (
        _path(violation, request, offered, group)
        if violation.keyword in ("path", "base")
        else _method(violation, request, offered, group)
    )


_RPC = re.compile(r"/(?:[A-Za-z_]\w*\.)*[A-Z]\w*/[A-Za-z_]\w*")
"""A gRPC method, which is its own path: services begin with a capital, `/v1/refunds` is none."""

_CALL = re.compile(r"/[A-Za-z_][\w.]*(?:/[A-Za-z_]\w*){1,4}")
"""What may be a misspelt one, with slashes for the dots of its package."""


def _rpc(violation: SchemaViolation, request: Request, offered: list[str], group: str) -> Proposal | None:
    """Use the method that alone is near; what is near besides others is a choice."""
    place, method = violation.pointer, str(violation.value)
    if len(offered) == 1:
        return Proposal(
            [_to(violation, request, place, method, offered[0], "Use the method that is known.", intent=True)]
        )
    message = "Use a method that is known, if it is what was meant."
    edits = [_to(violation, request, place, method, one, message, is_choice=True) for one in offered[:_MOST]]
    return options(edits, group) if edits else None


def _path(violation: SchemaViolation, request: Request, offered: list[str], group: str) -> Proposal | None:
    offered = [one for one in offered if one != request.path]
    sure = [one for one in offered if _is_misspelling(request.path, one)]
    slips = {one: OSA.distance(request.path, one) for one in offered}
    if len(sure) == 1 and all(slips[one] > slips[sure[0]] for one in offered if one != sure[0]):
        is_other = request.method not in READS and _has_other_word(request.path, sure[0])
        message = _IF_MEANT if is_other else "Use the path that is known."
        return Proposal([_to(violation, request, "/path", request.path, sure[0], message, confirm=is_other)])
    if not offered:
        return None
    message = _IF_MEANT
    if len(offered) == 1 and _is_longer_word(request.path, offered[0]):
        return Proposal([_to(violation, request, "/path", request.path, offered[0], message, is_choice=True)])
    if len(offered) == 1 and _has_one_more(request.path, offered[0]):
        is_read = request.method in READS
        return Proposal(
            [_to(violation, request, "/path", request.path, offered[0], message, is_choice=True, confirm=not is_read)]
        )
    likely = [*sure, *(one for one in offered if one not in sure)][:_MOST]
    return options(
        [_to(violation, request, "/path", request.path, one, message, is_choice=True) for one in likely], group
    )


def _is_misspelling(path: str, other: str) -> bool:
    """Whether each segment is the same or near: nothing that the path names is dropped, added or exchanged."""
    have, want = _segments(path), _segments(other)
    if have == want or path.replace(":", "/") == other.replace(":", "/"):
        return True  # a custom method is the same one behind a slash
    if len(have) != len(want):
        longer, shorter = (have, want) if len(have) > len(want) else (want, have)
        head = longer[: len(longer) - len(shorter)]
        if longer[len(head) :] == shorter:
            return all(_COMMON.fullmatch(part) for part in head)
        # `/api/v1/things` for `/api/things`
        is_inside = all(_COMMON.fullmatch(part) for part in longer[:2]) and len(head) == 1
        return is_inside and [longer[0], *longer[2:]] == shorter
    return all(one == two or nearest(one, [two]) == [two] for one, two in zip(have, want, strict=True))


_IF_MEANT: Final = "Use a path that is known, if it is what was meant."


def _has_other_word(path: str, other: str) -> bool:
    """Whether a segment of a path may be a word of its own, which no operation has there: `clone` for `close`."""
    have, want = _segments(path), _segments(other)
    return len(have) == len(want) and any(may_be_other_word(one, two) for one, two in zip(have, want, strict=True))


def _is_longer_word(path: str, other: str) -> bool:
    """Whether a path differs in one segment, which is the end of the other's: `/cards` and `/gift_cards`."""
    have, want = _segments(path), _segments(other)
    different = [(one, two) for one, two in zip(have, want, strict=False) if one != two]
    if len(have) != len(want) or len(different) != 1:
        return False
    ((one, two),) = different
    return two.endswith((f"_{one}", f"-{one}"))


def _has_one_more(path: str, other: str) -> bool:
    """Whether a path is another one with one segment more inside."""
    have, want = _segments(path), _segments(other)
    return len(want) == len(have) + 1 and any(have == [*want[:at], *want[at + 1 :]] for at in range(1, len(have)))


def with_segment(path: str, old: str, new: str) -> str | None:
    """Return a path with one of its segments in another spelling, None where it is not clear which."""
    found = _segment_at(path, old)
    if found is None:
        return None
    written = f"{found.before}{quote(new, safe=_UNQUOTED)}{found.after}"
    return "/".join([*found.parts[: found.at], written, *found.parts[found.at + 1 :]])


_UNQUOTED: Final = "!$&'()*+,;=:@~"


def has_segment(path: str, value: str) -> bool:
    """Whether one segment of a path, and no other, is a value, apart from an extension at the end or OData's keys."""
    found = _segment_at(path, value)
    return found is not None and not found.before.endswith(".")


class _Segment(NamedTuple):
    """Where a value stands in a path: in a segment of its own, before an extension, as the extension, or among keys."""

    parts: list[str]
    at: int
    before: str = ""
    after: str = ""


def _segment_at(path: str, value: str) -> _Segment | None:
    """Return where a value stands in a path, None where that is nowhere, or in several segments."""
    parts = path.split("/")
    indexes = [index for index, part in enumerate(parts) if unquote(part) == value]
    if indexes:
        return _Segment(parts, indexes[0]) if len(indexes) == 1 else None
    if (keyed := _among_keys(parts, value)) is not None:
        return keyed
    ending = _EXTENSION.search(parts[-1])
    if ending is None:
        return None
    plain, extension = parts[-1][: ending.start()], ending[0]
    if unquote(plain) == value:
        return _Segment(parts, len(parts) - 1, after=extension)
    return _Segment(parts, len(parts) - 1, before=f"{plain}.") if extension == f".{value}" else None


def _among_keys(parts: list[str], value: str) -> _Segment | None:
    """Return where a value is the only such one in `orders(shop='a',number=7)`, as OData writes keys, or its name."""
    found: list[_Segment] = []
    for index, part in enumerate(parts):
        keyed = _KEYED.fullmatch(part) if value else None
        if keyed is None:
            continue
        if unquote(keyed["name"]) == value:
            found.append(_Segment(parts, index, after=part[keyed.end("name") :]))
        for key in _KEY.finditer(part, keyed.end("name")):
            if unquote(key["value"]) == value:
                found.append(_Segment(parts, index, part[: key.start("value")], part[key.end("value") :]))
    return found[0] if len(found) == 1 else None


_KEYED: Final = re.compile(r"(?P<name>[^()]+)\([^()]+\)")
_QUOTE: Final = r"(?:'|%27)"
_KEY: Final = re.compile(rf"(?<=[(=,]){_QUOTE}?(?P<value>[^()=,']+?){_QUOTE}?(?=[),])")
_EXTENSION: Final = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{1,7}$")


def schema_of_path(path: str, old: str, schema: Schema) -> dict[str, Json]:
    """Return the schema of a path in which one segment is to be another: the rest of it stays."""
    found = _segment_at(path, old)
    if found is None:
        return {"type": "string"}
    offered = [one for one in choices(schema) if isinstance(one, str)]
    if offered and len(offered) <= _MOST:
        return {"enum": [with_segment(path, old, one) for one in offered]}
    wanted = "-?[0-9]+" if set(types(schema)) == {"integer"} else "[^/]+"
    literal = [literal_pattern(part) for part in found.parts]
    before, after = literal_pattern(found.before), literal_pattern(found.after)
    pattern = "/".join([*literal[: found.at], f"{before}{wanted}{after}", *literal[found.at + 1 :]])
    return {"type": "string", "pattern": f"^{pattern}$"}


def _segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


_COMMON = re.compile(r"(?i)api|rest|v\d[\w.-]{0,7}")
"""Beginnings that all paths of an API share."""


def _method(violation: SchemaViolation, request: Request, offered: list[str], group: str) -> Proposal | None:
    """Suggest only methods of the same safety class, and POST for a read."""
    # What else is posted may be meant to create something.
    is_reading = request.method == "POST" and _reads_by_post(request.path)
    if is_reading and (read := read_by_query(violation, request)) is not None:
        return Proposal([read])
    if violation.schema.get(TOLD) is True:
        message = "The server names another method. Use it if it does what was meant."
        return ask(violation, request, message, schema={"enum": offered})
    if violation.schema.get(BARE) is True:
        message = "Say what was meant: the path has several methods, and nothing was sent that tells them apart."
        return ask(violation, request, message, schema={"enum": offered})
    methods = [one.upper() for one in offered if one.upper() != request.method]
    if request.method in READS:
        methods = [one for one in methods if one in ("GET", "POST")]
        if not methods:  # no change of the same thing is what a read meant
            return _asked_for_path(violation, request) if offered else None
    else:
        methods = [one for one in methods if one in _WRITES and request.method in _WRITES]
    if request.method in READS and methods == ["POST"] and _reads_by_post(request.path):
        message = "Use POST: this operation only reads."
        return Proposal([_to(violation, request, "/method", request.method, "POST", message, intent=True)])
    if methods == ["POST"] and violation.schema.get(UNNAMED) is True:
        return _of_one_or_all(violation, request, group)
    if len(methods) == 1 and (request.method, *methods) == ("PATCH", "PUT"):
        if violation.schema.get(WHOLE) is True:
            message = "Use PUT: what was sent is all that it takes, so that nothing is taken away."
            return Proposal([_to(violation, request, "/method", "PATCH", "PUT", message, intent=True)])
        return Proposal([_replacing(violation, request, can_read="GET" in offered)])
    if len(methods) == 1 and request.method in _WRITES:
        message = "Use the method that changes this resource."
        if (request.method, *methods) == ("PUT", "PATCH"):
            message = "Use PATCH: it changes the members that are sent, and leaves the others as they are."
        return Proposal([_to(violation, request, "/method", request.method, methods[0], message, intent=True)])
    if methods:
        message = "Use a method that the path has, if it is what was meant."
        edits = [
            _replacing(violation, request, can_read="GET" in offered)
            if (request.method, one) == ("PATCH", "PUT")
            else _to(violation, request, "/method", request.method, one, message, is_choice=True)
            for one in methods[:_MOST]
        ]
        return options(edits, group)
    if request.method == "POST" and "GET" in offered and _reads_by_post(request.path):
        message = "This path only reads. Use GET, with what is looked for in the query."
        return ask(violation, request, message, schema={"enum": ["GET"]})
    if request.method == "POST" and offered == ["GET"] and not request.body and not request.query:
        message = "Use GET: this path has no other method, and nothing was sent that would be lost."
        return Proposal([_to(violation, request, "/method", "POST", "GET", message, intent=True, confirm=True)])
    if offered == ["POST"] and not _SAID.get(request.method, frozenset()).isdisjoint(words(_last(request.path))[:1]):
        message = "Use POST, the only method of this path: its last word says what it does."
        return Proposal([_to(violation, request, "/method", request.method, "POST", message, intent=True)])
    # Another path may do it: what this one lacks proves nothing.
    return _asked_for_path(violation, request) if offered else None


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


_SAID: Final = {"DELETE": frozenset({"delete", "remove", "destroy", "purge"})}
"""First words of the end of a path that say what a method does: `DELETE /things/delete` means what its POST does."""


def _of_one_or_all(violation: SchemaViolation, request: Request, group: str) -> Proposal:
    """Offer to add something, or to name the thing that is to be changed: either may be meant."""
    message = "Use POST, if something is to be added."
    adding = _to(violation, request, "/method", request.method, "POST", message, is_choice=True, confirm=True)
    message = f"Add the name of what is to be changed to the path, if {request.method} is meant."
    pattern = f"^{literal_pattern(request.path.rstrip('/'))}/[^/]+$"
    naming = ask(violation, request, message, places=[("/path", {"type": "string", "pattern": pattern})])
    return options([adding, *naming.suggestions], group)


def _asked_for_path(violation: SchemaViolation, request: Request) -> Proposal:
    message = "No operation of this path does what this method does. Use one that does what was meant."
    return ask(violation, request, message, places=[("/path", {"type": "string", "pattern": "^/"})])


def _replacing(violation: SchemaViolation, request: Request, *, can_read: bool) -> Suggestion:
    """Return PUT in the place of PATCH. What is sent is a part of the whole: PUT would take the rest away."""
    message = "Use PUT, which replaces the whole resource: "
    message += "read it first, and send it with the changes." if can_read else "send all of it with the changes."
    if request.body is None:  # there is no whole of which a part was sent
        return _to(violation, request, "/method", "PATCH", "PUT", "Use PUT.", intent=True)
    put = _to(violation, request, "/method", "PATCH", "PUT", message, intent=True)
    put["applicability"] = "HAS_PLACEHOLDERS"
    put["placeholders"] = [{"pointer": "/body", "ask": "agent", "schema": {"type": "object"}}]
    if can_read:
        put["steps"] = [{"method": "GET", "path": request.path}]
    return put


def _reads_by_post(path: str) -> bool:
    """Whether a path ends in a word for reading, so that its POST changes nothing."""
    return not _READING.isdisjoint(words(_segments(path)[-1])) if _segments(path) else False


_READING: Final = frozenset({"filter", "search", "query", "count", "list", "find", "lookup", "paginate"})


def _to(
    violation: SchemaViolation,
    request: Request,
    place: str,
    old: str,
    new: str,
    message: str,
    *,
    intent: bool = False,
    is_choice: bool = False,
    confirm: bool = False,
) -> Suggestion:
    ops = [{"op": "test", "path": place, "value": old}, {"op": "replace", "path": place, "value": new}]
    changed = replace(request, method=new) if place == "/method" else replace(request, path=new)
    return edit(
        violation,
        request,
        ops,
        message,
        changes_intent=intent or is_choice,
        requires_confirmation=confirm or deletes(request) or deletes(changed),
        action="USE_ALTERNATIVE_ENDPOINT",
    )
