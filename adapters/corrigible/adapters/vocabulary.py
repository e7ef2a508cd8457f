"""The names and closed choices that a description declares for one operation."""

from __future__ import annotations

from typing import Final, NamedTuple

from corrigible.schema.exchange import Json

Path = tuple[str, ...]
"""The part of the request, then names: `("body", "items", "*", "price")`; `*` stands for any element or name."""

ANY: Final = "*"
MOST: Final = 500
"""Places of one operation that are kept: the outermost, since errors are mostly about those."""
DEEPEST: Final = 6


class Vocabulary(NamedTuple):
    """What an operation's request may hold, by place."""

    places: tuple[Path, ...] = ()
    choices: tuple[tuple[Path, tuple[Json, ...]], ...] = ()
    """The places whose values are a closed list, with the list."""


NOTHING: Final = Vocabulary()
