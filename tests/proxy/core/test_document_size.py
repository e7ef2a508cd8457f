"""How large a document is, and what of an answer is read."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.limits import Limits, measured, readable
from corrigible.schema.exchange import Json
from tests._support.rows import rows


@rows(
    ("document", "values", "depth"),
    [
        (None, 1, 0),
        ("text", 1, 0),
        ([], 1, 1),
        ({"a": 1}, 2, 1),
        ({"a": [1, {"b": 2}]}, 5, 3),
        ([[[[]]]], 4, 4),
        ([{"a": {}}, [[]]], 5, 3),
    ],
)
def test_what_is_measured(document: Json, values: int, depth: int) -> None:
    assert measured(document, Limits()) == (values, depth)


@pytest.mark.parametrize(
    ("document", "over"),
    [([0] * 9, False), ([0] * 10, True), ([[0] * 5, [0] * 3], True), ([[[]]], False), ([[[[]]]], True)],
)
def test_what_is_over_the_limits(document: Json, over: bool) -> None:
    limits = Limits(values=10, depth=3)
    assert measured(document, limits).is_over(limits) is over


def test_counting_ends_where_a_limit_is_passed() -> None:
    """A document of millions of values costs no more than one of so many."""
    wide = [[0] * 20, [[0] * 1000]]
    assert measured(wide, Limits(values=10)) == (23, 1)
    deep: Json = []
    for _ in range(50):
        deep = [deep]
    assert measured(deep, Limits(depth=3)) == (5, 4)


@rows(
    ("document", "read"),
    [
        ("a" + " " * 63 + "b", "a" + " " * 63 + "b"),
        ("a" + " " * 64 + "b", "a" + " " * 64 + "b"),
        ("a" + " " * 5000 + "b  c", "a" + " " * 64 + "b  c"),
        ("a" + "\n\t" * 50, "a" + " " * 64),
        ("x" * 60 + "y" * 60, "x" * 60 + "y" * 40),
        (["a", "b", "c"], ["a", "b"]),
        ({"a" * 200: [1, None, 2.5]}, {"a" * 100: [1, None]}),
        ({str(n): n for n in range(20)}, {str(n): n for n in range(8)}),
    ],
)
def test_the_part_that_is_read(document: Json, read: Json) -> None:
    limits = Limits(text=100, errors=2) if "  " not in str(document) else Limits()
    assert readable(document, limits) == read
