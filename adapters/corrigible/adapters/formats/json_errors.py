"""Errors found in JSON of any shape: objects with a text and a place, texts under the names of members, bare texts.

The shapes are those of `error_shapes`. The innermost errors count, those with a place before those without. The walk
is bounded in depth and in the number of values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import value_at
from corrigible.rules.violation import Violation
from corrigible.schema.document import parameter_segments
from corrigible.schema.exchange import Json, Request

from .ajv import read_error
from .ajv_choice import of_one_alternative
from .error_or_thing import is_error_text, is_thing
from .error_shapes import (
    ABOUT_THE_ANSWER,
    CODES,
    INNER_PLACES,
    LISTED_PLACES,
    LISTS,
    MAPS,
    NO_ERRORS,
    PARTS,
    PLACES,
    PLACES_BESIDE_TEXT,
    PLACES_OF_ANSWERS,
    RELATIVE,
    SENTENCES,
    TEXTS,
    TEXTS_BESIDE,
    WHOLE,
)
from .keywords import keyword_of, keywords_of_arguments
from .members import others, text, with_plain_message, without_namespace
from .pointers import member_called, part_of, pointer, steps
from .remarks import without_remarks
from .sentence import sentence

_DEEPEST: Final = 8
_MOST: Final = 64
"""Errors of one answer; what it says beyond is not read."""
_MOST_VALUES: Final = 600


class Place(NamedTuple):
    """A place as the answer says it."""

    parts: tuple[str, ...] = ()
    where: str = ""
    """The part of the request, where that is said beside it."""
    text: str = ""
    """What was said, where it was one text."""


class _Walk(NamedTuple):
    request: Request
    names: frozenset[str]
    """Names of members and parameters of the request."""
    left: list[int]
    """Values that may still be looked at."""


def find_errors(body: Json, request: Request) -> list[Violation]:
    """Return the errors of an answer, the innermost of each branch."""
    names = set(request.query)
    if isinstance(request.body, dict):
        names.update(map(str, request.body))
    walk = _Walk(request, frozenset(names), [_MOST_VALUES])
    return list(islice(_of(body, "", Place(), 0, walk), _MOST))


def _of(value: Json, key: str, around: Place, depth: int, walk: _Walk) -> Iterator[Violation]:
    """Yield the errors of a value that stands under a key."""
    walk.left[0] -= 1
    if walk.left[0] < 0 or depth > _DEEPEST:
        return
    spend()
    if isinstance(value, str):
        if value.strip():
            yield _violation(value, around, walk)
    elif isinstance(value, list):
        for item in of_one_alternative(without_remarks(value)):
            is_one = key in MAPS and isinstance(item, dict) and _is_one_error(item)
            yield from _of(item, "" if is_one else key, around, depth + 1, walk)
    elif isinstance(value, dict):
        yield from _of_object(value, key, around, depth, walk)


def _of_object(members: Mapping[str, Json], key: str, around: Place, depth: int, walk: _Walk) -> Iterator[Violation]:
    members = with_plain_message(members)
    if (key in MAPS or _is_by_place(members, walk)) and not _is_complaint(members, walk):
        yield from _by_place(members, around, depth, walk)
        return
    own = _place(members, walk)
    if own.parts == _ROOT and _is_whole(members, walk):
        own = Place((), own.where)
    if not own.parts and not own.where and not around.parts and not around.where:
        around = own = Place((), _part_told(members, walk))
    if around.parts:
        below = Place((*around.parts, *own.parts), own.where or around.where)
    else:
        below = own._replace(where=own.where or around.where)
    if isinstance(members.get("constraints"), dict):  # class-validator
        for code, message in members["constraints"].items():
            if isinstance(message, str):
                yield _placed(Violation(code=str(code), message=message, native=others(members)), below, walk)
        return
    if isinstance(members.get("keyword"), str) and ("instancePath" in members or "dataPath" in members):
        yield read_error(walk.request, members)
        return
    inner: list[Violation] = []
    things = (
        [name for name, value in members.items() if is_thing(value, walk.request.body)]
        if SENTENCES & members.keys()
        else []
    )
    for name, value in members.items():
        if (
            name not in NO_ERRORS
            and name not in things
            and isinstance(value, (dict, list))
            and value
            and name not in ("path", "loc")
        ):
            inner += _below_member(name, value, around, below, depth, walk)
    message = sentence(members, TEXTS, TEXTS_BESIDE, walk.names)
    says_more = any(one.message for one in inner) or not message
    if inner and (any(one.pointer or one.param for one in inner) or (says_more and not own.parts)):
        yield from inner
        return
    extensions = members.get("extensions")
    code = text(members, *CODES) or (text(extensions, *CODES) if isinstance(extensions, dict) else "")
    if message or (code and (own.parts or key in LISTS or not key)):
        violation = Violation(
            code=code if "#" not in code else without_namespace(code),
            message=message,
            type=members["type"] if isinstance(members.get("type"), str) else "",
            native=others(members),
        )
        if (listed := _listed_places(members, own)) is not None:
            yield from (_placed(violation, place, walk) for place in listed)
            return
        keyword, stated = keyword_of(code), {}
        if isinstance(members.get("arguments"), list):
            stated = keywords_of_arguments(code, members["arguments"])
        yield _placed(violation.at("", keyword, stated), below if own.parts else around, walk)


_ROOT: Final = ("root",)
"""What some servers write for the empty path of zod's errors."""
_OF_ZOD: Final = re.compile(r"Invalid input(?:: expected (?:object|array|record|tuple)\b|$)")


