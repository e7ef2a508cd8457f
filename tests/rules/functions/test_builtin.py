from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import pytest

from corrigible.rules.functions.builtin import base64_meant, find, is_base64, respell
from corrigible.rules.functions.edits import edits
from corrigible.rules.functions.quantity import quantity, quantity_text
from corrigible.rules.language.expression import EvaluationError, environment

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


def test_wildcards_name_what_is_there() -> None:
    assert find(POD, "/body/spec/containers/*/args/*") == [
        "/body/spec/containers/1/args/0",
        "/body/spec/containers/1/args/1",
    ]
    assert find({"a/b": {"c": 1}}, "/*/c") == ["/a~1b/c"]
    assert find(POD, "/body/spec/volumes/*") == []


@pytest.mark.parametrize(
    ("text", "keep", "filler", "spelled"),
    [
        ("bad_name", "[a-z0-9.-]", "-", "bad-name"),
        ("-bad name/7", "[A-Za-z0-9._-]", "-", "bad-name-7"),
        ("a -- b", "[a-z]", "-", "a-b"),
        ("1 BAD", "[A-Za-z0-9_]", "_", "1_BAD"),
        ("a b", "[a-z]", "", "ab"),
    ],
)
def test_respell(text: str, keep: str, filler: str, spelled: str) -> None:
    assert respell(text, keep, filler) == spelled


def test_respell_wants_a_class() -> None:
    with pytest.raises(ValueError, match="not a class"):
        respell("x", "a-z", "-")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("600m", 0.6),
        ("1Gi", 2.0**30),
        ("2e3", 2000.0),
        ("1.5", 1.5),
        (2, 2.0),
        ("1 GB", None),
        ("", None),
        (True, None),
        (None, None),
    ],
)
def test_quantity(text: Any, number: float | None) -> None:
    assert quantity(text) == number


@pytest.mark.parametrize(
    ("number", "like", "text"),
    [
        (0.5, "600m", "500m"),
        (1.0 - 0.9, "1", "100m"),
        (2.0, "600m", "2"),
        (1.5 * 2**30, "1Gi", "1536Mi"),
        (2.0**30, "512Mi", "1Gi"),
        (5e8, "1G", "500M"),
        (2000.0, "3", "2000"),
        (1.5, "1Gi", None),
    ],
)
def test_quantity_text(number: float, like: str, text: str | None) -> None:
    assert quantity_text(number, like) == text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("cGFzc3dvcmQxMg", "cGFzc3dvcmQxMg=="),  # password12
        ("aGVsbG8_d29ybGQ-", "aGVsbG8/d29ybGQ+"),
        ("q83vASNFZ4mrze8BI0VniavN", "q83vASNFZ4mrze8BI0VniavN"),
        ("password12", ""),
        ("plain", ""),
        ("hello world!", ""),
        (5, ""),
    ],
)
def test_base64_that_was_meant(text: object, meant: str) -> None:
    assert base64_meant(text) == meant


def test_is_base64() -> None:
    assert is_base64("aGVs\nbG8=") is True
    assert is_base64("hello world!") is False


def evaluated(text: str, request: Any) -> Any:
    scope = environment()
    return scope.compile(text).evaluate(scope.activation({"request": request}))


def test_expressions_call_them() -> None:
    assert evaluated("base64('x')", {}) == "eA=="
    assert evaluated("find(request, '/body/spec/containers/*')", POD) == [
        "/body/spec/containers/0",
        "/body/spec/containers/1",
    ]
    text = "edits(request, find(request, '/body/spec/containers/*').map(c, [c + '/tty', false]))"
    assert [op["path"] for op in evaluated(text, POD) if op["op"] == "add"] == [
        "/body/spec/containers/0/tty",
        "/body/spec/containers/1/tty",
    ]
    assert evaluated("quantity_text(quantity('1') - quantity('500m'), '600m')", {}) == "500m"


def test_a_mistake_in_them_is_an_evaluation_error() -> None:
    with pytest.raises(EvaluationError):
        evaluated("edits(request, [['/body/spec/containers/9/x', 1]])", POD)


def test_flat() -> None:
    assert evaluated("flat([[1, 2], 3, []])", {}) == [1, 2, 3]


def test_what_identifies_an_element_is_tested_once_when_it_is_edited_itself() -> None:
    assert edits(POD, [["/body/spec/containers/0/name", "app"]]) == [
        {"op": "test", "path": "/body/spec/containers/0/name", "value": "web"},
        {"op": "replace", "path": "/body/spec/containers/0/name", "value": "app"},
    ]
