"""A cache for functions of untrusted text, with a bound in bytes: an entry of `lru_cache` may be as long as a body."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

LONGEST: Final = 256
"""Maximum number of characters of an entry's texts."""
BYTES: Final = 64
"""For each entry. A usual name takes twice that, with what is made of it."""
_PLACE: Final = 100
"""Bytes of a place in a dictionary, half of which are free at times."""
_NOT_KEPT: Final = object()


def cached(entries: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache the results of a function for short texts. For long ones it is called each time.

    There is room for half as many usual entries, in bytes: of larger ones there are fewer. Results are texts, truths,
    and tuples of them.
    """
    most = entries * BYTES

    def size(texts: tuple[str, ...], found: object) -> int:
        return most if sum(map(len, texts)) > LONGEST else _PLACE + bytes_of(texts) + bytes_of(found)

    return remembered(most, size)


def remembered(
    most: int, size_of: Callable[[tuple[Any, ...], Any], int]
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache the results of a function within so many bytes, as `size_of` counts arguments and result.

    What was not asked for while half of the room was filled is forgotten, and what fills half of it is not kept.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        young: dict[tuple[Any, ...], Any] = {}
        old: dict[tuple[Any, ...], Any] = {}
        filled, half = 0, most // 2

        @functools.wraps(function)
        def call(*arguments: Any) -> T:
            nonlocal young, old, filled
            found: T = young.get(arguments, _NOT_KEPT)
            if found is not _NOT_KEPT:
                return found
            found = old.get(arguments, _NOT_KEPT)
            if found is _NOT_KEPT:
                found = function(*arguments)
            size = size_of(arguments, found)
            if size < half:
                filled += size
                if filled > half:
                    young, old, filled = {}, young, size
                young[arguments] = found
            return found

        return call

    return decorate


def bytes_of(value: object) -> int:
    """Return the bytes that a text takes, or a collection with its texts."""
    size = sys.getsizeof(value)
    return size + sum(map(bytes_of, value)) if isinstance(value, tuple | frozenset) else size
