"""Forms and queries become members, and each pair's place among them is known."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from corrigible.schema.form import by_name, fields, nested, parameter_segments, paths


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a", ["a"]),
        ("a[b][0][c]", ["a", "b", "0", "c"]),
        ("a[]", ["a", ""]),
        ("[a]", ["", "a"]),
        ("a[b", ["a"]),
        ("", [""]),
    ],
)
def test_a_name_is_split_at_its_brackets(name: str, parts: list[str]) -> None:
    assert parameter_segments(name) == parts


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1&b=2", [("a", "1"), ("b", "2")]),
        ("a=b=c&&d", [("a", "b=c"), ("d", "")]),
        ("a+b=%C3%A9&c=", [("a b", "\u00e9"), ("c", "")]),
        ("", []),
    ],
)
def test_pairs_come_in_order(text: str, pairs: list[tuple[str, str]]) -> None:
    assert fields(text) == pairs


@pytest.mark.parametrize("value", ["x", quote("\u00e9")])
def test_two_thousand_fields_are_read_and_one_more_is_too_many(value: str) -> None:
    assert len(fields("&".join([f"a={value}"] * 2000))) == 2000
    with pytest.raises(ValueError, match="Max number of fields exceeded"):
        fields("&".join([f"a={value}"] * 2001))


def test_what_is_sent_several_times_is_a_list() -> None:
    assert by_name([("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")]) == {"a": ["1", "3", "4"], "b": "2"}


@pytest.mark.parametrize(
    ("pairs", "members", "places"),
    [
        ([("a", 1), ("b", 2)], {"a": 1, "b": 2}, [("a",), ("b",)]),
        ([("a", 1), ("a", 2)], {"a": 2}, [("a",), ("a",)]),
        ([("a[b]", 1), ("a[c][d]", 2)], {"a": {"b": 1, "c": {"d": 2}}}, [("a", "b"), ("a", "c", "d")]),
        ([("a[]", 1), ("a[]", 2)], {"a": [1, 2]}, [("a", "0"), ("a", "1")]),
        ([("a[1][n]", 2), ("a[0][n]", 1)], {"a": [{"n": 1}, {"n": 2}]}, [("a", "1", "n"), ("a", "0", "n")]),
        ([("a[1]", 2)], {"a": {"1": 2}}, [("a", "1")]),
        ([("a[0]", 1), ("a[x]", 2)], {"a": {"0": 1, "x": 2}}, [("a", "0"), ("a", "x")]),
        ([("a", 1), ("a[b]", 2)], {"a": {"b": 2}}, [("a",), ("a", "b")]),
        ([("a[b]", {}), ("c", {})], {"a": {"b": {}}, "c": {}}, [("a", "b"), ("c",)]),
        ([("a[b][]", 1), ("a[b][]", 2)], {"a": {"b": [1, 2]}}, [("a", "b", "0"), ("a", "b", "1")]),
    ],
)
def test_members_and_the_places_of_what_was_sent(
    pairs: list[tuple[str, Any]], members: dict[str, Any], places: list[tuple[str, ...]]
) -> None:
    assert nested(pairs) == members
    assert paths(pairs) == places


def test_twenty_levels_are_read() -> None:
    ((place,),) = [paths([("a" + "[b]" * 30, 1)])]
    assert place == ("a", *["b"] * 19)
    value: Any = nested([("a" + "[b]" * 30, 1)])
    for name in place:
        value = value[name]
    assert value == 1
