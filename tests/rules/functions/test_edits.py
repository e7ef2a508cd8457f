from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import pytest

from corrigible.rules.functions.builtin import edits
from tests._support.counted import counted
from tests._support.rows import rows

POD: dict[str, Any] = {
    "body": {
        "spec": {
            "containers": [
                {"name": "web", "image": "nginx", "resources": {"limits": {"cpu": "2"}}},
                {"name": "log", "image": "fluent", "args": ["-v", "-x"]},
            ]
        }
    }
}


def after(document: Any, changes: list[list[Any]]) -> Any:
    return jsonpatch.apply_patch(document, edits(document, changes))


def test_changes_below_one_missing_parent_make_it_once() -> None:
    changes: list[list[Any]] = [
        ["/body/spec/securityContext/runAsNonRoot", True],
        ["/body/spec/securityContext/seccompProfile/type", "RuntimeDefault"],
    ]
    made = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert edits(POD, changes) == [{"op": "add", "path": "/body/spec/securityContext", "value": made}]


def test_an_edit_inside_an_array_is_preceded_by_what_tells_its_element() -> None:
    assert edits(POD, [["/body/spec/containers/1/securityContext/privileged", False]]) == [
        {"op": "test", "path": "/body/spec/containers/1/name", "value": "log"},
        {"op": "add", "path": "/body/spec/containers/1/securityContext", "value": {"privileged": False}},
    ]


def test_a_value_that_is_there_is_tested_and_replaced_and_an_equal_one_left_alone() -> None:
    changes = [["/body/spec/containers/0/resources/limits/cpu", "1"], ["/body/spec/containers/1/image", "fluent"]]
    assert edits(POD, changes) == [
        {"op": "test", "path": "/body/spec/containers/0/name", "value": "web"},
        {"op": "test", "path": "/body/spec/containers/0/resources/limits/cpu", "value": "2"},
        {"op": "replace", "path": "/body/spec/containers/0/resources/limits/cpu", "value": "1"},
    ]


def test_true_is_no_1() -> None:
    assert edits({"a": 1}, [["/a", True]])[-1] == {"op": "replace", "path": "/a", "value": True}


def test_removals_go_backwards_and_edits_before_them_keep_their_indices() -> None:
    changes: list[list[Any]] = [
        ["/body/spec/containers/1/args/0"],
        ["/body/spec/containers/1/args/1"],
        ["/body/spec/containers/0"],
        ["/body/spec/containers/1/image", "fluentd"],
    ]
    wanted = copy.deepcopy(POD)
    wanted["body"]["spec"]["containers"] = [{"name": "log", "image": "fluentd", "args": []}]
    assert after(POD, changes) == wanted


def test_appending_makes_the_list_where_there_is_none() -> None:
    document: dict[str, Any] = {"a": {"list": ["x"]}}
    assert after(document, [["/a/list/-", "y"], ["/a/new/-", "z"]]) == {"a": {"list": ["x", "y"], "new": ["z"]}}


@pytest.mark.parametrize("pointer", ["/body/spec/containers/7/name", "/body/spec/containers/0/image/tag"])
def test_a_place_that_cannot_be_is_said(pointer: str) -> None:
    with pytest.raises(ValueError, match=r"no such element|nothing can be put"):
        edits(POD, [[pointer, "x"]])


def test_what_identifies_an_element_is_tested_once_when_it_is_edited_itself() -> None:
    assert edits(POD, [["/body/spec/containers/0/name", "app"]]) == [
        {"op": "test", "path": "/body/spec/containers/0/name", "value": "web"},
        {"op": "replace", "path": "/body/spec/containers/0/name", "value": "app"},
    ]


