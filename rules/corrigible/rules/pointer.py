"""RFC 6901 pointers into decoded JSON, and the bracket notation of form parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corrigible.schema.document import BODILESS, parameter_segments
from corrigible.schema.document import MISSING as MISSING
from corrigible.schema.document import to_pointer as to_pointer
from corrigible.schema.exchange import Json, Request


def escape(segment: str) -> str:
    """RFC 6901 section 3: `~` is `~0`, `/` is `~1`."""
    return segment.replace("~", "~0").replace("/", "~1")


def segments(pointer: str) -> list[str]:
    """Split a pointer into unescaped segments; the empty pointer has none."""
    if not pointer:
        return []
    if "~" not in pointer:
        return pointer[1:].split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def resolve(document: Json, pointer: str) -> Json:
    """Return the value at a pointer, or `MISSING`."""
    if type(document) is dict and pointer.rfind("/") == 0 and "~" not in pointer:
        return document.get(pointer[1:], MISSING)
    return resolve_segments(document, segments(pointer))


def resolve_segments(document: Json, parts: Iterable[str]) -> Json:
    """Return the value at the end of some unescaped segments, or `MISSING`."""
    here = document
    for part in parts:
        if isinstance(here, dict):
            here = here.get(part, MISSING)
        elif isinstance(here, list) and (index := index_in(part, here)) >= 0:
            here = here[index]
        else:
            return MISSING
        if here is MISSING:
            return MISSING
    return here


def value_at(request: Request, pointer: str) -> Json:
    """Return the value at a pointer into the request document, or `MISSING`."""
    part, below, rest = pointer[1:].partition("/")
    value: Json
    match part:
        case "body":
            value = request.body
        case "query":
            value = dict(request.query)
        case "headers":
            value = dict(request.headers)
        case _:
            return resolve(request.document(), pointer)
    return resolve(value, f"/{rest}") if below else value


def index_in(part: str, elements: Sequence[Json]) -> int:
    """Return the index that a segment names in a list, -1 where there is no such element."""
    if not part.isdecimal() or len(part) > MOST_DIGITS:
        return -1
    index = int(part)
    return index if index < len(elements) else -1


MOST_DIGITS = 9
"""Of an index: Python refuses to read thousands of them."""


def through_arrays(document: Json, pointer: str) -> Iterator[str]:
    """Yield the pointer of every array element that a pointer leads through, outermost first."""
    here, walked = document, ""
    for part in segments(pointer):
        inside_array = isinstance(here, list)
        walked += "/" + escape(part)
        if inside_array:
            yield walked
        here = resolve_segments(here, (part,))


def parameters_at(request: Request) -> str:
    """Return where the parameters of a request are: in its query where it has no body and its method rarely has one."""
    return "/query" if request.method in BODILESS and request.body in (None, {}, "") else "/body"


def is_among(name: str, names: frozenset[str]) -> bool:
    """Whether a parameter, or a part of its name in brackets (`card[cvc]`), is among some names."""
    return name in names or ("[" in name and not names.isdisjoint(parameter_segments(name)))


def parameter_pointer(name: str, under: str = "/body") -> str:
    """Return the JSON pointer of a form parameter: `line_items[0][price]` is `/body/line_items/0/price`."""
    if name.isidentifier():
        return f"{under}/{name}"
    return under + "".join("/" + escape(part) for part in parameter_segments(name) if part != "") if name else ""


def schema_at(schema: Json, pointer: str) -> dict[str, Json]:
    """Return the schema of a place in the body or query, taken from the schema of the whole; empty where unknown."""
    for part in segments(pointer)[1:]:
        if not isinstance(schema, dict):
            return {}
        properties = schema.get("properties")
        if isinstance(properties, dict) and part in properties:
            schema = properties[part]
        else:
            schema = schema.get("items") if part.isdecimal() or part == "-" else schema.get("additionalProperties")
    return dict(schema) if isinstance(schema, dict) else {}