def _is_whole(members: Mapping[str, Json], walk: _Walk) -> bool:
    """Whether an error is about the whole, and not about a member `root`: it is not sent, and would be no object."""
    told = text(members, *TEXTS)
    return not _is_sent(_ROOT[0], walk) and _OF_ZOD.match(told) is not None


_LONGEST_OF_PART: Final = 500
_OF_PART: Final = re.compile(
    r"(?i)(?:invalid|bad|wrong|malformed) (?:request )?(?P<part>query|path|header|body)"
    r"(?:[ -]?string)?(?: param(?:eter)?s?| arguments?| fields?)?\W*"
)


def _part_told(members: Mapping[str, Json], walk: _Walk) -> str:
    """Return the part of the request that all errors listed beside a sentence are about, which says no more than that.

    `{"error": "Invalid query parameters", "issues": [{"field": "limit", "message": "expected a number"}]}`
    """
    if not any(isinstance(members[name], list) for name in LISTS.intersection(members)):
        return ""
    told = _OF_PART.fullmatch(sentence(members, TEXTS, TEXTS_BESIDE, walk.names)[:_LONGEST_OF_PART])
    return part_of(told["part"]) if told is not None else ""


def _listed_places(members: Mapping[str, Json], own: Place) -> list[Place] | None:
    """Return the places that an error lists beside its text: `{"message": "Missing fields", "fields": ["a", "b"]}`."""
    for name in LISTED_PLACES if not _LISTED_NAMES.isdisjoint(members) else ():
        value = members.get(name)
        if not isinstance(value, list) or not value or len(value) > _MOST:
            continue
        if all(isinstance(one, str) and _is_name(one) for one in value):
            return [Place((*own.parts, *_steps(one)), own.where, one) for one in value]
        if all(isinstance(one, dict) and isinstance(one.get("path"), str) for one in value):
            return [_read_place(one["path"], text(one, "location", "in")) for one in value]
    return None


def _below_member(name: str, value: Json, around: Place, below: Place, depth: int, walk: _Walk) -> Iterator[Violation]:
    """Yield the errors of a member: its name is a place where the request has one, or where its texts complain."""
    if name in LISTS and not (_is_sent(name, walk) and _is_tree(value, 0)):
        yield from _of(value, name, below if name in RELATIVE else around, depth + 1, walk)
        return
    is_place = _is_sent(name, walk) or (_texts(value) and all(map(is_error_text, value)))
    for one in _of(value, name, _below(around, name) if is_place else around, depth + 1, walk):
        if is_place or one.pointer or isinstance(value, dict):
            yield one


def _by_place(members: Mapping[str, Json], around: Place, depth: int, walk: _Walk) -> Iterator[Violation]:
    """Yield errors that stand under the names of their places, at any depth."""
    from_path = any(name.startswith("$.") for name in members)  # ASP.NET adds the parameter of its own method
    for name, value in members.items():
        walk.left[0] -= 1
        if walk.left[0] < 0 or depth > _DEEPEST:
            return
        if from_path and not name.startswith("$") and name.lower() not in {one.lower() for one in walk.names}:
            continue
        here = _below(around, name)
        if here.where and not here.parts and _is_own(name, value, walk):
            here = Place((name,), "", name)
        if isinstance(value, str):
            yield _violation(value, here, walk)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, str):
                    yield _violation(item, here, walk)
                elif isinstance(item, dict) and _is_complaint(item, walk):
                    yield from _of_object(item, "", here, depth + 1, walk)
                elif isinstance(item, dict):
                    inner = _below(here, str(index)) if len(value) > 1 or _is_list(here, walk) else here
                    yield from _by_place(item, inner, depth + 1, walk)
        elif isinstance(value, dict) and _is_complaint(value, walk):
            yield from _of_object(value, "", here, depth + 1, walk)
        elif isinstance(value, dict):
            yield from _by_place(value, here, depth + 1, walk)


