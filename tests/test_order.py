"""The files that are run first are there, and come first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests._support.order import LONG, pytest_collection_modifyitems

ROOT = Path(__file__).parents[1]


def test_every_long_file_is_there() -> None:
    assert [file for file in LONG if not (ROOT / file).is_file()] == []


def test_long_files_come_first_and_tests_keep_their_order() -> None:
    names = ["tests/test_a.py::one", f"{LONG[1]}::two", f"{LONG[1]}::three", f"{LONG[0]}::four", "tests/b.py::five"]
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    pytest_collection_modifyitems(items)
    assert [item.nodeid.partition("::")[2] for item in items] == ["four", "two", "three", "one", "five"]
