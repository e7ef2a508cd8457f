"""The mappings that are at hand, by the request that they begin with. Finding one takes as long as finding a route.

Knows: maps, their files, paths, which origins may be named. Does not know: answers, what is suggested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import ValidationError

from corrigible.adapters.operation import Operations
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.safety.decisive import READS
from corrigible.schema.document import header_problem, is_path, scalar_text

from .conversion import CONVERSIONS
from .mapping import Equivalence, FieldMapping, MapFile, OperationMapping
from .rewriting import VARIABLE, target_problem

_MOST_ALTERNATIVES: Final = 8
"""Of one operation; those of the best score."""


class KnownMapping(NamedTuple):
    """A mapping, and where it leads."""

    mapping: OperationMapping
    label: str
    """What is told as its source."""
    origin: str = ""
    """Scheme, host and port of another server; empty for the one that refused."""
    is_of_pack: bool = False
    """Whether it comes with a pack, whose constants were reviewed with its rules."""


class FoundMappings(NamedTuple):
    """The mappings of a request's operation, the best first, and the values of its path's variables."""

    mappings: tuple[KnownMapping, ...]
    variables: Mapping[str, str]
    names_a_thing: bool
    """Whether the path has variables: such a path may be refused for what it names."""


class MapIndex:
    """Some maps."""

    def __init__(
        self,
        maps: Iterable[tuple[str, MapFile]],
        own_origin: str = "",
        origins: Iterable[str] = (),
        *,
        is_of_pack: bool = False,
    ) -> None:
        """`maps` have names. `own_origin` is where the API is, `origins` are the others that alternatives may lead to.

        A mapping that leads to any other origin is left out, and so is one that is no substitute.
        """
        allowed = frozenset(map(origin_of, origins))
        own = origin_of(own_origin) if own_origin else ""
        by_key: dict[str, list[KnownMapping]] = {}
        for name, file in maps:
            where = {api.name: origin_of(api.origin) if api.origin else "" for api in file.apis}
            bases = {api.name: api.base.rstrip("/") for api in file.apis if api.base.strip("/")}
            for one in file.mappings:
                mapping = _with_bases(one, bases) if bases else one
                source, target = where.get(mapping.source.api, ""), where.get(mapping.target.api, "")
                is_here = not target or target == own or (bool(source) and source == target and not own)
                if mapping.equivalence is Equivalence.RELATED or not (is_here or target in allowed):
                    continue
                if own and source and source != own:
                    continue  # the map is about another server's operation
                key = f"{mapping.source.method.upper()} {mapping.source.path}"
                known = KnownMapping(mapping, name, "" if is_here else target, is_of_pack)
                by_key.setdefault(key, []).append(known)
        self._mappings = {
            key: tuple(sorted(several, key=lambda one: -one.mapping.score)[:_MOST_ALTERNATIVES])
            for key, several in by_key.items()
        }
        self._operations = Operations({key: key for key in by_key})

    def __bool__(self) -> bool:
        return bool(self._mappings)

    def find(self, method: str, path: str) -> FoundMappings | None:
        """Return the mappings of a request's operation, None without any."""
        match = self._operations.find(method, path)
        if match is None:
            return None
        key, variables = match
        return FoundMappings(self._mappings[key], variables, bool(variables))


def _with_bases(mapping: OperationMapping, bases: Mapping[str, str]) -> OperationMapping:
    """Return a mapping whose paths are those of requests."""
    before, after = bases.get(mapping.source.api, ""), bases.get(mapping.target.api, "")
    source = mapping.source.model_copy(update={"path": f"{before}{mapping.source.path}"})
    target = mapping.target.model_copy(update={"path": f"{after}{mapping.target.path}"})
    served = mapping.served and mapping.served.model_copy(update={"get": f"{after}{mapping.served.get}"})
    return mapping.model_copy(update={"source": source, "target": target, "served": served})


