"""Values that are written anew in a suggestion as a whole: which of them may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import orjson

from corrigible.rules.pointer import escape
from corrigible.schema.exchange import Json

from .suggestion import is_secret

_EXACT: Final = 1 << 53
_MOST_BYTES: Final = 2048


def may_be_repeated(value: Json) -> bool:
    """Whether a value may be written into a suggestion: it is short, holds no secret and no number that was rounded."""
    try:
        if len(orjson.dumps(value)) > _MOST_BYTES:
            return False
    except TypeError:  # half a surrogate pair, an integer of more than 64 bits
        return False
    return not any(_secrets("/body", value)) and not is_rounded(value)


def is_rounded(value: Json) -> bool:
    """Whether a number, or one in a list or object, may have been an integer too large to be read as such."""
    return any(_rounded(value))


def _rounded(value: Json) -> Iterator[float]:
    """Yield the numbers that may have been integers too large to be read as such."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _rounded(inner)
    elif isinstance(value, float) and abs(value) >= _EXACT:
        yield value


def _secrets(pointer: str, value: Json) -> Iterator[str]:
    """Yield the places whose text is never repeated."""
    inner: Sequence[tuple[object, Json]] = ()
    if isinstance(value, Mapping):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    elif is_secret(pointer, value):
        yield pointer
    for name, one in inner:
        yield from _secrets(f"{pointer}/{escape(str(name))}", one)
