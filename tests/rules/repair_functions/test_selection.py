"""Which elements of a list fit, or come last, called from Python and from a rule."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from corrigible.rules.budget import Budget, Exhausted, within
from corrigible.rules.language.expression import EvaluationError, environment
from corrigible.rules.repair_functions import by_depth, first_fitting, indexes, last_of_each
from tests._support.rows import rows

ROWS = [{"mode": "100644", "type": "blob"}, {"mode": "100755", "type": "blob"}, {"mode": "040000", "type": "tree"}, 7]


def call(text: str, **values: Any) -> Any:
    env = environment(frozenset(values))
    return env.compile(text).evaluate(values)


@rows(
    ("wanted", "row"),
    [
        ({"type": "blob"}, ROWS[0]),
        ({"mode": "100755", "type": ""}, ROWS[1]),
        ({"mode": "100755", "type": "blob"}, ROWS[1]),
        ({"mode": "100755", "type": "tree"}, None),
        ({"mode": "", "type": None}, None),
        ({}, None),
        ({"other": 1}, None),
    ],
)
def test_the_first_row_that_fits(wanted: Any, row: Any) -> None:
    assert first_fitting(ROWS, wanted) == row
    assert call("first_fitting(rows, wanted)", rows=ROWS, wanted=wanted) == row


def review(login: Any, number: Any) -> dict[str, Any]:
    return {"id": number, "user": None if login is None else {"login": login}}


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ([review("a", 1), review("b", 2), review("a", 3)], [review("b", 2), review("a", 3)]),
        ([review("a", 3), review("a", 1)], [review("a", 3)]),
        ([review(None, 1), review("a", "x"), review("a", True), "text"], []),
        ([], []),
    ],
)
def test_the_last_of_each(items: Any, kept: Any) -> None:
    assert last_of_each(items, "/user/login", "/id") == kept
    assert call("last_of_each(items, '/user/login', '/id')", items=items) == kept


def test_what_is_no_object_crashes_the_rule() -> None:
    with pytest.raises(EvaluationError):
        call("first_fitting([], 'x')")


def test_the_numbers_of_the_elements() -> None:
    assert indexes(["a", "b", "c"]) == call("indexes(items)", items=["a", "b", "c"]) == [0, 1, 2]
    assert indexes([]) == []


def test_outer_pointers_first() -> None:
    pointers = ["/a/b/c", "/a", "/d/e", "", "/b", "/a~1b/c"]
    outer_first = ["", "/a", "/b", "/d/e", "/a~1b/c", "/a/b/c"]
    assert by_depth(pointers) == call("by_depth(pointers)", pointers=pointers) == outer_first


@pytest.mark.parametrize(
    ("work", "steps"),
    [
        (lambda: by_depth(["/a"] * 9), 18),
        (lambda: first_fitting(ROWS * 9, {"type": "blob"}), 36),
        (lambda: indexes([0] * 9), 9),
        (lambda: last_of_each([7] * 9, "/a", "/b"), 18),
    ],
)
def test_work_is_counted_by_the_length_of_the_list(work: Callable[[], object], steps: int) -> None:
    def counted() -> Generator[object, None, None]:
        yield work()

    next(within(Budget(steps), counted()))
    with pytest.raises(Exhausted):
        next(within(Budget(steps - 1), counted()))
