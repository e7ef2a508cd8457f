"""x"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.safety.nearness import letters

from .json_schema import Schema

MEANT: Final = "x-meant"
"""In a schema of a closed list of integers: the word for each, as the description has it."""

_SHORTEST: Final = 3
"""Letters that a word has at least to stand for a longer one: `desc`."""


def number_meant(word: str, schema: Schema) -> int | None:
    """Return the number that a word stands for, which may be the beginning of the one that the description has."""
    meant, sent = schema.get(MEANT), letters(word)
    if not isinstance(meant, Mapping) or not sent:
        return None
    same = {number for told, number in meant.items() if letters(told) == sent}
    begun = {number for told, number in meant.items() if len(sent) >= _SHORTEST and letters(told).startswith(sent)}
    found = same or begun
    return next(iter(found)) if len(found) == 1 else None
