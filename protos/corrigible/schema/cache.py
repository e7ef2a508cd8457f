"""What texts that others wrote may leave behind: `lru_cache` counts entries, and an entry may be as long as a body."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

LONGEST: Final = 256
"""Characters of the texts of one entry."""


def cached(entries: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep what a function of texts gave for short ones. For long ones it is computed anew."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        kept = functools.lru_cache(entries)(function)

        @functools.wraps(function)
        def call(*texts: str) -> T:
            return kept(*texts) if sum(map(len, texts)) <= LONGEST else function(*texts)

        return call

    return decorate
