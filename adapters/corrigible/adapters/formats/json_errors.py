"""Errors found in JSON of any shape: objects with a text and a place, texts under the names of members, bare texts.

The shapes are those of `error_shapes`. Of members with names that nobody knows what stands in them tells the sentence
and the place: `{"reply": "no such colour", "culprit": "colour"}`. The innermost errors count, those with a place before
those without. The walk is bounded in depth and in the number of values.

Knows: the table of shapes, what was sent. Does not know: descriptions, what sentences say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from . import error_shapes as shapes
from .keywords import PYDANTIC_OF_LISTS, keyword_of
from .members import (
    Members,
    beside,
    complains,
    fold,
    folded,
    is_thing,
    others,
    plain_code,
    sentence,
    text,
    with_plain_message,
    without_notes,
)
from .pointers import (
    Place,
    is_name,
    member_called,
    part_of,
    pointer,
    read_place,
    told_place,
    told_steps,
)

_DEEPEST: Final = 8
_MOST: Final = 64
"""Errors of one answer; what it says beyond is not read."""
_MOST_VALUES: Final = 600


class _Walk(NamedTuple):
    request: Request
    names: frozenset[str]
    """Names of members and parameters of the request."""
    inner: frozenset[str]
    """Names in the objects that are members of the body."""
    left: list[int]
    """Values that may still be looked at."""

    def goes_on(self, depth: int) -> bool:
        self.left[0] -= 1
        spend()
        return self.left[0] >= 0 and depth <= _DEEPEST


class _At(NamedTuple):
    """Where a value of the answer stands."""

    key: str = ""
    """The name of its member, folded."""
    place: Place = Place()
    """What the objects around it say of its place."""
    depth: int = 0
    around: tuple[tuple[Members, str], ...] = ()
    """The objects around it, each with the name of the member that leads on."""

    def inside(self, key: str, place: Place, members: Members, name: str) -> _At:
        return _At(key, place, self.depth + 1, (*self.around, (members, name)))


def find_errors(body: Json, request: Request) -> list[Violation]:
    """Return the errors of an answer, the innermost of each branch."""
    names = set(request.query)
    if isinstance(request.body, dict):
        names.update(map(str, request.body))
    objects = request.body.values() if isinstance(request.body, dict) else ()
    inner = frozenset(str(name) for one in objects if isinstance(one, dict) for name in islice(one, _MOST))
    walk = _Walk(request, frozenset(names), inner, [_MOST_VALUES])
    return list(islice(_of(body, _At(), walk), _MOST))


def _of(value: Json, at: _At, walk: _Walk) -> Iterator[Violation]:
    """Yield the errors of a value."""
    if not walk.goes_on(at.depth):
        return
    if isinstance(value, str):
        if value.strip():
            yield _violation(value, at, walk)
    elif isinstance(value, list):
        for item in without_notes(value):
            is_one = at.key in shapes.MAPS and isinstance(item, dict) and _is_one_error(folded(item))
            yield from _of(item, at._replace(key="" if is_one else at.key, depth=at.depth + 1), walk)
    elif isinstance(value, dict):
        yield from _of_object(value, at, walk)


def _of_object(members: Members, at: _At, walk: _Walk) -> Iterator[Violation]:
    members = with_plain_message(members)
    if at.key in shapes.LISTS or not at.around or not _has_text(folded(at.around[-1][0])):
        members = _with_usual_names(members, walk.request, walk.names)  # beside a sentence stand things
    told = folded(members)
    if _is_node(told, at, walk):
        yield from _of_node(members, at, walk)
        return
    if (at.key in shapes.MAPS or _is_by_place(members, told, at.key, walk)) and not _is_complaint(members, walk):
        yield from _by_place(members, at, walk)
        return
    own = told_place(told, walk.request, has_text=_has_text(told))
    if own.parts[:1] == ("response",) and at.key == "validation":  # Prism: the answer, which no request can mend
        return
    if own == Place() and at.place == Place():
        lists = any(isinstance(told[name], list) for name in shapes.LISTS.intersection(told))
        part = shapes.OF_PART.fullmatch(sentence(told, walk.names)[:_LONGEST_OF_PART]) if lists else None
        own = Place((), part_of(part["part"])) if part is not None else own
        at = at._replace(place=own)
    around = at.place
    is_repeated = own.parts and around.parts[-len(own.parts) :] == own.parts  # under its own name: mongoose
    parts = around.parts if is_repeated else (*around.parts, *own.parts)
    below = own._replace(parts=parts, where=own.where or around.where)
    if isinstance(by_code := told.get(shapes.TEXTS_BY_CODE), dict):
        for code, message in by_code.items():
            if isinstance(message, str):
                one = Violation(code=str(code), message=message, native=others(members))
                yield _placed(one, at.inside("", below, members, shapes.TEXTS_BY_CODE), walk)
        return
    inner = [] if any(names <= told.keys() for names in shapes.EXACT) else _inner_errors(members, at, below, walk)
    message = sentence(told, walk.names)
    if any(one in message for one in _ESCAPED_QUOTES):
        from html import unescape  # half a MB, which few messages need

        message = unescape(message)
    says_more = any(one.message for one in inner) or not message
    if inner and (any(one.pointer or one.param for one in inner) or (says_more and not own.parts)):
        yield from inner
        return
    extensions = told.get("extensions")
    code = text(told, *shapes.CODES) or (
        text(folded(extensions), *shapes.CODES) if isinstance(extensions, dict) else ""
    )
    code = code or str(told.get("keywordlocation", "")).rpartition("/")[2]  # JSON Schema 2020-12, section 12.3
    is_leaf = bool(around.parts) and told.keys() <= shapes.LEAVES
    if message or (code and (own.parts or is_leaf or at.key in shapes.LISTS or not at.key)):
        violation = Violation(
            code=plain_code(code),
            message=message,
            type=members["type"] if isinstance(members.get("type"), str) else "",
            native=others(members),
        )
        here = at.inside(at.key, below if own.parts or own.is_whole else around, members, "")
        yield from _with_lists(violation, told, own, here, walk)


_ESCAPED_QUOTES: Final = ("&quot;", "&#39;", "&#039;")
"""In a text that was made for a page, as Jetty's and WordPress' are."""


def _inner_errors(members: Members, at: _At, below: Place, walk: _Walk) -> list[Violation]:
    """Return the errors that an object holds: not in what was sent, and not in what exists already."""
    has_sentence = any(name in shapes.SENTENCES for name in folded(members))
    inner: list[Violation] = []
    for name, value in members.items():
        if not isinstance(value, (dict, list)) or not value or (key := fold(name)) in shapes.NO_ERRORS:
            continue
        if has_sentence and key in shapes.LISTED_PLACES and isinstance(value, list) and all(map(is_name, value)):
            continue  # names of the places that the sentence is about
        if not (has_sentence and is_thing(value, walk.request.body)):
            inner += _below_member(name, value, at.inside(key, below, members, name), at.place, walk)
    return inner


def _below_member(name: str, value: Json, at: _At, around: Place, walk: _Walk) -> Iterator[Violation]:
    """Yield the errors of a member: its name is a place where the request has one, or where its texts complain."""
    if at.key in shapes.LISTS and not (name in walk.names and _is_tree(value, 0)):
        yield from _of(value, at if at.key in shapes.RELATIVE else at._replace(place=around), walk)
        return
    is_place = name in walk.names or (_are_texts(value) and all(map(complains, value)))
    for one in _of(value, at._replace(place=_below(around, name) if is_place else around), walk):
        if is_place or one.pointer or isinstance(value, dict):
            yield one


def _with_lists(violation: Violation, told: Members, own: Place, at: _At, walk: _Walk) -> Iterator[Violation]:
    """Yield an error at its place, or at each of the places that are listed beside its text."""
    if (listed := _listed_places(told, own, walk.request)) is not None:
        yield from (_placed(violation, at._replace(place=place), walk) for place in listed)
        return
    keyword = PYDANTIC_OF_LISTS.get(violation.code, "") if "loc" in told else ""
    placed = _placed(violation.at("", keyword or keyword_of(violation.code), {}), at, walk)
    yield placed if placed.pointer else placed._replace(pointer=shapes.PLACES_OF_CODES.get(violation.code, ""))


def _has_text(told: Members) -> bool:
    return any(isinstance(told.get(name), str) for name in shapes.TEXTS)


_LONGEST_OF_PART: Final = 500


def _listed_places(told: Members, own: Place, request: Request) -> list[Place] | None:
    """Return the places that an error lists beside its text: `{"message": "Missing fields", "fields": ["a", "b"]}`.

    Or as objects: `{"msg": "Unknown field(s)", "fields": [{"path": "a", "location": "body"}]}`.
    """
    for name in shapes.LISTED_PLACES:
        value = told.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= _MOST:
            continue
        if all(map(is_name, value)):
            return [Place((*own.parts, *told_steps(str(one))), own.where, str(one)) for one in value]
        listed = [told_place(folded(one), request, has_text=True) for one in value if isinstance(one, dict)]
        if len(listed) == len(value) and all(one.parts for one in listed):
            return listed
    return None


def _is_node(told: Members, at: _At, walk: _Walk) -> bool:
    """Whether an object is a node of a tree of errors, whose branches are no steps themselves.

    `{"errors": [], "properties": {"n": {"errors": ["Too small"]}}}` of zod, `children` of Symfony's forms, `nested` of
    Valibot.
    """
    if not told.keys() <= shapes.NODES:
        return False
    if any(isinstance(told.get(name), dict) and name not in walk.names for name in ("children", "nested")):
        return True
    own = told.get("errors")
    return "errors" not in walk.names and (_are_texts(own) or own == []) and len(told) > (0 if at.place.parts else 1)


def _of_node(members: Members, at: _At, walk: _Walk) -> Iterator[Violation]:
    for name, value in members.items() if walk.goes_on(at.depth) else ():
        here = at.inside("", at.place, members, name)
        each = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, one in each:
            if isinstance(one, str):
                yield _violation(one, here, walk)
            elif isinstance(one, list | dict):
                yield from _of(one, here._replace(place=_below(here.place, str(step))), walk)


def _by_place(members: Members, at: _At, walk: _Walk) -> Iterator[Violation]:
    """Yield errors that stand under the names of their places, at any depth."""
    from_path = any(name.startswith("$.") for name in members)  # ASP.NET adds the parameter of its own method
    sent = {one.lower() for one in walk.names} if from_path else frozenset()
    for name, value in members.items():
        if not walk.goes_on(at.depth):
            return
        if from_path and not name.startswith("$") and name.lower() not in sent:
            continue
        place = _below(at.place, name)
        if place.where and not place.parts and _is_own(name, value, walk):
            place = Place((name,), "", name)
        here = at.inside("", place, members, name)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, str):
                yield _violation(item, here, walk)
            elif isinstance(item, dict) and any(names <= folded(item).keys() for names in shapes.EXACT):
                yield from _of_object(item, here._replace(place=at.place), walk)  # its place is the whole one
            elif isinstance(item, dict) and _is_complaint(item, walk):
                yield from _of_object(item, here, walk)
            elif isinstance(item, dict):
                is_element = isinstance(value, list) and (len(value) > 1 or _is_list(place, walk))
                yield from _by_place(item, here._replace(place=_below(place, str(index))) if is_element else here, walk)


def _is_own(name: str, value: Json, walk: _Walk) -> bool:
    """Whether a word for a part of the request is a member of the body: texts are about it, an object about the part.

    `{"headers": ["This field is required."]}` of a webhook that is sent with `headers`.
    """
    body = walk.request.body
    return name != "body" and isinstance(body, dict) and name in body and (isinstance(value, str) or _are_texts(value))


def _is_list(place: Place, walk: _Walk) -> bool:
    """Whether a place is no object of the request: the errors in a list are then those of its elements."""
    there = value_at(walk.request, pointer(place.parts, walk.request, place=place.where))
    return not isinstance(there, dict)  # Cerberus lists the errors of one object


def _below(around: Place, name: str) -> Place:
    if name in shapes.WHOLE:
        return around
    if not around.parts and not around.where and (part := part_of(name)) and part != "request":
        return Place((), part, name)
    return Place((*around.parts, *told_steps(name)), around.where, name)


def _is_by_place(members: Members, told: Members, key: str, walk: _Walk) -> bool:
    """Whether an object can only hold errors by their places: texts and lists of texts under names, at any depth."""
    if not members:
        return False
    is_of_names = key in shapes.LISTS and not any(
        name in shapes.LISTS or name in _USUAL or part_of(name) for name in told
    )
    if is_of_names and all(isinstance(value, dict) and _is_one_error(folded(value)) for value in members.values()):
        return True
    # A name, perhaps one of a place further inside, begins with one of the request.
    has_sent = any(name.partition(".")[0].partition("[")[0] in walk.names for name in members)
    if any(
        isinstance(value, dict) and fold(name) in shapes.MAPS and name not in walk.names
        for name, value in members.items()
    ):
        return False
    if all(_is_tree(value, 0) for value in members.values()):
        return has_sent or not all(name in shapes.LISTS for name in told)
    if any(fold(name) in _USUAL and name not in walk.names for name in members) or _is_one_error(told):
        return False
    return all(
        (isinstance(value, str) and (has_sent or complains(value))) or _is_tree(value, 0) for value in members.values()
    )


def _is_one_error(told: Members) -> bool:
    """Whether texts stand under the usual names of one error only: a chat's `message` is sent, and told of as well."""
    names = {name for name, value in told.items() if isinstance(value, str)}
    if not all(name in _USUAL or (name in _PLACE_NAMES and " " not in told[name]) for name in names):
        return False
    return not names.isdisjoint(shapes.SENTENCES) or (
        not names.isdisjoint(shapes.TEXTS) and not names.isdisjoint(shapes.CODES)
    )


