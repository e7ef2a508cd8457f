from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.functions.builtin import (
    at,
    base64_meant,
    find,
    fresh_key,
    includes,
    integer,
    is_base64,
    names,
    or_value,
    respell,
    unix,
)
from corrigible.rules.language.expression import EvaluationError, environment
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


@rows(
    ("value", "number"),
    [
        (5, 5),
        (5.0, 5),
        (5.5, None),
        (" 7 ", 7),
        ("+7", 7),
        ("-7", -7),
        ("7" * 18, int("7" * 18)),
        ("7" * 19, None),
        ("7.0", None),
        ("x", None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_integer(value: Any, number: int | None) -> None:
    assert integer(value) == number


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        ("Sun, 06 Nov 1994 08:49:37 -0000", 784111777),
        ("Sun, 06 Nov 1994 08:49:37 +0100", 784108177),
        ("soon", None),
        (None, None),
    ],
)
def test_unix(date: Any, seconds: int | None) -> None:
    assert unix(date) == seconds


@rows(
    ("have", "want", "holds"),
    [
        ({"a": 1, "b": 2}, {"a": "1"}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": {"b": True, "c": 1}}, {"a": {"b": "true"}}, True),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1.5}, {"a": "1.5"}, True),
        ({}, {"a": None}, True),
        ({}, {"a": ""}, True),
        ({"a": [1, 2]}, {"a": ["1", "2"]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": [1, 2]}, {"a": [1, 3]}, False),
        ({"a": 1}, {"a": [1]}, False),
        ({"a": [1]}, {"a": "1"}, False),
        ({"a": {"b": 1}}, {"a": ""}, False),
        ("x", {"a": 1}, False),
        ([], {}, False),
    ],
)
def test_includes(have: Any, want: Any, holds: bool) -> None:
    assert includes(have, want) is holds


def test_what_is_nowhere_is_null_or_nothing() -> None:
    assert (at({"a": [0]}, "/a/0"), at({"a": [0]}, "/a/1")) == (0, None)
    assert (names({"a": {"b": 1}}, "/a"), names({"a": [1]}, "/a"), names({}, "/a")) == (["b"], [], [])
    assert (or_value(None, 5), or_value(0, 5)) == (5, 0)


def test_a_key_is_fresh_for_each_seed() -> None:
    assert fresh_key("a") == fresh_key("a") != fresh_key("b")


def test_any_number_of_levels() -> None:
    assert find(POD, "**/image") == ["/body/spec/containers/0/image", "/body/spec/containers/1/image"]
    assert find({"a": {"a": 1}}, "/**/a") == ["/a", "/a/a"]
    assert find({"a": {"b": {"c": 1}}}, "/a/**/c") == ["/a/b/c"]
    assert counted(lambda: find({}, "**/a"), size=800)[1] >= 100


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


@pytest.mark.parametrize("keep", ["a-z", "[a-z", "a-z]", "[^a-z]"])
def test_respell_wants_a_class(keep: str) -> None:
    with pytest.raises(ValueError, match="not a class"):
        respell("x", keep, "-")


@rows(
    ("text", "meant"),
    [
        ("cGFzc3dvcmQxMg", "cGFzc3dvcmQxMg=="),  # password12
        ("aGVsbG8_d29ybGQ-", "aGVsbG8/d29ybGQ+"),
        ("q83vASNFZ4mrze8BI0VniavN", "q83vASNFZ4mrze8BI0VniavN"),
        ("YWI", ""),  # ab
        ("YWJj", "YWJj"),  # abc
        ("q83vASNFZ4mrze8BI0Vn", "q83vASNFZ4mrze8BI0Vn"),
        ("q83vASNFZ4mrze8BI0V", ""),
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
    return scope.compile(text).evaluate({"request": request})


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
