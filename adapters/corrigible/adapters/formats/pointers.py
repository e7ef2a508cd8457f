"""From the ways in which answers name a place to a pointer into the request document.

Knows: the table of shapes, what was sent. Does not know: sentences, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.pointer import MISSING, escape, parameters_at, segments, to_pointer, value_at
from corrigible.rules.wordings import Kind, read
from corrigible.schema.document import parameter_segments
from corrigible.schema.exchange import Json, Request

from .error_shapes import FURTHER_STEPS, IN_ELEMENTS, IN_OBJECTS, PARTS, PLACES, Source, by_name
from .members import Members, folded

_STEPS: Final = re.compile(r"""\[\s*(?:'([^']*)'|"([^"]*)")\s*\]|[^./\[\]]+""")
"""A quoted name in brackets (RFC 9535) is one step, whatever it holds."""
_WHERE: Final = by_name("words_for_parts")
_OF_NAMES: Final = frozenset({"required", "additionalProperties", "unevaluatedProperties"})
_MOST: Final = 64
_LONGEST_NAME: Final = 120


class Place(NamedTuple):
    """A place as the answer says it."""

    parts: tuple[str, ...] = ()
    where: str = ""
    """The part of the request, where that is said beside it."""
    text: str = ""
    """What was said, where it was one text."""
    is_whole: bool = False
    """Whether the whole of that part is told, and not only that a place is in there."""


def steps(place: str) -> list[str]:
    """Split `items[0].price`, `.body.items`, `$.items`, `items/0/price` or `labels['a/b']` into its parts."""
    if place.startswith(("#/", "/")):
        return [part for part in segments(place.lstrip("#")) if part]
    if "~1" in place or "~0" in place:  # RFC 6901, section 4: `desk~1name` is the one name `desk/name`
        return segments(f"/{place}")
    parts = (match[1] or match[2] or match[0].strip("'\"") for match in _STEPS.finditer(place.removeprefix("$")))
    return [part for part in parts if part and not part.startswith("[")]


def told_steps(place: str) -> list[str]:
    """Split the place that a member has, which may be a form's name: `items[0][price]` (WHATWG URL, section 5)."""
    if "[" in place and not place.startswith(("/", "#")) and "." not in place and "'" not in place:
        return [part for part in parameter_segments(place) if part]
    return steps(place)


def part_of(name: str) -> str:
    """Return the part of the request that a dialect's word stands for, empty where it is no such word."""
    return _WHERE.get("".join(name.replace("_", " ").replace("-", " ").split()).lower(), "") if len(name) < 20 else ""