def _is_complaint(members: Members, walk: _Walk) -> bool:
    """Whether an object is one error, and no map of errors by place: it has a text that is no member of the request."""
    names = {fold(name): name for name in members}
    for name in shapes.OF_ONE.intersection(names):
        if isinstance(members[names[name]], str) and names[name] not in walk.names | walk.inner:
            return True
    codes = (*shapes.CODES, *shapes.RELATIVE, shapes.TEXTS_BY_CODE)
    return not names.keys().isdisjoint(codes) and not names.keys().isdisjoint(_SURE_PLACES)


_USUAL: Final = frozenset({*shapes.TEXTS, *shapes.CODES, *shapes.ABOUT_THE_ANSWER})
_PLACE_NAMES: Final = frozenset(one.member for one in shapes.PLACES if not one.is_object)
_SURE_PLACES: Final = frozenset(one.member for one in shapes.PLACES if not one.is_object and not one.is_beside_text)


def _is_tree(value: Json, depth: int) -> bool:
    """Whether a value holds lists of texts and nothing else, in objects and lists."""
    spend()
    if depth > _DEEPEST:
        return False
    if isinstance(value, list):
        return all(
            isinstance(item, str) or item == {} or (isinstance(item, dict) and _is_leaf_or_tree(item, depth + 1))
            for item in value[:_MOST]
        )
    return isinstance(value, dict) and bool(value) and all(_is_tree(one, depth + 1) for one in value.values())


