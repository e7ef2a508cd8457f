"""A cache for functions of untrusted text, with a bound in bytes: an entry of `lru_cache` may be as long as a body."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

LONGEST: Final = 256
"""Maximum number of characters of an entry's texts."""
BYTES: Final = 128
"""For each entry: as much as a usual name takes, with what is made of it."""
_PLACE: Final = 100
"""Bytes of a place in a dictionary, half of which are free at times."""
_NOT_KEPT: Final = object()


def cached(entries: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache the results of a function for short texts. For long ones it is called each time.

    There is room for so many usual entries, in bytes: of larger ones there are fewer. What was not asked for while half
    of the room was filled is forgotten. Results are texts, truths, and tuples of them.
    """
    half = entries * BYTES // 2

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        young: dict[Any, Any] = {}
        old: dict[Any, Any] = {}
        size = 0

        @functools.wraps(function)
        def call(*texts: str) -> T:
            nonlocal young, old, size
            key = texts[0] if len(texts) == 1 else texts
            found: T = young.get(key, _NOT_KEPT)
            if found is not _NOT_KEPT:
                return found
            if sum(map(len, texts)) > LONGEST:
                return function(*texts)
            found = old.get(key, _NOT_KEPT)
            if found is _NOT_KEPT:
                found = function(*texts)
            size += _PLACE + bytes_of(key) + bytes_of(found)
            if size > half:
                young, old, size = {}, young, _PLACE + bytes_of(key) + bytes_of(found)
            young[key] = found
            return found

        return call

    return decorate


def bytes_of(value: object) -> int:
    """Return the bytes that a text takes, or a collection with its texts."""
    size = sys.getsizeof(value)
    return size + sum(map(bytes_of, value)) if isinstance(value, tuple | frozenset) else size
