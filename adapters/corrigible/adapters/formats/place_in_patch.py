"""Where an error is in a JSON patch (RFC 6902): a list of operations on a resource that the sentence may be about.

| the error                                                 | the place                                            |
|-----------------------------------------------------------|------------------------------------------------------|
| ``Invalid operation: `set` ``                             | the `op` that it is                                  |
| ``Pointer `name` does not start with "/"``                | the `path` that it is, which lacks a slash           |
| `Operation "replace" requires a member named "value"`     | `value` of the only operation that lacks it          |
| `Property nmae does not exist`                            | the only `path` to what is called so                 |
| a member of the resource, such as `/body/min_disk`        | `value` of the only operation whose path leads there |

Knows: one error, the operations that were sent. Does not know: descriptions, what the resource has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, resolve, segments, to_pointer, value_at
from corrigible.rules.schema_repair.body import is_json_patch_media
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

_MOST: Final = 64
"""Operations of one patch that are looked at."""
_READ: Final = 1000
_MEMBERS: Final = frozenset({"op", "path", "from", "value"})
_NEEDED: Final = {"value": ("add", "replace", "test"), "from": ("move", "copy")}
"""Which operations have to have a member that others do without."""
_QUOTED: Final = re.compile(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`")
_NEEDS: Final = re.compile(
    r"(?i)\b(?:requires?|missing|lacks|needs|must (?:have|contain|include)|without)\b(?: \w+){0,5}:? ['\"`]"
    r"(?P<name>op|path|from|value)['\"`]"
    r"|['\"`](?P<told>op|path|from|value)['\"`](?: \w+){0,2} (?:is |was |are )?(?:required|missing|mandatory)\b"
)
_OF_PATH: Final = re.compile(r"(?i)\b(?:json )?(?:pointer|path)s?\b")
_OF_SLASH: Final = re.compile(r"(?i)['\"`]/['\"`]|\bslash\b")
_ABSENT: Final = re.compile(
    r"(?i)\b(?:property|attribute|field|member|key|path|element|name)\b:? ['\"`]?(?P<name>[\w$@/.-]{1,120}?)['\"`]?"
    r" (?:does not|doesn't) exist\b"
    r"|\b(?:property|attribute|field|member|key|path|element|name)\b:? ['\"`]?(?P<other>[\w$@/.-]{1,120}?)['\"`]?"
    r" (?:(?:is|was|could) )?(?:not (?:be )?(?:found|known|defined|recogni[sz]ed)|unknown|undefined)\b"
    r"|\b(?:no such|unknown|undefined|unrecogni[sz]ed) (?:property|attribute|field|member|key|path|element):?"
    r" ['\"`]?(?P<told>[\w$@/.-]{1,120}?)['\"`]?(?:[.,;!]|$|\s)"
)
_UNKNOWN: Final = ("additionalProperties", "unevaluatedProperties")


class _Part(NamedTuple):
    """A text of an operation, and its place."""

    pointer: str
    text: str
    name: str


def is_patch(request: Request) -> bool:
    """Whether the body is a list of operations, be one of them incomplete."""
    body = request.body
    if not isinstance(body, list) or not 0 < len(body) <= _MOST:
        return False
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "PATCH" and not is_json_patch_media(media):
        return False
    return all(isinstance(one, Mapping) and "op" in one and _MEMBERS.issuperset(one) for one in body)


def place_in_patch(error: Violation, request: Request) -> Violation | None:
    """Return an error at its place in a JSON patch; None where that is not clear, or it is there already."""
    if not is_patch(request) or (error.pointer.count("/") > 1 and value_at(request, error.pointer) is not MISSING):
        return None
    operations: list[Mapping[str, Json]] = request.body if isinstance(request.body, list) else []
    spend(len(operations))
    message = error.message[:_READ]
    if (needed := _NEEDS.search(message)) is not None:
        place = _lacking(needed["name"] or needed["told"], message, operations)
        return error.at(place, "required", {}) if place else None
    part, *names = segments(error.pointer) or [""]
    if part == "body" and names and error.constraint != "required":
        return _of_resource(error, names, operations)
    place = _repeated(error, message, operations) or _absent(message, operations)
    if not place:
        return None
    sent = str(value_at(request, place))
    if place.endswith(("/path", "/from")) and not sent.startswith("/") and _OF_SLASH.search(message) is not None:
        return error.at(place, "format", {"format": "json-pointer"})
    return error.at(place, error.constraint, error.stated)


def _lacking(member: str, message: str, operations: Sequence[Mapping[str, Json]]) -> str:
    """Return the place of a member that just one operation lacks and needs."""
    quoted = set(_quoted(message))
    lacking = [
        (f"/body/{index}/{member}", operation["op"])
        for index, operation in enumerate(operations)
        if member not in operation and (member not in _NEEDED or operation["op"] in _NEEDED[member])
    ]
    told = [place for place, op in lacking if op in quoted]
    places = told or [place for place, _ in lacking]
    return places[0] if len(places) == 1 else ""


def _of_resource(error: Violation, names: Sequence[str], operations: Sequence[Mapping[str, Json]]) -> Violation | None:
    """Return an error about a member of the resource at the only operation whose path leads there."""
    found: list[str] = []
    wanted = to_pointer(names)
    for index, operation in enumerate(operations):
        path = operation.get("path")
        if not isinstance(path, str) or not path or not f"{wanted}/".startswith(f"{path}/"):
            continue
        if error.constraint in _UNKNOWN:
            found += [f"/body/{index}/path"] if path == wanted else []
        elif resolve(operation.get("value", MISSING), wanted[len(path) :]) is not MISSING:
            found.append(f"/body/{index}/value{wanted[len(path) :]}")
    if len(found) != 1:
        return None
    constraint = "" if error.constraint in _UNKNOWN else error.constraint
    return error.at(found[0], constraint, error.stated if constraint == error.constraint else {})


def _repeated(error: Violation, message: str, operations: Sequence[Mapping[str, Json]]) -> str:
    """Return the only place in a patch whose text a sentence quotes, beside what it lists as allowed."""
    listed = error.stated.get("enum")
    allowed = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
    quoted = set(_quoted(message)) - allowed
    found = [one for one in _parts(operations) if one.text in quoted]
    if _OF_PATH.search(message) is not None:
        found = [one for one in found if one.name in ("path", "from")] or found
    return found[0].pointer if len(found) == 1 else ""


def _absent(message: str, operations: Sequence[Mapping[str, Json]]) -> str:
    """Return the only path to what a sentence says is not there."""
    told = _ABSENT.search(message)
    if told is None:
        return ""
    name = (told["name"] or told["other"] or told["told"]).rstrip(".")
    found = [
        one.pointer
        for one in _parts(operations)
        if one.name in ("path", "from") and name in (one.text, one.text[1:], *_steps(one.text)[-1:])
    ]
    return found[0] if len(found) == 1 else ""


def _steps(path: str) -> list[str]:
    """Return the steps of a path of an operation, none where it is no pointer."""
    return segments(path) if path.startswith("/") else []


def _parts(operations: Sequence[Mapping[str, Json]]) -> Iterator[_Part]:
    for index, operation in enumerate(operations):
        for name, value in operation.items():
            if isinstance(value, str) and value:
                yield _Part(f"/body/{index}/{name}", value, name)


def _quoted(message: str) -> Iterator[str]:
    return (next(filter(None, match.groups())) for match in _QUOTED.finditer(message))
