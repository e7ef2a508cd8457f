"""Places of a request document: reading, setting, removing, and finding those that an answer mentions.

Requests are never changed; what is set comes back as a new one. Places are within query and body only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from corrigible.schema.document import BODILESS, CREDENTIALS, header_problem, is_method, is_path, scalar_text
from corrigible.schema.exchange import Json, Request

JsonPath = tuple[str | int, ...]
"""A path into the request document: ("body", "ingredients", 2, "name")."""

ABSENT: Final = object()


def parse_pointer(pointer: str) -> JsonPath:
    """Return the place of an RFC 6901 pointer. What looks like an index is one where there is a list."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def format_pointer(place: JsonPath) -> str:
    """Return a place as an RFC 6901 pointer."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)


def scalars(request: Request) -> Iterator[tuple[JsonPath, Json]]:
    """Yield every scalar of query and body, in order."""
    yield from _scalars(("query",), dict(request.query))
    yield from _scalars(("body",), request.body)


def values_inside(request: Request) -> Iterator[tuple[JsonPath, Json]]:
    """Yield everything inside query and body, outer values first."""
    yield from _values_inside(("query",), dict(request.query))
    yield from _values_inside(("body",), request.body)


def value_at(request: Request, place: JsonPath) -> Any:
    """Return what is at a place, ABSENT where nothing is."""
    node: Any = request.document()
    for part in place:
        node = _inside(node, part)
        if node is ABSENT:
            return ABSENT
    return node


def with_value(request: Request, place: JsonPath, value: Json) -> Request | None:
    """Return the request with a value at a place, objects made on the way; None where it would be no request."""
    document = _document(request)
    holder: Any = document
    for part in place[:-1]:
        if _inside(holder, part) in (ABSENT, None) and not _set(holder, part, {}):
            return None
        holder = _inside(holder, part)
    return _request(document, request) if place and _set(holder, place[-1], deepcopy(value)) else None


def without(request: Request, place: JsonPath) -> Request | None:
    """Return the request without what is at a place, None where nothing is."""
    if value_at(request, place) is ABSENT or len(place) < 2:
        return None
    document = _document(request)
    holder: Any = document
    for part in place[:-1]:
        holder = _inside(holder, part)
    if isinstance(holder, list):
        del holder[int(place[-1])]
    else:
        del holder[place[-1]]
    return _request(document, request)


def parameter_location(request: Request) -> str:
    """Return where parameters of this request go: its query, or its body."""
    return "query" if request.body is None and request.method.upper() in BODILESS else "body"


def normalized_name(name: str | int) -> str:
    """Return a name as two spellings of it have in common: `firstName`, `first_name`, `first-name`."""
    return "".join(char for char in str(name).lower() if char.isalnum())


def find_path(request: Request, names: Sequence[str]) -> JsonPath | None:
    """Return the place that an answer names, there or about to be there; None where nothing fits."""
    if not names:
        return None
    for start in (("body",), ("query",)):
        place, rest = _walked(request, start, names)
        if not rest or (len(rest) == 1 and len(names) > 1):
            return (*place, *rest)
    for skipped in range(1, len(names)):  # `body.x`, `order.x`: prefixes that the request does not have
        if (place_ := find_path(request, names[skipped:])) is not None and value_at(request, place_) is not ABSENT:
            return place_
    last = normalized_name(names[-1])
    inner = [place for place, _ in values_inside(request) if normalized_name(place[-1]) == last]
    return inner[0] if len(inner) == 1 else None


def _walked(request: Request, start: JsonPath, names: Sequence[str]) -> tuple[JsonPath, Sequence[str]]:
    place, node = start, value_at(request, start)
    for index, name in enumerate(names):
        match node:
            case Mapping():
                step: str | int | None = next(
                    (key for key in node if normalized_name(key) == normalized_name(name)), None
                )
            case list() if name.isdecimal() and int(name) < len(node):
                step = int(name)
            case _:
                step = None
        if step is None:
            return place, names[index:]
        place, node = (*place, step), node[step]
    return place, ()


def _scalars(place: JsonPath, value: Json) -> Iterator[tuple[JsonPath, Json]]:
    match value:
        case Mapping():
            for name, inner in value.items():
                yield from _scalars((*place, name), inner)
        case list():
            for index, inner in enumerate(value):
                yield from _scalars((*place, index), inner)
        case _ if len(place) > 1:
            yield place, value


def _values_inside(place: JsonPath, value: Json) -> Iterator[tuple[JsonPath, Json]]:
    inner: list[tuple[str | int, Json]] = []
    match value:
        case Mapping():
            inner = list(value.items())
        case list():
            inner = list(enumerate(value))
    for step, item in inner:
        yield (*place, step), item
    for step, item in inner:
        yield from _values_inside((*place, step), item)


def _inside(holder: Any, part: str | int) -> Any:
    match holder:
        case Mapping():
            return holder.get(part, ABSENT) if isinstance(part, str) else ABSENT
        case list() if str(part).isdecimal() and int(part) < len(holder):
            return holder[int(part)]
        case _:
            return ABSENT


def _set(holder: Any, part: str | int, value: Json) -> bool:
    match holder:
        case dict() if isinstance(part, str):
            holder[part] = value
        case list() if part == "-" or (str(part).isdecimal() and int(part) == len(holder)):
            holder.append(value)
        case list() if str(part).isdecimal() and int(part) < len(holder):
            holder[int(part)] = value
        case _:
            return False
    return True


def _document(request: Request) -> dict[str, Any]:
    return deepcopy({**request.document(), "headers": dict(request.headers)})


def _request(document: Mapping[str, Any], before: Request) -> Request | None:
    """Return the request of a document, None for one that no agent may send."""
    method, path, headers = document["method"], document["path"], document["headers"]
    changed = {name: value for name, value in headers.items() if before.headers.get(name) != value}
    changed = {name: scalar_text(value) for name, value in changed.items()}
    if header_problem(changed) is not None or CREDENTIALS & {name.lower() for name in changed}:
        return None
    if method != before.method and not (isinstance(method, str) and is_method(method)):
        return None
    if path != before.path and not (isinstance(path, str) and is_path(path)):
        return None
    if not isinstance(document["query"], dict):
        return None
    kept = {**headers, **changed}
    return replace(before, method=method, path=path, query=document["query"], headers=kept, body=document["body"])