@rows(
    ("document", "changes", "patch"),
    [
        ({"a": 1}, [["/a", 1]], []),
        ({"a": 1}, [["/a", 1.0], ["/b", 2]], [{"op": "add", "path": "/b", "value": 2}]),
        ({"a": 1}, [["/b"], ["/a"]], [{"op": "remove", "path": "/a"}]),
        (
            {"a": None},
            [["/a/b", 1]],
            [{"op": "test", "path": "/a", "value": None}, {"op": "replace", "path": "/a", "value": {"b": 1}}],
        ),
        ({"a": {}}, [["/a/b/0", 1]], [{"op": "add", "path": "/a/b", "value": [1]}]),
        ({"a": {}}, [["/a/b/1", 1]], [{"op": "add", "path": "/a/b", "value": {"1": 1}}]),
        ({"a": [1]}, [["/a/1", 2]], [{"op": "add", "path": "/a/1", "value": 2}]),
        ({"a": {"b": 1}}, [["/a", 2]], [{"op": "replace", "path": "/a", "value": 2}]),
        (
            {"a": {}},
            [["/a/b", {"c": 1}], ["/a/b/d", 2]],
            [{"op": "add", "path": "/a/b", "value": {"c": 1, "d": 2}}],
        ),
        (
            {"a": 1},
            [["/a", 2], ["/a", 3]],
            [{"op": "test", "path": "/a", "value": 1}, {"op": "replace", "path": "/a", "value": 3}],
        ),
        (
            {"a": {"b": 1}, "c": 2},
            [["/a"], ["/c"]],
            [{"op": "remove", "path": "/c"}, {"op": "remove", "path": "/a"}],
        ),
    ],
)
def test_operations(document: Any, changes: list[list[Any]], patch: list[Any]) -> None:
    before = copy.deepcopy(document)
    assert edits(document, changes) == patch
    assert document == before


@rows(
    ("element", "path", "value"),
    [
        ({"x": "y", "name": "n"}, "/name", "n"),
        ({"id": 7, "name": None}, "/id", 7),
        ({"x": "y", "id": 7}, "/id", 7),
        ({"x": "y", "key": "k"}, "/key", "k"),
        ({"x": "y", "path": "p"}, "/path", "p"),
        ({"x": "y", "containerPort": 80}, "/containerPort", 80),
        ({"x": "y", "port": 80}, "/port", 80),
        ({"x": "y", "mountPath": "/p"}, "/mountPath", "/p"),
        ({"x": "y", "ip": "::1"}, "/ip", "::1"),
        ({"x": "y"}, "/x", "y"),
        ({"put": {"x": 1, "key": "k"}}, "/put/key", "k"),
        ({"a/b": {"x": 1}}, "/a~1b/x", 1),
        ({"a": {"x": None, "y": [1]}, "b": {"name": "n"}}, "/b/name", "n"),
        ({"a": [None, 5], "b": {}}, "/a/1", 5),
        ({"a": [], "b": {}}, "", {"a": [], "b": {}}),
        ("x", "", "x"),
    ],
)
def test_what_tells_an_element_from_its_neighbours(element: Any, path: str, value: Any) -> None:
    document = {"list": [element, "other"]}
    assert edits(document, [["/list/0"]]) == [
        {"op": "test", "path": "/list/0" + path, "value": value},
        {"op": "remove", "path": "/list/0"},
    ]


def test_elements_are_removed_from_the_last_one_on_whatever_their_numbers_spell() -> None:
    patch = edits({"a": [*range(12)]}, [["/a/2"], ["/a/10"], ["/a/9"]])
    assert [op["path"] for op in patch if op["op"] == "remove"] == ["/a/10", "/a/9", "/a/2"]


def test_there_is_a_limit_and_the_work_is_counted() -> None:
    changes = [[f"/a{number}", 1] for number in range(128)]
    assert len(edits({}, changes)) == 128
    assert counted(lambda: edits({}, changes), size=8000)[1] >= 1000
    with pytest.raises(ValueError, match="129 changes at once, 128 are the most"):
        edits({}, [*changes, ["/b", 1]])


def test_what_identifies_an_element_is_tested_once_for_several_edits() -> None:
    place = "/body/spec/containers/1"
    assert edits(POD, [[f"{place}/stdin", True], [f"{place}/tty", True]]) == [
        {"op": "test", "path": f"{place}/name", "value": "log"},
        {"op": "add", "path": f"{place}/stdin", "value": True},
        {"op": "add", "path": f"{place}/tty", "value": True},
    ]