def _is_leaf_or_tree(members: Members, depth: int) -> bool:
    is_leaf = members.keys() <= shapes.LEAVES and not members.keys().isdisjoint(("params", "args"))
    return is_leaf or _is_tree(members, depth)


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _violation(message: str, at: _At, walk: _Walk) -> Violation:
    return _placed(Violation(message=message), at, walk)


def _placed(violation: Violation, at: _At, walk: _Walk) -> Violation:
    """Return an error at its place, with what stands beside its text."""
    place, request = at.place, walk.request
    native = {**violation.native, "members": beside(at.around, (violation.message, violation.code))}
    if not place.parts and not place.where:
        return violation._replace(native=native)
    # A member may be called `body`, as the text of an article is.
    own = member_called(place.text, request.body) if place.text == "body" and not place.parts else ""
    body = request.body if isinstance(request.body, dict) else {}
    if "jsonrpc" in body and place.parts and place.parts[0] not in body and place.where in ("", "body"):
        params = body.get("params")  # JSON-RPC 2.0, section 4.2; the MCP specification, tools/call
        called = params if isinstance(params, dict) and place.parts[0] not in params else {}
        inside = ("params", "arguments") if isinstance(called.get("arguments"), dict) else ("params",)
        place = place._replace(parts=(*inside, *place.parts), where="body")
    told = own or pointer(place.parts, request, place=place.where)
    if place.parts and told:
        native["told_place"] = list(place.parts)
    return violation._replace(pointer=told, param=place.text or violation.param, native=native)


