"""The places of a request that a refusal can be about: what was sent, and what could have been.

Knows: a request, what its operation declares. Does not know: texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from corrigible.adapters.formats.sent_places import inside
from corrigible.adapters.operation import ANY, Path, Vocabulary
from corrigible.rules.pointer import MISSING, parameters_at, segments, to_pointer, value_at
from corrigible.rules.schema_repair.levels import is_in_path
from corrigible.schema.exchange import Json, Protocol, Request

MOST: Final = 250
"""Places of one request that are judged, the outermost first, and as many of what is absent."""
_DEEPEST: Final = 8
_MOST_INNER: Final = 40
_UNSAID: Final = frozenset(
    {"prefer", "user-agent", "host", "content-length", "connection", "accept-encoding", "traceparent", "date"}
)
"""Headers that no refusal is about."""


class Place(NamedTuple):
    """A place that a refusal can be about."""

    pointer: str
    part: str
    """`method`, `path`, `query`, `headers` or `body`."""
    name: str
    """Its last name; of a segment of the path the name of the variable, else of the segment before."""
    value: Json = MISSING
    """MISSING: it was not sent."""
    depth: int = 0
    """Names of it."""
    segment: int = -1
    """Of a place in the path, the number of the segment."""
    is_variable: bool = False
    """Whether the segment is the value of a variable of the path."""
    above: str = ""
    """Of such a segment the one before, which texts call it by as well: `layer` of `/layers/{pk}`."""

    @property
    def key(self) -> str:
        """What tells it from all others: the segments of a path have one pointer."""
        return self.pointer if self.segment < 0 else f"{self.pointer}#{self.segment}"

    @property
    def is_absent(self) -> bool:
        return self.value is MISSING


def candidate_places(request: Request, vocabulary: Vocabulary, variables: Mapping[str, str]) -> list[Place]:
    """Return the places of a request, sent ones first. `variables` are those of the path, with their values."""
    places: dict[str, Place] = {}
    for place in _all(request, vocabulary, variables):
        places.setdefault(place.key, place)
    return list(places.values())


def with_told(places: Sequence[Place], pointers: Iterable[str], request: Request) -> Sequence[Place]:
    """Return places with those that an answer tells and that nothing declares, where what holds them was sent.

    `Name` of a class of the server is the `name` that is declared, or was sent.
    """
    known = {one.pointer for one in places}
    declared = {one.pointer.lower() for one in places if one.is_absent}
    sent = {one.pointer.lower() for one in places if not one.is_absent and one.name[:1].islower()}
    added = []
    for pointer in pointers:
        part, *names = segments(pointer) or [""]
        if part not in ("body", "query", "headers") or not names or names[0] in request.files:
            continue
        is_of_class = names[-1][:1].isupper() and pointer.lower() in sent
        if pointer in known or pointer.lower() in declared or is_of_class:
            continue
        around = value_at(request, to_pointer((part, *names[:-1])))
        if isinstance(around, Mapping) or (around is None and len(names) == 1):
            added.append(Place(pointer, part, names[-1], MISSING, len(names)))
            known.add(pointer)
    return [*places, *added]


def holders(request: Request) -> Iterator[str]:
    """Yield where the parameters of a request are, and the objects in its body, the outermost first."""
    yield parameters_at(request)
    yield from (one.pointer for one in _sent("body", request.body) if isinstance(one.value, Mapping))


def is_wrapped(request: Request, name: str) -> bool:
    """Whether a body has all under one name, that of what its path is about: `{"issue": {...}}` to `/issues`."""
    is_only = isinstance(request.body, Mapping) and list(request.body) == [name]
    return is_only and (name == "data" or is_in_path(name, request))


def _all(request: Request, vocabulary: Vocabulary, variables: Mapping[str, str]) -> Iterator[Place]:
    yield Place("/method", "method", "", request.method)
    if request.protocol is Protocol.HTTP:
        yield from _segments(request.path, variables)
    # of a file only the name is there: a suggestion neither edits nor asks for one that was sent
    yield from (one for one in _sent("body", request.body) if one.depth != 1 or one.name not in request.files)
    yield Place("/body", "body", "", MISSING if request.body is None else request.body)
    yield from _sent("query", dict(request.query))
    for name, value in islice(request.headers.items(), MOST):
        if name not in _UNSAID:
            yield Place(to_pointer(("headers", name)), "headers", name, value, 1)
    yield from _absent(request, vocabulary)
    if request.protocol is Protocol.HTTP:
        for name in ("content-type", "authorization", "accept"):
            yield Place(to_pointer(("headers", name)), "headers", name, depth=1)


def _segments(path: str, variables: Mapping[str, str]) -> Iterator[Place]:
    named = {value: name for name, value in variables.items()}
    before = ""
    for number, segment in enumerate(path.split("/")[:_MOST_INNER]):
        if segment:
            name = named.get(segment, "")
            yield Place("/path", "path", name or before, unquote(segment), 1, number, bool(name), before)
            before = segment


def _sent(part: str, value: Json) -> Iterator[Place]:
    """Yield the places inside a value, the outermost first."""
    for path, held in inside({(part,): value}, MOST, _MOST_INNER, _DEEPEST):
        yield Place(to_pointer(path), part, path[-1], held, len(path) - 1)


def _absent(request: Request, vocabulary: Vocabulary) -> Iterator[Place]:
    """Yield what is declared and was not sent, where what holds it was."""
    document: dict[str, Json] = {
        "body": {} if request.body is None else request.body,
        "query": request.query,
        "headers": request.headers,
    }
    count = 0
    for path in vocabulary.places:
        if len(path) < 2 or path[0] not in document or path[-1] == ANY:
            continue
        for around, held in _expanded(path[:-1], document):
            if isinstance(held, Mapping) and path[-1] not in held:
                count += 1
                yield Place(to_pointer((*around, path[-1])), path[0], path[-1], MISSING, len(around))
        if count >= MOST:
            return


def _expanded(path: Path, document: Mapping[str, Json]) -> list[tuple[Path, Json]]:
    """Return the places that a declared one has in a request."""
    found: list[tuple[Path, Json]] = [((), document)]
    for name in path:
        following: list[tuple[Path, Json]] = []
        for around, held in found:
            if name == ANY and isinstance(held, list):
                following += [((*around, str(index)), one) for index, one in enumerate(held[:_MOST_INNER])]
            elif name == ANY and isinstance(held, Mapping):
                following += [((*around, key), one) for key, one in list(held.items())[:_MOST_INNER]]
            elif isinstance(held, Mapping) and name in held:
                following.append(((*around, name), held[name]))
        found = following[:_MOST_INNER]
    return found
