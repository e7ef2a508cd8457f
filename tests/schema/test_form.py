"""Forms and queries become members, and each pair's place among them is known."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.client.sent_request import edited_form
from corrigible.schema.document import by_name, fields, form_pairs, nested, parameter_segments, paths
from tests._support.rows import rows


@rows(
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


@rows(
    ("pairs", "members", "places"),
    [
        ([("a", 1), ("b", 2)], {"a": 1, "b": 2}, [("a",), ("b",)]),
        ([("a", 1), ("a", 2)], {"a": [1, 2]}, [("a", "0"), ("a", "1")]),
        ([("a", 1), ("a", 2), ("b[c]", 3)], {"a": [1, 2], "b": {"c": 3}}, [("a", "0"), ("a", "1"), ("b", "c")]),
        ([("a[b]", 1), ("a[b]", 2)], {"a": {"b": [1, 2]}}, [("a", "b", "0"), ("a", "b", "1")]),
        ([("a[1]", 1), ("a[]", 2)], {"a": {"1": 1, "2": 2}}, [("a", "1"), ("a", "2")]),
        ([("a[b", 1), ("a", 2)], {"a[b": 1, "a": 2}, [("a[b",), ("a",)]),
        ([("a[b]c", 1), ("a[b]", 2)], {"a[b]c": 1, "a": {"b": 2}}, [("a[b]c",), ("a", "b")]),
        ([("a[b]", 1), ("a[c][d]", 2)], {"a": {"b": 1, "c": {"d": 2}}}, [("a", "b"), ("a", "c", "d")]),
        ([("a[]", 1), ("a[]", 2)], {"a": [1, 2]}, [("a", "0"), ("a", "1")]),
        ([("a[1][n]", 2), ("a[0][n]", 1)], {"a": [{"n": 1}, {"n": 2}]}, [("a", "1", "n"), ("a", "0", "n")]),
        ([("a[1]", 2)], {"a": {"1": 2}}, [("a", "1")]),
        ([("a[0]", 1), ("a[x]", 2)], {"a": {"0": 1, "x": 2}}, [("a", "0"), ("a", "x")]),
        ([("a", 1), ("a[b]", 2)], {"a": 1, "a[b]": 2}, [("a",), ("a[b]",)]),
        ([("a[b]", 2), ("a", 1)], {"a": 1, "a[b]": 2}, [("a[b]",), ("a",)]),
        ([("a[b]", {}), ("c", {})], {"a": {"b": {}}, "c": {}}, [("a", "b"), ("c",)]),
        ([("a[b][]", 1), ("a[b][]", 2)], {"a": {"b": [1, 2]}}, [("a", "b", "0"), ("a", "b", "1")]),
    ],
)
def test_members_and_the_places_of_what_was_sent(
    pairs: list[tuple[str, Any]], members: dict[str, Any], places: list[tuple[str, ...]]
) -> None:
    assert nested(pairs) == members
    assert paths(pairs) == places


def test_twenty_levels_are_read_and_a_name_of_more_is_a_name() -> None:
    for levels, expected in ((20, ("a", *["b"] * 20)), (21, ("a" + "[b]" * 21,))):
        (place,) = paths([("a" + "[b]" * levels, 1)])
        assert place == expected
        value: Any = nested([("a" + "[b]" * levels, 1)])
        for name in place:
            value = value[name]
        assert value == 1


NAMES = st.builds(
    lambda head, parts, tail: head + "".join(f"[{part}]" for part in parts) + tail,
    st.sampled_from(["", "a", "b", "0"]),
    st.lists(st.sampled_from(["", "0", "1", "2", "x", "a"]), max_size=3),
    st.sampled_from(["", "", "", "[", "]", "x"]),
)
FORMS = st.lists(st.tuples(NAMES, st.sampled_from(["", "1", "2", "x y", "&="])), max_size=8)


@given(FORMS)
def test_no_pair_of_a_form_is_lost(pairs: list[tuple[str, str]]) -> None:
    """Each has a place of its own, and stands there; written again the form is what it was."""
    document = nested(pairs)
    places = paths(pairs)
    assert len(set(places)) == len(places)
    for place, (_, value) in zip(places, pairs, strict=True):
        here: Any = document
        for part in place:
            here = here[int(part)] if isinstance(here, list) else here[part]
        assert here == value
    assert Counter(text for _, text in form_pairs(document)) == Counter(text for _, text in pairs)
    sent = urlencode(pairs)
    assert edited_form(sent, document) == sent


@given(FORMS.filter(bool), st.data())
def test_what_an_edit_leaves_alone_stays(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    """One value becomes another: the form that is written has it there, and all others as they were."""
    at = data.draw(st.integers(0, len(pairs) - 1))
    document: Any = nested(pairs)
    here = document
    *parents, last = paths(pairs)[at]
    for part in parents:
        here = here[int(part)] if isinstance(here, list) else here[part]
    if isinstance(here, list):
        here[int(last)] = "new"
    else:
        here[last] = "new"
    wanted = [(name, "new" if index == at else value) for index, (name, value) in enumerate(pairs)]
    assert fields(edited_form(urlencode(pairs), document)) == wanted


def test_what_is_sent_once_more_has_the_same_name() -> None:
    assert edited_form("m=1&m=2", {"m": ["1", "2", "3"]}) == "m=1&m=2&m=3"
    assert (
        edited_form("a[b]=1&a[b]=2", {"a": {"b": ["1", "2", "3"], "c": "4"}}) == "a[b]=1&a[b]=2&a%5Bb%5D=3&a%5Bc%5D=4"
    )
    assert edited_form("m=1&m=2", {"m": "1"}) == "m=1"
