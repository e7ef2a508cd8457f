"""What texts of others leave behind in a cache is bounded in bytes."""

from __future__ import annotations

import tracemalloc

from corrigible.schema.cache import BYTES, LONGEST, cached, remembered
from corrigible.schema.document import pointer_parts
from tests._support.rows import rows

MEBIBYTE = 1 << 20


def test_short_texts_are_kept_and_long_ones_computed_anew() -> None:
    asked: list[str] = []

    @cached(64)
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


def test_what_is_asked_for_stays_while_others_pass() -> None:
    asked: list[str] = []

    @cached(64)
    def found(text: str) -> str | None:
        asked.append(text)
        return None

    for number in range(2000):
        found(f"passing {number}")
        found("asked for")
    assert asked.count("asked for") == 1
    found("passing 0")
    assert asked.count("passing 0") == 2


def test_half_of_the_room_is_kept_and_what_fills_it_is_not() -> None:
    asked: list[str] = []

    @remembered(10, lambda arguments, found: int(arguments[0]))
    def seen(size: int, name: str) -> str:
        asked.append(name)
        return name

    for size, name in ((5, "a"), (5, "a"), (4, "b"), (1, "c"), (4, "b"), (1, "c")):
        seen(size, name)
    assert asked == ["a", "a", "b", "c"]
    for size, name in ((1, "d"), (4, "e"), (4, "b"), (1, "c")):  # b is asked for while others pass, and c is not
        seen(size, name)
    assert asked[4:] == ["d", "e", "c"]


@rows("sign", ["a", "\u00e9", "\U0001f600"])
@rows("words", [1, 120])
def test_all_that_is_kept_has_a_bound_in_bytes(sign: str, words: int) -> None:
    @cached(1024)
    def parts(text: str) -> tuple[str, ...]:
        return tuple(text.split("/"))

    filling = "/".join([sign * 2] * words)[: LONGEST - 8]
    tracemalloc.start()
    try:
        for number in range(1000):
            parts(f"{number:08}{filling}")
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert BYTES * 1024 / 8 < held < BYTES * 1024


def test_long_pointers_do_not_stay() -> None:
    tracemalloc.start()
    try:
        for number in range(1000):
            assert pointer_parts(f"/body/{number}{'x' * 10_000}") is not None
        assert tracemalloc.get_traced_memory()[0] < MEBIBYTE
    finally:
        tracemalloc.stop()
