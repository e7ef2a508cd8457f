"""A cache for functions of untrusted text: `lru_cache` limits entries, but an entry may be as long as a body."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

LONGEST: Final = 256
"""Maximum number of characters of an entry's texts."""


def cached(entries: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache the results of a function for short texts. For long ones it is called each time."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        kept = functools.lru_cache(entries)(function)

        @functools.wraps(function)
        def call(*texts: str) -> T:
            length = len(texts[0]) if len(texts) == 1 else sum(map(len, texts))
            return kept(*texts) if length <= LONGEST else function(*texts)

        return call

    return decorate