def is_name(value: Json) -> bool:
    """Whether a text may be the name of a place: no sentence, and not that of an exception."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        return False
    return " " not in value and not value.endswith(("Error", "Exception"))


def told_place(told: Members, request: Request, *, has_text: bool) -> Place:
    """Return the place that the object of an error names, without parts where it names none. Names are folded."""
    part = next((told[name] for name in PARTS if isinstance(told.get(name), str) and part_of(str(told[name]))), "")
    for source in _sources_in(told):
        if (has_text or not source.is_beside_text) and (has_text or not source.may_be_the_route):
            place = _read_source(source, told[source.member], str(part), request)
            if told.get("type") == "json_invalid" and all(part.isdecimal() for part in place.parts[1:]):
                place = place._replace(parts=place.parts[:1])  # pydantic says how far JSON was read
            if place.parts or place.where:
                return place._replace(parts=(*place.parts, *_further(told)))
    return Place((), part_of(str(part)))


_RANK: Final = {source: rank for rank, source in enumerate(PLACES)}
_BY_NAME: Final[Mapping[str, Sequence[Source]]] = {
    name: [source for source in PLACES if source.member == name] for name in {source.member for source in PLACES}
}


def _sources_in(told: Members) -> Iterable[Source]:
    found = [source for name in told if name in _BY_NAME for source in _BY_NAME[name]]
    return sorted(found, key=_RANK.__getitem__) if len(found) > 1 else found


def _read_source(source: Source, value: Json, part: str, request: Request) -> Place:
    if source.whole_if_empty and value == "":
        return Place((), "body", is_whole=True) if request.body is not None else Place()
    if value in (None, "", [], {}) or isinstance(value, dict) is not source.is_object:
        return Place()
    if isinstance(value, str) and (value == request.path or (value == part and source.member in PARTS)):
        return Place()  # Spring's `path` is where the request went; `location: "body"` is a part
    if source.is_beside_text and not is_name(value):
        return Place()
    return read_place(value, part)


def read_place(value: Json, part: str = "") -> Place:
    """Return the place that a value tells: a path, a list of steps, JSON:API's `source`, protovalidate's `field`."""
    where = part_of(part)
    if isinstance(value, dict):
        return _read_object(folded(value))
    if isinstance(value, str):
        parts = tuple(told_steps(value))
        return Place(parts, where or ("body" if value.startswith("#") else ""), value) if parts else Place()
    if isinstance(value, list) and len(value) <= _MOST:
        keys = [one.get("key", one.get("name")) if isinstance(one, dict) else one for one in value]
        if all(isinstance(one, str | int) and not isinstance(one, bool) for one in keys):
            return Place(tuple(str(one) for one in keys), where)
    return Place()


def _read_object(told: Members) -> Place:
    elements = told.get("elements")
    if isinstance(elements, list):
        each = [folded(one) for one in elements if isinstance(one, dict)]
        return Place(tuple(str(one[name]) for one in each for name in IN_ELEMENTS if name in one), "body")
    for name, where in IN_OBJECTS.items():
        inner = told.get(name)
        if isinstance(inner, str) and inner and " " not in inner:
            parts = [inner] if where in ("query", "headers") else told_steps(inner)
            return Place(tuple(parts), where, inner)
        if isinstance(inner, list) and inner and name == "path":
            return read_place(inner)
    if isinstance(columns := told.get("target"), list) and len(columns) == 1:  # Prisma's `meta`
        return read_place(columns)
    pointers = told.get("pointers")
    return _read_object(folded(pointers)) if isinstance(pointers, dict) else Place()


def _further(told: Members) -> tuple[str, ...]:
    """Return one more step of the place, where a member of its own names that."""
    for name in FURTHER_STEPS:
        outer, _, inner = name.partition(".")
        around = told.get(outer)
        if isinstance(around, dict) and isinstance(step := folded(around).get(inner), str):
            return (step,)
    return ()


def pointer(parts: Sequence[str], request: Request, *, place: str = "") -> str:
    """Return the pointer to a place, empty where it is none in the request document.

    `parts` may begin with a word for the part of the request unless `place` says it. A request without a path, such as
    the call of a tool, has a body and nothing else.
    """
    parts = [str(part) for part in parts]
    if not request.path and parts:
        return "/body" + to_pointer(parts)
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
    elif not place and parts:
        place = (_part_with(parts[0], request) if len(parts) == 1 else "") or parameters_at(request)[1:]
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


def is_there(place: str, request: Request) -> bool:
    return value_at(request, place) is not MISSING


def without_foreign_step(place: str, constraint: str, request: Request) -> str:
    """Return a place that the request does not have without its one foreign step; as it is where that is not clear.

    Servers add names of their own: of a parameter, of a type (`$input`), of a union's branch (`tools.0.custom.name`).
    Those of Jakarta Validation begin with two, the method and its parameter: `create.order.address.city`.
    """
    part, *parts = segments(place) or [""]
    parent = place.rpartition("/")[0]
    if len(parts) < 2 or is_there(place, request):
        return place
    if (around := value_at(request, parent)) is not MISSING:
        is_inside = isinstance(around, Mapping) or (isinstance(around, list) and not parts[-1].isalpha())
        return place if is_inside or around is None or constraint in _OF_NAMES else parent
    shorter = [to_pointer([part, *parts[:at], *parts[at + 1 :]]) for at in range(min(len(parts) - 1, _MOST))]
    shorter += [to_pointer([part, *parts[2:]])] if len(parts) > 3 else []
    if constraint == "required":  # what is missing was not sent
        found = [one for one in shorter if value_at(request, one) in ("", None, [], {})]
        lacking = [one for one in shorter if one.count("/") > 2 and is_there(one.rpartition("/")[0], request)]
        found = found or [one for one in lacking if not is_there(one, request)]
    else:
        found = [one for one in shorter if is_there(one, request)]
    return found[0] if len(set(found)) == 1 else place


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


def member_said(message: str, *kinds: Kind) -> str:
    """Return the first member that a message says of one of some kinds, empty where there is none."""
    return next((field for one in read(message).of(*kinds) for field in one.slots.get("field", ())), "")


def member_pointer(place: str, message: str, constraint: str, request: Request) -> str:
    """Return the place of the member that a message names below a place, the place itself where it names none.

    Validators point to the object that lacks a member, or has one too many: the place is the member's own.
    """
    is_unknown = constraint in ("additionalProperties", "unevaluatedProperties")
    name = member_said(message, Kind.UNKNOWN) if is_unknown else ""
    if constraint == "required":
        name = member_said(message, Kind.MISSING)
    if not name or place in ("", "/path"):
        return place
    name = segments(f"/{name}")[-1] if "~" in name else name  # RFC 6901, section 4: `desk~1name` is `desk/name`
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
