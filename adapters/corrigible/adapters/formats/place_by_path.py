"""The place that an error tells as a path, found in the request and in what its operation declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.absence import is_blank
from corrigible.adapters.formats.message.constraint_failure import BETWEEN
from corrigible.adapters.formats.message.sent_values import SentValue, fold
from corrigible.adapters.vocabulary import ANY, Path, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, index_in, segments, to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Protocol, Request

from .sent_places import MOST_PLACES, PARTS, find_sent

_DEEPEST: Final = 40
"""Names of a place that is looked for: what has more was split at dots that are none of a place."""
_LONGEST_NAME: Final = 200


def respell_pointer(pointer: str, request: Request) -> str:
    """Return a place with the names as the request spells them: ASP.NET writes `Name` for `name`."""
    part, *names = segments(pointer)
    if part not in PARTS or not names or value_at(request, pointer) is not MISSING:
        return pointer
    whole = value_at(request, f"/{part}")
    found = _walked(whole, names)
    if found is not None:
        return to_pointer([part, *found])
    around = _walked(whole, names[:-1])
    parent = value_at(request, to_pointer([part, *around])) if around is not None else MISSING
    if around is None or not isinstance(parent, dict):
        return pointer
    name = names[-1]
    return to_pointer([part, *around, _spelled_as(name, parent)])


def _spelled_as(name: str, others: Mapping[str, Json]) -> str:
    """Return a name with the beginning that the names around it have: `tableName` beside `KeySchema` is `TableName`."""
    begins_upper = [one[:1].isupper() for one in others if one[:1].isalpha()]
    if name[:1].isupper() and not any(begins_upper):
        return name[:1].lower() + name[1:]
    return name[:1].upper() + name[1:] if begins_upper and all(begins_upper) else name


def place_of_failure(names: Sequence[str], request: Request, *, first: int) -> str:
    """Return the place in the body that AWS's frameworks tell with their own names, and lists counted from `first`.

    A form of theirs has flat names: `Tags.member.1.Key` for `tags.1.member.key`.
    """
    value, spelled = request.body, list[str]()
    if request.form and isinstance(value, dict):
        told = [fold(name) for name in names]
        flat = [one for one in value if [fold(name) for name in one.split(".") if name not in BETWEEN] == told]
        if len(flat) == 1:
            return to_pointer(("body", flat[0]))
    for name in names:
        here = _walked(value, [name]) if isinstance(value, dict) else None
        if isinstance(value, list) and name.isdecimal():
            here = [str(int(name) - first)]
        spelled += here or [_spelled_as(name, value) if isinstance(value, dict) else name]
        value = value_at(request, to_pointer(("body", *spelled)))
    place = to_pointer(("body", *spelled))
    return place if value is not MISSING or request.body is not None else to_pointer(("query", *names))


def respell_missing(pointer: str, request: Request) -> str:
    """Return the place of a member that is told to be missing, with the names as the request spells them.

    Where the request has a value under another spelling of the last name, that is not the member: `displayname` is
    missing beside `display_name`. `Name` for `name` is how some servers print their own names.
    """
    place = respell_pointer(pointer, request)
    told, there = segments(pointer)[-1:], segments(place)[-1:]
    if told == there or is_blank(value_at(request, place)):
        return place
    if value_at(request, place) is MISSING or [one[:1].lower() + one[1:] for one in told] == there:
        return place
    return to_pointer([*segments(place)[:-1], *told])


def _walked(value: Json, names: Sequence[str]) -> list[str] | None:
    """Return the names as a value spells them, None where they lead nowhere."""
    spelled: list[str] = []
    for name in names:
        if isinstance(value, dict):
            exact, folded = name if name in value else None, fold(name)
            near = [exact] if exact is not None else [one for one in value if fold(one) == folded]
            if len(near) != 1:
                return None
            value = value[near[0]]
            spelled.append(near[0])
        elif isinstance(value, list) and (index := index_in(name, value)) >= 0:
            value = value[index]
            spelled.append(name)
        else:
            return None
    return spelled


def place_by_path(error: Violation, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only place that the told one can be, empty where none or several can."""
    part, *names = segments(error.pointer)
    if len(names) > _DEEPEST or any(len(name) > _LONGEST_NAME for name in names):
        return ""
    missing = error.constraint == "required"
    for dropped in range(len(names)):
        tail = names[dropped:]
        if all(name.isdecimal() for name in tail):
            break
        place = find_missing(part, tail, request, vocabulary) if missing else find_sent(part, tail, sent)
        if place is None:
            return _first_of_list(tail, sent) if error.constraint == "additionalProperties" else ""
        if place:
            return place
        if missing and (place := find_sent(part, tail, sent)) and is_blank(value_at(request, place)):
            return place
        if is_declared((part, names[dropped]), vocabulary):
            break  # no name of a model or wrapper
    return _as_told(error, part, names, request, vocabulary)


def _first_of_list(tail: Sequence[str], sent: Sequence[SentValue]) -> str:
    """Return the first place that ends in some names, where all others are the same in further elements of its list.

    What is wrong with the first is wrong with each: the server complains of the next when that one is mended.
    """
    names = tuple(tail)
    found = [one for one in sent if one.path[-len(names) :] == names]
    shapes = {tuple(ANY if name.isdecimal() else name for name in one.path) for one in found}
    return found[0].pointer if len(shapes) == 1 else ""


