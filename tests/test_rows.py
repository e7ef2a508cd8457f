"""Rows of one test: all run, each that fails is named, and none touches another."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests._support import rows as module
from tests._support.rows import check_rows, rows


@pytest.fixture(autouse=True)
def no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run all rows, whatever the options of this run are."""
    monkeypatch.setattr(module, "_ends_at_first", [])
    monkeypatch.delenv("CORRIGIBLE_ROWS", raising=False)


def failure(test: Callable[..., Any], **fixtures: Any) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        test(**fixtures)
    return str(caught.value)


def test_all_rows_run_and_each_that_fails_is_listed_with_its_reason() -> None:
    seen = []

    @rows(("number", "text"), [(1, "a"), pytest.param(2, "b", id="the second"), (3, "c"), (4, "d")])
    def test(number: int, text: str) -> None:
        seen.append(text)
        if number == 2:
            with pytest.raises(KeyError):
                pass
        if number == 3:
            raise ValueError("no threes")
        assert number != 4

    told = failure(test)
    assert seen == ["a", "b", "c", "d"]
    assert told.startswith("3 of 4 rows failed\n--- the second\n")
    assert "DID NOT RAISE" in told and "--- 3-c\n" in told and "no threes" in told and "--- 4-d\n" in told
    assert "assert 4 != 4" in told and "--- 1-a" not in told


def test_one_name_takes_each_value_and_ids_name_it() -> None:
    seen = []

    @rows("value", iter([(1, 2), [3]]), ids=lambda value: f"of {len(value)}")
    def test(value: Any) -> None:
        seen.append(value)
        assert value == (1, 2)

    assert "--- of 1\n" in failure(test)
    assert seen == [(1, 2), [3]]


def test_two_tables_give_each_pair(tmp_path: Path) -> None:
    seen = []

    @rows("one", [1, 2])
    @rows("other", ["a", "b"], ids=["first", "last"])
    def test(one: int, other: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "file").write_text("")
        seen.append((one, other))
        assert (one, other) != (2, "b")

    assert failure(test, tmp_path=tmp_path).startswith("1 of 4 rows failed\n--- last-2\n")
    assert seen == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert list(inspect.signature(test).parameters) == ["tmp_path"]


def test_what_a_row_patches_or_writes_no_other_row_sees(tmp_path: Path) -> None:
    holder, folders = {"value": 0}, []

    @rows("number", [1, 2, 3])
    def test(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str) -> None:
        assert (holder["value"], list(tmp_path.iterdir()), given) == (0, [], "fixture")
        monkeypatch.setitem(holder, "value", number)
        (tmp_path / "file").write_text("")
        folders.append(tmp_path)

    assert list(inspect.signature(test).parameters) == ["tmp_path", "given"]
    test(tmp_path=tmp_path, given="fixture")
    assert len(set(folders)) == 3 and holder == {"value": 0}


def test_with_the_option_x_the_first_that_fails_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ends_at_first", [True])
    seen = []

    @rows("number", [1, 2, 3])
    def test(number: int) -> None:
        seen.append(number)
        assert number != 2

    assert failure(test).startswith("1 of 2 rows failed")
    assert seen == [1, 2]


def test_of_many_failures_the_last_have_no_reason() -> None:
    def check(row: int) -> None:
        raise ValueError("no")

    told = failure(lambda: check_rows(((f"row {number}", number) for number in range(module.SHOWN + 5)), check))
    assert told.count("E   ValueError: no") == module.SHOWN and told.endswith(f"--- row {module.SHOWN + 4}")


def test_only_rows_that_are_asked_for_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRIGIBLE_ROWS", "b")
    seen: list[str] = []
    check_rows([("a", "a"), ("b", "b")], seen.append)
    assert seen == ["b"]


def test_no_rows_are_a_mistake_and_a_skipped_row_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        check_rows([], print)
    assert "not today" in failure(lambda: check_rows([("a", "not today")], pytest.skip))
