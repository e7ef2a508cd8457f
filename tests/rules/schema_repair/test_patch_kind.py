"""The two kinds of JSON patches as one another, only where they mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.body import as_json_patch, as_merge_patch, is_json_patch


@pytest.mark.parametrize(
    ("merge", "operations"),
    [
        ({"title": "x"}, [("add", "/title", "x")]),
        ({"a/b~": [1], "n": False}, [("add", "/a~1b~0", [1]), ("add", "/n", False)]),
    ],
)
def test_an_object_as_operations_and_back(merge: dict[str, Any], operations: list[tuple[str, str, Any]]) -> None:
    listed = [{"op": op, "path": path, "value": value} for op, path, value in operations]
    assert as_json_patch(merge) == listed
    assert as_merge_patch(listed) == merge


@pytest.mark.parametrize("merge", [{}, {"title": None}, {"owner": {"name": "x"}}, {"title": "x", "owner": {}}])
def test_an_object_that_depends_on_what_is_there_is_no_list(merge: dict[str, Any]) -> None:
    assert as_json_patch(merge) is None


def test_what_is_removed_is_null() -> None:
    operations = [{"op": "replace", "path": "/title", "value": "x"}, {"op": "remove", "path": "/note"}]
    assert as_merge_patch(operations) == {"title": "x", "note": None}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/title", "value": "x"},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/owner/name", "value": "x"},
        {"op": "add", "path": "", "value": "x"},
        {"op": "add", "path": "/0", "value": "x"},
        {"op": "add", "path": "/-", "value": "x"},
        {"op": "add", "path": "title", "value": "x"},
        {"op": "add", "path": "/title"},
        {"op": "add", "path": "/title", "value": None},
        {"op": "add", "path": "/title", "value": {"en": "x"}},
    ],
)
def test_operations_that_do_more_are_no_object(operation: dict[str, Any]) -> None:
    assert as_merge_patch([operation]) is None


def test_two_operations_on_one_member_are_no_object() -> None:
    assert as_merge_patch([{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/a"}]) is None


@pytest.mark.parametrize("body", [[], ["a"], [{"op": "add"}], [{"path": "/a"}], {"op": "add", "path": "/a"}, "a", None])
def test_what_is_no_list_of_operations(body: Any) -> None:
    assert not is_json_patch(body)
    assert as_merge_patch(body) is None