def _as_told(error: Violation, part: str, names: Sequence[str], request: Request, vocabulary: Vocabulary) -> str:
    """Return the told place of what is not in the request, if its parent is there and nothing contradicts it."""
    if value_at(request, error.pointer) is not MISSING:
        return error.pointer
    if error.constraint == "additionalProperties" and vocabulary.places:
        return ""
    around = _walked(request.document()[part], names[:-1])
    if around is None:
        return "" if vocabulary.places else error.pointer
    parent = value_at(request, to_pointer([part, *around]))
    if part == "body" and not isinstance(parent, dict | None) and not names[-1].isdecimal():
        return ""
    declared = not vocabulary.places or is_declared((part, *around, names[-1]), vocabulary)
    if error.constraint == "required" and not declared and request.protocol is Protocol.GRPC:
        return _called_otherwise(part, names, request, vocabulary)  # a message has no other fields
    if error.constraint == "required":
        return respell_missing(error.pointer, request)
    return respell_pointer(error.pointer, request) if declared else ""


def _called_otherwise(part: str, names: Sequence[str], request: Request, vocabulary: Vocabulary) -> str:
    """Return the only missing field that identifies something, where an error calls it an identifier or the like."""
    if len(names) != 1 or fold(names[0]) not in _IDENTIFIERS:
        return ""
    found = [find_missing(part, [name], request, vocabulary) for name in ("id", "name")]
    return found[0] or found[1] or "" if None not in found else ""


_IDENTIFIERS: Final = frozenset({"identifier", "id", "name"})


def left_empty(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only identifier of a message that was left empty, where a text quotes nothing: `lease "": not found`.

    A field that is not set has its default in protobuf, which is the empty text.
    """
    if _EMPTY.search(message[:_LONGEST_TEXT]) is None or not isinstance(request.body, Mapping | None):
        return ""
    body = request.body or {}
    names = [path[1] for path in vocabulary.places if len(path) == 2 and path[0] == "body" and not body.get(path[1])]
    named = [name for name in names if words(name)[-1:] in _ID_WORDS]
    # `session_id` beside `observed_session_id`
    named = [one for one in named if all(words(other)[-len(words(one)) :] == words(one) for other in named)]
    return to_pointer(("body", named[0])) if len(named) == 1 else ""


_EMPTY: Final = re.compile(
    r"""(?i)(?<![\w'"])(?:""|''|``|\[\])(?![\w'"]).{0,40}\b(?:not found|does not exist|unknown)\b"""
    r"""|\b(?:no|unknown|not found|find|(?:unable|failed) to \w+) .{0,40}(?<![\w'"])(?:""|''|``|\[\])(?![\w'"])"""
    r"""|^\W*(?:[\w.]+\] )?(?:\w+ ){0,3}\w+  (?:was not found|not found|does not exist"""
    r"""|is (?:unknown|invalid|not valid))\b"""
)
_LONGEST_TEXT: Final = 500
_ID_WORDS: Final = (("id",), ("name",), ("key",), ("identifier",))


def find_missing(part: str, tail: Sequence[str], request: Request, vocabulary: Vocabulary) -> str | None:
    """Return the only declared place that ends in some names and is not sent; None if there are several.

    Of names one below the other it is the outermost that is not there.
    """
    folded = tuple(map(fold, tail))
    document = request.document()
    whole: list[str] = []
    inner: list[str] = []
    for path in vocabulary.places:
        if len(path) <= len(tail) or not _ends_in(path, folded) or path[0] not in PARTS:
            continue
        lengths = range(len(path), len(path) - len(tail), -1)
        places = next((found for length in lengths if (found := list(_expanded(path[:length], document)))), [])
        for place in dict.fromkeys(places):
            (whole if len(path) == len(tail) + 1 else inner).append(place)
    chosen = list(dict.fromkeys([one for one in whole if one.startswith(f"/{part}/")] or whole or inner))
    if len(chosen) > 1:
        return None
    return chosen[0] if chosen else ""


def _ends_in(path: Path, folded: Path) -> bool:
    return all(
        fold(one) == other or (one == ANY and other.isdecimal())
        for one, other in zip(path[-len(folded) :], folded, strict=True)
    )


def _expanded(path: Path, document: Mapping[str, Json]) -> Iterator[str]:
    """Yield the places that a declared one has in the request, where its last member is missing beside others."""
    waiting: list[tuple[list[str], Json]] = [([], document)]
    for name in path[:-1]:
        following: list[tuple[list[str], Json]] = []
        for walked, value in waiting:
            spend()
            if name == ANY and isinstance(value, dict):
                following += [([*walked, one], inner) for one, inner in value.items()]
            elif name == ANY and isinstance(value, list):
                following += [([*walked, str(index)], inner) for index, inner in enumerate(value)]
            elif isinstance(value, dict) and name in value:
                following.append(([*walked, name], value[name]))
        waiting = following[:MOST_PLACES]
    for walked, value in waiting:
        if value is None and walked == ["body"]:
            value = {}
        if isinstance(value, dict) and path[-1] not in value and path[-1] != ANY:
            yield to_pointer([*walked, path[-1]])


def is_declared(path: Sequence[str], vocabulary: Vocabulary) -> bool:
    folded = tuple(map(fold, path))
    return any(
        len(one) >= len(path)
        and all(mine == ANY or fold(mine) == other for mine, other in zip(one, folded, strict=False))
        for one in vocabulary.places
    )
