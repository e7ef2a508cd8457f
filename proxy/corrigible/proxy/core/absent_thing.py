"""The resource of which a refusal says that it does not exist, where the refusal does not name its place.

| what the message has                                   | what is not there                                   |
|--------------------------------------------------------|-----------------------------------------------------|
| a name in the path                                     | that, unless it only says where something was sought |
| none, and nothing but the path was sent                | the only name in the path that is left              |
| a kind of thing and no more                            | the only name in the path that is left, of that kind |
| a kind of thing and no more                            | the only value sent under a name with that word,    |
|                                                        | or with its first letter: `tid` of a topic          |
| none, the path has none, one member refers to something | what that member refers to                          |
| a kind that no name in the path is of, the same         | what that member refers to                          |

A PUT whose path ends in a name that does not exist would create that resource: the name is no reason to refuse the PUT.

Knows: errors, requests. Does not know: descriptions, rules, suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, runtime_checkable
from typing import Protocol as TypingProtocol

from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.formats.statement import says_absent, surrounds
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words
from corrigible.rules.schema_repair.route import has_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Protocol

from .api_profile import RefusalCase
from .state_reader import is_name, repeats

_READ: Final = 1000
_STATUSES: Final = frozenset({400, 422, 500})
_SERVER_FAULT: Final = 500
_PLACED: Final = ("/body/", "/query/", "/headers/")
EVEN: Final = 0.5
"""Confidence that the only name in a path is what a text calls absent: something that belongs to it may be as well."""
_MOST_PLACES: Final = 60
_REFERENCES: Final = frozenset({"id", "ids", "uuid", "guid", "ref", "reference", "href", "parent", "slug"})
"""Last words of names of members that refer to something."""
_IDENTIFIER: Final = re.compile(
    r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4,12}){3,}|(?:[0-9a-f]{8}-){3,}[0-9a-f]{8}|[0-9a-f]{24,64}|/[\w.-]+(?:/[\w.-]+)+"
)
"""Values that are identifiers, whatever their members are called."""


_ANOTHER: Final = re.compile(
    r"""['"`\[<][^'"`\]>\n]{1,200}['"`\]>]"""
    r"""|(?:[:=]|\b(?:id|name|key|uuid|named|called)) ?(?!(?:not|no|un\w*|does|is)\b)\S+\W*$""",
    re.IGNORECASE,
)
"""A value that a text gives: where the path does not have it, it is about something else."""


def absent_thing(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the name in the path, or the value, that is not there; None where that is not said, or may be several."""
    request, message = case.request, error.message[:_READ]
    if case.exchange.status not in _STATUSES or not case.match.operation or error.pointer.startswith(_PLACED):
        return None
    if request.protocol is not Protocol.HTTP or len(case.errors) > 1 or not says_absent(message):
        return None
    names = [one for one in case.match.params.values() if one and "/" not in one and has_segment(request.path, one)]
    told = [one for one in names if repeats(message, one)]
    meant = [one for one in told if not surrounds(message[: message.find(one)])]
    if meant:
        return _in_path(meant[0]) if len(meant) == 1 else None
    left = [one for one in names if one not in told and not (request.method == "PUT" and _ends_in(request.path, one))]
    if request.body is None and not request.query:
        return _in_path(left[0]) if len(left) == 1 and _ANOTHER.search(message) is None else None
    if case.exchange.status == _SERVER_FAULT:
        return None
    kind = _kind_told(message)
    if (named := _named_by_kind(case, kind)) is not None:
        return named
    if left:
        meant = _of_kind(case, kind, left)
        if meant or not _are_of_others(case, kind, left):
            return _in_path(meant[0]) if len(meant) == 1 else None
    referring = [(place, value) for place, value in _sent(case) if refers(place, value)]
    if len(referring) != 1:
        return None
    ((place, value),) = referring
    return SchemaViolation(place, "value", {"not": {"const": value}}, value)


@runtime_checkable
class _NamesThings(TypingProtocol):
    """A description that says what variables of a path name."""

    def things_named(self, operation: str) -> Mapping[str, str]: ...


def _kind_told(message: str) -> list[str]:
    """Return the words for the kind of thing that a message says is not there, if it says no more."""
    told = _KIND_ABSENT.fullmatch(message.strip())
    return told["kind"].lower().split() if told is not None else []


def _named_by_kind(case: RefusalCase, kind: Sequence[str]) -> SchemaViolation | None:
    """Return the value of the only member or parameter with the word of a kind: `memberIdOrEmail` of a member."""
    if not kind:
        return None
    initials = {f"{kind[-1][0]}id", f"{''.join(word[0] for word in kind)}id"}  # `tid` of a topic
    named = [
        (place, value)
        for place, value in _sent(case)
        if is_name(value) and (kind[-1] in words(name := _name_of(place)) or name.lower() in initials)
    ]
    if len(named) != 1 or is_secret(*named[0]):
        return None
    ((place, value),) = named
    return SchemaViolation(place, "value", {"not": {"const": value}}, value)


def _are_of_others(case: RefusalCase, kind: Sequence[str], names: Sequence[str]) -> bool:
    """Whether each name in the path has a variable that tells of what it is the name, and that is not a kind."""
    variables = [words(variable) for variable, value in case.match.params.items() if value in names]
    return bool(kind) and all(
        len(parts) > 1 and parts[-1] in _REFERENCES | _NAMING and parts[-2] not in kind for parts in variables
    )


def _of_kind(case: RefusalCase, kind: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names in the path of a thing of the only kind that a message says is not there.

    `encryption key not found` is about a variable that is the name of a key, by its description or its own name. It may
    be about what was sent beside the path, if a word of its kind is the name of a member.
    """
    members = {word for place, _ in _sent(case) for part in place.split("/") for word in words(part)}
    if not kind or not members.isdisjoint(kind):
        return []
    described = case.profile.described
    things: Mapping[str, str] = {}
    if isinstance(described, _NamesThings):
        things = described.things_named(case.match.operation)
    meant = []
    for variable, value in case.match.params.items():
        parts = words(variable)
        own = parts[-2] if len(parts) > 1 and parts[-1] in _REFERENCES | _NAMING else ""
        if value in names and kind[-1] in (own, things.get(variable)):
            meant.append(value)
    return meant


_KIND_ABSENT: Final = re.compile(
    r"(?i)(?:the |this )?(?P<kind>[a-z][a-z-]{1,40}(?: [a-z][a-z-]{1,40}){0,2}?)"
    r" (?:(?:was |is |could )?not (?:be )?found|does(?: not|n't) exist)[.!]?"
)
"""A message that says no more than that a thing of one kind is absent."""
_NAMING: Final = frozenset({"name", "key"})


def _in_path(name: str) -> SchemaViolation:
    return SchemaViolation("/path", "reference", {"type": "string", "not": {"const": name}}, name)


def _ends_in(path: str, name: str) -> bool:
    return path.rstrip("/").rpartition("/")[2] == name


def _sent(case: RefusalCase) -> Sequence[tuple[str, Json]]:
    spend()
    return [(one.pointer, one.value) for one in islice(sent_places(case.request), _MOST_PLACES)]


def refers(place: str, value: Json) -> bool:
    """Whether a value refers to something, by its member's name or its own form."""
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        return False
    name = _name_of(place)
    return words(name)[-1:] != () and (
        words(name)[-1] in _REFERENCES or (isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None)
    )


def _name_of(place: str) -> str:
    return next((part for part in reversed(place.split("/")) if not part.isdecimal()), "")
