"""Mappings by names alone, and by descriptions alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrigible.adapters.mapping.operation import CanonicalOperation, Field
from tests.mapping.baselines import at_least, by_descriptions, by_names, nearest


def operation(
    api: str, key: str, name: str = "", summary: str = "", fields: tuple[str, ...] = ()
) -> CanonicalOperation:
    method, path = key.split(" ")
    arguments = tuple(Field(pointer=pointer) for pointer in fields)
    return CanonicalOperation(api=api, name=name or key, method=method, path=path, summary=summary, arguments=arguments)


OLD = [
    operation("old", "GET /things/{id}", "getThing", "Fetch one widget by number", ("/path/id", "/query/fields")),
    operation("old", "DELETE /things/{id}", "deleteThing", "Throw the widget away"),
]
NEW = [
    operation("new", "GET /things/{thing}", "getThing", "Nothing alike here", ("/path/thing", "/query/fields")),
    operation("new", "GET /stuff", "readStuff", "Fetch one widget by its number"),
    operation("new", "DELETE /things/{thing}", "deleteThing", "Nothing alike there"),
]


def test_names_find_the_same_path_whatever_the_parameter_is_called() -> None:
    found = nearest(OLD, NEW, by_names)
    assert [(one.target.method, one.target.path) for one in found] == [
        ("GET", "/things/{thing}"),
        ("DELETE", "/things/{thing}"),
    ]
    assert found[0].score == 1


def test_descriptions_find_the_same_words_whatever_the_path_is() -> None:
    found = nearest(OLD[:1], NEW, by_descriptions(OLD, NEW))
    assert [one.target.path for one in found] == ["/stuff"]


def test_fields_of_the_same_pointer_go_to_each_other() -> None:
    (found,) = nearest(OLD[:1], NEW, by_names)
    assert [(pair.source, pair.target) for pair in found.arguments] == [("/query/fields", "/query/fields")]


def test_no_operation_is_its_own_substitute() -> None:
    (found,) = nearest(OLD[:1], OLD, by_names)
    assert found.target.method == "DELETE"
    assert nearest(OLD[:1], OLD[:1], by_names) == []


def test_without_any_word_in_common_nothing_is_proposed() -> None:
    bare = [operation("bare", "POST /x", summary="zzz")]
    assert nearest(bare, OLD, by_descriptions(bare, OLD)) == []
    silent = [operation("silent", "POST /x")]
    assert nearest(silent, OLD, by_descriptions(silent, OLD)) == []


def test_a_threshold_keeps_what_reaches_it() -> None:
    found = nearest(OLD, NEW, by_names)
    assert at_least(found, 0.0) == found
    assert at_least(found, 1.0) == [one for one in found if one.score == 1]


@given(st.text(max_size=30), st.text(max_size=30))
def test_likeness_is_between_0_and_1_and_the_same_both_ways(one: str, other: str) -> None:
    a, b = operation("a", "GET /a", one or "x", one), operation("b", "POST /b", other or "y", other)
    for likeness in (by_names, by_descriptions([a], [b])):
        assert 0 <= likeness(a, b) <= 1
        assert abs(likeness(a, b) - likeness(b, a)) < 1e-9