class Maps:
    """Maps of an operator, and those that come with a pack, which are read on first need."""

    def __init__(self, given: MapIndex | None = None, of_pack: Callable[[], MapIndex] | None = None) -> None:
        self._given, self._of_pack = given, of_pack

    def find(self, method: str, path: str) -> FoundMappings | None:
        """Return the mappings of a request's operation, the operator's before the pack's."""
        for index in self._indexes():
            found = index.find(method, path)
            if found is not None:
                return found
        return None

    def _indexes(self) -> Sequence[MapIndex]:
        return [one for one in (self._given, None if self._of_pack is None else self._of_pack()) if one is not None]


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address, in small letters; empty for what is none."""
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname else ""


READING_METHODS: Final = READS | {"QUERY", "SEARCH", "PROPFIND", "REPORT"}
"""Methods that are safe by their definition (the registry of HTTP methods at IANA)."""
_DECLARED: Final = READING_METHODS | {"POST"}
"""Methods of which a map may say that a call reads."""


def map_problems(file: MapFile) -> Iterator[str]:
    """Yield what is wrong, with the place in the file."""
    for number, mapping in enumerate(file.mappings):
        for problem in _mapping_problems(mapping):
            yield f"mappings/{number}: {problem}"
    for api in file.apis:
        if api.origin and not origin_of(api.origin):
            yield f'"{api.origin}" is no origin such as https://api.example.com'
        if api.base.strip("/") and not _is_template(api.base):
            yield f'"{api.base}" is no base path such as /api/v1'


def _mapping_problems(mapping: OperationMapping) -> Iterator[str]:
    for one in (*mapping.arguments, *mapping.results):
        if one.conversion and one.conversion not in CONVERSIONS:
            yield f'no conversion is called "{one.conversion}"; there are: {", ".join(CONVERSIONS)}'
    if not mapping.source.path.startswith("/"):
        yield f'"{mapping.source.path}" is no path'
    if not _is_template(mapping.target.path):
        yield f"{mapping.target.path!r} is no path such as /things/{{id}} at the same server"
    method = mapping.target.method.upper()
    if mapping.target_reads and method not in _DECLARED:
        yield f"target_reads: {method} writes; only POST and QUERY may be declared as reading"
    for number, argument in enumerate(mapping.arguments):
        if not _stays(argument) and (problem := target_problem(argument.target)):
            yield f'arguments/{number}: the target "{argument.target}" {problem}'
        for problem in _value_problems(argument):
            yield f"arguments/{number}/values: {problem}"
    for number, constant in enumerate(mapping.constants):
        if problem := target_problem(constant.target):
            yield f'constants/{number}: the target "{constant.target}" {problem}'
        elif constant.target.startswith("/header/") and header_problem({"x": scalar_text(constant.value)}):
            yield f"constants/{number}: {constant.value!r} is no value of a header"


def _stays(argument: FieldMapping) -> bool:
    """Whether a value that the caller sent stays as it is: the map sets nothing then."""
    return argument.source.lower() == argument.target.lower() and not argument.conversion and not argument.values


def _value_problems(argument: FieldMapping) -> Iterator[str]:
    """Yield where values lose their difference. Values are compared as text, as a query has them."""
    sources: dict[str, str] = {}
    for pair in argument.values:
        source, target = scalar_text(pair.source), scalar_text(pair.target)
        if pair.target is None:
            yield f'"{source}" becomes null, which says nothing of it; list it in lost_arguments'
        elif sources.setdefault(target, source) != source:
            yield f'"{sources[target]}" and "{source}" both become "{target}": each needs a value of its own'


def _is_template(path: str) -> bool:
    """Whether a path leads to one place of the same server. What cannot be sent besides is left out call by call."""
    plain = VARIABLE.sub("x", path).partition("?")[0].partition("#")[0]
    return plain.startswith("/") and is_path(plain)


FOLDER: Final = "maps"
"""In the folder of a pack."""
_LARGEST: Final = 64 << 20
"""Bytes."""


def read_map(path: Path) -> MapFile:
    """Read a map. Raises AuthoringError with the file and the place in it."""
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise AuthoringError(Place(path, 1), f"larger than {_LARGEST >> 20} MiB")
        text = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path, 0), (problem.strerror or str(problem)).lower()) from None
    try:
        file = MapFile.model_validate_json(text)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"])) or "the file"
        raise AuthoringError(Place(path, 1), f"not a map: {where}: {first['msg']}") from None
    if (wrong := next(map_problems(file), None)) is not None:
        raise AuthoringError(Place(path, 1), wrong)
    return file


def maps_of_pack(folder: Path) -> MapIndex:
    """Return the maps in a pack's folder, read once until they change. Those that name an origin are left out."""
    files = map_files(folder)
    return _indexed(folder.name, tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files))


@lru_cache(maxsize=32)
def _indexed(pack: str, files: tuple[tuple[Path, int, int], ...]) -> MapIndex:
    return MapIndex(((f"{pack}/{file.stem}", read_map(file)) for file, _, _ in files), is_of_pack=True)


def map_files(folder: Path) -> list[Path]:
    """Return the files of the maps of a pack."""
    return sorted((folder / FOLDER).glob("*.json"))
