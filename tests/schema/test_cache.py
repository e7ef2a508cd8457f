"""What texts of others leave behind in a cache is bounded in bytes."""

from __future__ import annotations

import tracemalloc

from corrigible.schema.cache import LONGEST, cached
from corrigible.schema.document import pointer_parts

MEBIBYTE = 1 << 20


def test_short_texts_are_kept_and_long_ones_computed_anew() -> None:
    asked: list[str] = []

    @cached(2)
    def last(one: str, other: str = "") -> str:
        """Return the last letter."""
        asked.append(one[:1])
        return (one + other)[-1]

    long, longest = "l" * (LONGEST + 1), "m" * LONGEST
    said = [last("a"), last("a"), last(long), last(long), last("b", "x"), last("b", "x"), last("b" * 200, "y" * 100)]
    assert said == ["a", "a", "l", "l", "x", "x", "y"]
    assert asked == ["a", "l", "l", "b", "b"]
    assert [last(longest), last(longest)] == ["m", "m"]
    assert asked[5:] == ["m"]
    assert last.__doc__ == "Return the last letter."


def test_long_pointers_do_not_stay() -> None:
    tracemalloc.start()
    try:
        for number in range(1000):
            assert pointer_parts(f"/body/{number}{'x' * 10_000}") is not None
        assert tracemalloc.get_traced_memory()[0] < MEBIBYTE
    finally:
        tracemalloc.stop()