# Members with names that nobody knows


_LONGEST_TOLD: Final = 500
_MOST_MEMBERS: Final = 40
"""Of one object: the object of an error has a few, a thing has many."""
_KNOWN: Final = frozenset(
    {
        *shapes.TEXTS,
        *shapes.CODES,
        *(one.member for one in shapes.PLACES),
        *shapes.LISTS,
        *shapes.MAPS,
        *shapes.NO_ERRORS,
        *shapes.ABOUT_THE_ANSWER,
        *shapes.WHOLE,
        *shapes.OF_ERRORS,
    }
)


def _with_usual_names(members: Members, request: Request, sent: Collection[str]) -> Members:
    """Return an object with the usual names of a sentence, of errors and of a place for those that only shapes tell."""
    strange = [name for name in members if fold(name) not in _KNOWN and name not in sent and not part_of(name)]
    usual = folded(members)
    has_sentence = "message" in usual or any(isinstance(usual.get(name), str) for name in shapes.TEXTS)
    if not strange or len(members) > _MOST_MEMBERS or has_sentence or not shapes.OF_ERRORS.isdisjoint(usual):
        return members
    spend()
    places = [name for name in strange if _names_a_place(members[name], request)]
    is_map = not places and all(_is_sentence(one) or isinstance(one, list | dict) for one in members.values())
    told = [name for name in strange if _is_sentence(members[name])]
    told = [name for name in told if _has_subject(name, members[name])] if is_map else told
    if told:
        longest = max(told, key=lambda name: len(str(members[name])))
        new = {longest: "message"} | ({places[0]: "field"} if len(places) == 1 else {})
        return {new.get(name, name): one for name, one in members.items()}
    lists = [name for name in strange if isinstance(one := members[name], list) and one]
    lists = [name for name in lists if all(_has_subject(name, one) for one in members[name])]
    new = {lists[0]: "errors"} if len(lists) == 1 and "errors" not in members else {}
    return {new.get(name, name): one for name, one in members.items()}


def _has_subject(name: str, value: Json) -> bool:
    """Whether a value is a sentence with a subject of its own, which is not the name that it stands under.

    `{"name": "can't be blank"}` and `{"first_name": "First name is too long"}` are about what their names say.
    """
    if not isinstance(value, str) or not _is_sentence(value):
        return False
    told = value.strip()[:_LONGEST_TOLD].lower()
    begins = next((one for one in (word.strip(".,:;!?") for word in told.split()) if one not in shapes.DETERMINERS), "")
    has_own = begins not in shapes.WITHOUT_SUBJECT
    return has_own and name.lower() not in told and set(words(name)).isdisjoint(words(told))


def _is_sentence(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    told = [one for one in value[:_LONGEST_TOLD].split() if sum(map(str.isalpha, one)) > 1]
    return len(told) > 1 or (" " not in value and len(value) > 3 and not value.isascii())


def _names_a_place(value: Json, request: Request) -> bool:
    """Whether a value names a place that the request has."""
    if not (is_name(value) or (isinstance(value, list) and value)) or value == request.path:
        return False
    parts = read_place(value).parts
    return bool(parts) and not part_of(parts[-1]) and value_at(request, pointer(parts, request)) is not MISSING
