"""The places of a request that hold something, in its body, its query and the JSON texts in that."""

from __future__ import annotations

from collections.abc import Iterator
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
    waiting: list[tuple[Path, Json]] = [(("body",), request.body), (("query",), dict(request.query))]
    count = 0
    while waiting and count < MOST_PLACES:
        below: list[tuple[Path, Json]] = []
        for path, value in waiting:
            inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for name, one in inner:
                here = (*path, str(name))
                count += 1
                yield SentValue(here, one)
                if count >= MOST_PLACES:
                    return
                if isinstance(one, (dict, list)):
                    below.append((here, one))
        waiting = below