def _is_own(name: str, value: Json, walk: _Walk) -> bool:
    """Whether a word for a part of the request is a member of the body: texts are about it, an object about the part.

    `{"headers": ["This field is required."]}` of a webhook that is sent with `headers`.
    """
    body = walk.request.body
    return name != "body" and isinstance(body, dict) and name in body and (isinstance(value, str) or _texts(value))


def _is_list(place: Place, walk: _Walk) -> bool:
    """Whether a place is no object of the request: the errors in a list are then those of its elements."""
    there = value_at(walk.request, pointer(place.parts, walk.request, place=place.where))
    return not isinstance(there, dict)  # Cerberus lists the errors of one object


def _below(around: Place, name: str) -> Place:
    if name in WHOLE:
        return around
    if not around.parts and not around.where and (part := part_of(name)) and part != "request":
        return Place((), part, name)
    if not around.parts and around.where == "":
        return Place(tuple(_steps(name)), "", name)
    return Place((*around.parts, *_steps(name)), around.where, name)


def _is_by_place(members: Mapping[str, Json], walk: _Walk) -> bool:
    """Whether an object can only hold errors by their places: texts and lists of texts under names, at any depth."""
    if not members:
        return False
    if all(_is_tree(value, 0) for value in members.values()):
        return not all(name in LISTS for name in members) or _begins_with_sent(members, walk)
    if any(name in _USUAL and not _is_sent(name, walk) for name in members):
        return False
    if _is_one_error(members):
        return False
    sent = _begins_with_sent(members, walk)
    return all(
        (isinstance(value, str) and (sent or is_error_text(value))) or _is_tree(value, 0) for value in members.values()
    )


def _begins_with_sent(members: Mapping[str, Json], walk: _Walk) -> bool:
    """Whether a name, perhaps one of a place further inside, begins with one of the request."""
    return any(_is_sent(name.partition(".")[0].partition("[")[0], walk) for name in members)


def _is_one_error(members: Mapping[str, Json]) -> bool:
    """Whether texts stand under the usual names of one error only: a chat's `message` is sent, and told of as well."""
    names = {name for name, value in members.items() if isinstance(value, str)}
    if not all(name in _USUAL or (name in PLACES and " " not in members[name]) for name in names):
        return False
    return not names.isdisjoint(SENTENCES) or (not names.isdisjoint(TEXTS) and not names.isdisjoint(CODES))


def _is_tree(value: Json, depth: int) -> bool:
    """Whether a value holds lists of texts and nothing else, in objects and lists."""
    spend()
    if depth > _DEEPEST:
        return False
    if isinstance(value, list):
        return all(
            isinstance(item, str) or item == {} or (isinstance(item, dict) and _is_tree(item, depth + 1))
            for item in value[:_MOST]
        )
    return isinstance(value, dict) and bool(value) and all(_is_tree(one, depth + 1) for one in value.values())


def _is_sent(name: str, walk: _Walk) -> bool:
    return name in walk.names


def _is_complaint(members: Mapping[str, Json], walk: _Walk) -> bool:
    """Whether an object is one error, and no map of errors by place: it has a text that is no member of the request."""
    for name in _OF_ONE.intersection(members):
        if isinstance(members[name], str) and not _is_sent(name, walk):
            return True
    return not _CODE_NAMES.isdisjoint(members) and not _RANK.keys().isdisjoint(members)


_USUAL: Final = frozenset({*TEXTS, *CODES, *ABOUT_THE_ANSWER})
_OF_ONE: Final = frozenset(
    {"message", "msg", "detail", "description", "code", "defaultMessage", "errorMessage", "reason", "title"}
)
_CODE_NAMES: Final = frozenset(CODES)
_INNER_NAMES: Final = frozenset(INNER_PLACES)
_LISTED_NAMES: Final = frozenset(LISTED_PLACES)
_TEXT_NAMES: Final = frozenset(TEXTS)
_RANK: Final = {name: rank for rank, name in enumerate(PLACES) if name not in PLACES_BESIDE_TEXT}
"""Members that are places whatever stands beside them, the surest first."""


