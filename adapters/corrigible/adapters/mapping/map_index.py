"""The mappings that are at hand, by the request that they begin with. Finding one takes as long as finding a route.

Knows: maps, paths, which origins may be named. Does not know: files, answers, what is suggested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from corrigible.adapters.operation import Operations

from .mapping import Equivalence, MapFile, OperationMapping

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
