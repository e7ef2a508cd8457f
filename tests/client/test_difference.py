"""What differs between two requests, line by line."""

from __future__ import annotations

from typing import Any

from corrigible.client.explanation import difference
from corrigible.schema import Request
from tests._support.rows import rows


@rows(
    ("before", "after", "lines"),
    [
        ({"a": 1}, {"a": 2}, ["/body/a: 1 -> 2"]),
        ({"a": 1}, {"a": 1.0}, ["/body/a: 1 -> 1.0"]),
        ({"a": 1}, {"a": True}, ["/body/a: 1 -> true"]),
        ({"a": 1}, {"b": 1}, ["/body/a: 1 -> (removed)", "/body/b: -> 1"]),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, ['/body/a/0/b: "x" -> "y"']),
        ({"a/b~c": 1}, {}, ["/body/a~1b~0c: 1 -> (removed)"]),
        ({"a": {"b": 1}}, {"a": {}}, ["/body/a/b: 1 -> (removed)", "/body/a: -> {}"]),
        ({"a": None}, {}, ["/body/a: null -> (removed)"]),
        (None, {"a": 1}, ["/body/a: -> 1"]),
        ("x", None, ['/body: "x" -> (removed)']),
        ({"a": 1}, {"a": 1}, []),
        ({}, None, ["/body: {} -> (removed)"]),
        (None, {}, ["/body: -> {}"]),
        ({}, {"a": 1}, ["/body/a: -> 1"]),
    ],
)
def test_each_value_that_differs_is_a_line(before: Any, after: Any, lines: list[str]) -> None:
    assert difference(Request("POST", "/x", body=before), Request("POST", "/x", body=after)) == lines


def test_method_path_query_and_headers_differ_too() -> None:
    assert difference(Request("PUT", "/x", {"a": "1"}), Request("POST", "/y", {}, {"if-match": "v"})) == [
        '/method: "PUT" -> "POST"',
        '/path: "/x" -> "/y"',
        '/query/a: "1" -> (removed)',
        '/headers/if-match: -> "v"',
    ]


def test_the_lines_are_bounded() -> None:
    for count, last in ((12, "/body/11: -> 0"), (13, "and 1 more")):
        lines = difference(Request("POST", "/x"), Request("POST", "/x", body={str(index): 0 for index in range(count)}))
        assert lines[-1] == last
