"""The places of a request that hold something, in its body, its query and the JSON texts in that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.operation import Path
from corrigible.rules.pointer import to_pointer
from corrigible.schema.exchange import Json, Request

MOST_PLACES: Final = 2000
PARTS: Final = ("body", "query")


class SentValue(NamedTuple):
    """A place of the request."""

    path: Path
    value: Json

    @property
    def pointer(self) -> str:
        return to_pointer(self.path)


def sent_places(request: Request) -> Iterator[SentValue]:
    """Yield the places of body and query, the outermost first."""
    return inside({("body",): request.body, ("query",): dict(request.query)}, MOST_PLACES)


def inside(
    holders: Mapping[Path, Json], most: int, most_of_one: int | None = None, deepest: int | None = None
) -> Iterator[SentValue]:
    """Yield so many places inside of some values, the outermost first, of each list or object the first ones."""
    waiting, count = [*holders.items()], 0
    while waiting and count < most:
        below: list[tuple[Path, Json]] = []
        for path, value in waiting:
            inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
            for name, one in islice(inner, most_of_one):
                if count >= most:
                    return
                count += 1
                here = (*path, str(name))
                yield SentValue(here, one)
                if isinstance(one, Mapping | list) and (deepest is None or len(here) < deepest):
                    below.append((here, one))
        waiting = below