def _texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _place(members: Mapping[str, Json], walk: _Walk) -> Place:
    """Return the place that an error object names, without parts where it names none."""
    part = ""
    for name in PARTS:
        if name in members and isinstance(members[name], str) and part_of(members[name]):
            part = members[name]
            break
    has_text = any(isinstance(members[name], str) for name in _TEXT_NAMES.intersection(members))
    for name in sorted(_RANK.keys() & members.keys(), key=_RANK.__getitem__):
        if not has_text and name in PLACES_OF_ANSWERS:
            continue
        if (place := _of_member(name, members, part, walk)).parts:
            return place
    for name in INNER_PLACES if not _INNER_NAMES.isdisjoint(members) else ():
        inner = members.get(name)
        place = _inner_place(inner) if isinstance(inner, dict) else Place()
        if isinstance(inner, dict) and not place.parts and isinstance(inner.get("pointers"), dict):
            place = _inner_place(inner["pointers"])
        if place.parts:
            return place
    for name in PLACES_BESIDE_TEXT if has_text else ():
        if name in members and (place := _of_member(name, members, part, walk)).parts:
            return place
    if part:
        return Place((), part_of(part))
    return Place()


def _of_member(name: str, members: Mapping[str, Json], part: str, walk: _Walk) -> Place:
    value = members.get(name)
    if value in (None, "", [], {}):
        return Place()
    if isinstance(value, str) and (value == walk.request.path or (value == part and name in PARTS)):
        return Place()  # Spring's `path` is where the request went; `location: "body"` is a part
    if name in PLACES_BESIDE_TEXT and not (isinstance(value, str) and _is_name(value)):
        return Place()
    return _read_place(value, part)


def _is_name(value: str) -> bool:
    return len(value) <= _LONGEST_NAME and " " not in value and not value.endswith(("Error", "Exception"))


_LONGEST_NAME: Final = 120


def _read_place(value: Any, part: str) -> Place:
    where = part_of(part)
    if isinstance(value, dict):
        return _inner_place(value)
    if isinstance(value, str):
        if value.startswith("#"):
            where = where or "body"
        return Place(tuple(_steps(value)), where, value)
    if isinstance(value, list) and len(value) <= _MOST:
        keys = [one.get("key", one.get("name")) if isinstance(one, dict) else one for one in value]
        if all(isinstance(one, str | int) and not isinstance(one, bool) for one in keys):
            return Place(tuple(str(one) for one in keys), where)
    return Place()


def _inner_place(value: Mapping[str, Json]) -> Place:
    """Read JSON:API's `source`, protovalidate's `field`, Directus' `extensions`."""
    elements = value.get("elements")
    if isinstance(elements, list):
        parts: list[str] = []
        for one in elements:
            if isinstance(one, dict):
                parts += [str(one[name]) for name in ("fieldName", "field_name", "index", "stringKey") if name in one]
        return Place(tuple(parts), "body")
    for name, where in (
        *(("pointer", "body"), ("instance", "body"), ("parameter", "query"), ("header", "headers"), ("field", "")),
        *(("attribute", ""), ("path", ""), ("param", "")),
    ):
        inner = value.get(name)
        if isinstance(inner, str) and inner and " " not in inner:
            return Place(tuple(_steps(inner)), where, inner)
        if isinstance(inner, list) and inner and name == "path":
            return _read_place(inner, "")
    return Place()


def _steps(place: str) -> list[str]:
    if "[" in place and not place.startswith(("/", "#")) and "." not in place and "'" not in place:
        return [part for part in parameter_segments(place) if part]
    return steps(place)


def _violation(message: str, place: Place, walk: _Walk) -> Violation:
    return _placed(Violation(message=message), place, walk)


def _placed(violation: Violation, place: Place, walk: _Walk) -> Violation:
    if not place.parts and not place.where:
        return violation
    # A member may be called `body`, as the text of an article is.
    own = member_called(place.text, walk.request.body) if place.text == "body" and not place.parts else ""
    return violation._replace(
        pointer=own or pointer(place.parts, walk.request, place=place.where),
        param=place.text or violation.param,
    )
