"""What is kept of a request: enough to tell where another one differs, and whether it is as it was advised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from corrigible.proxy.core.loop.fingerprint import (
    advice_of,
    containing_array,
    follows,
    gist,
    is_excused,
    leaves_of,
    sent_words,
)
from corrigible.schema.exchange import Json, Request
from tests._support.rows import rows

REQUEST = Request("POST", "/x", body={"a": 1})


@rows(
    ("pointer", "array"),
    [
        ("/body/a/0", "/body/a"),
        ("/body/a/-", "/body/a"),
        ("/body/0", "/body"),
        ("/0", "/0"),
        ("/-", "/-"),
        ("/body/a", "/body/a"),
        ("/body/a/0/b", "/body/a/0/b"),
        ("", ""),
    ],
)
def test_an_element_is_part_of_its_array(pointer: str, array: str) -> None:
    assert containing_array(pointer) == array


@rows(
    ("differing", "excused"),
    [
        ("/body/a", True),
        ("/body/a/b", True),
        ("/body", True),
        ("/body/ab", False),
        ("/bod", False),
        ("/body/idempotency_key", True),
        ("/body/deep/Client-Request-Id", True),
        ("/body/clientToken", True),
        ("/body/requestid/x", False),
    ],
)
def test_a_place_may_differ_with_what_is_in_it_and_around_it(differing: str, excused: bool) -> None:
    assert is_excused(differing, ["/query/z", "/body/a"]) is excused


@rows(
    ("body", "query", "places"),
    [
        ({"a": 1, "b": {"c": "x", "d": [True, None]}}, {}, ["/body/a", "/body/b/c", "/body/b/d/0", "/body/b/d/1"]),
        ({"a/b": "x", "c~d": "y"}, {}, ["/body/a~1b", "/body/c~0d"]),
        (None, {}, []),
        ({}, {}, []),
        ({"a": {}, "b": [], "c": ""}, {}, ["/body/a", "/body/b", "/body/c"]),
        ("text", {}, ["/body"]),
        (None, {"q": "1", "r": ["a", "b"]}, ["/query/q", "/query/r/0", "/query/r/1"]),
        ({"m": {str(n): n for n in range(64)}}, {}, ["/body/m"]),
        ({"m": {str(n): n for n in range(63)}}, {}, [f"/body/m/{n}" for n in range(63)]),
        ({"m": list(range(64))}, {}, ["/body/m"]),
        ({"m": list(range(63)), "n": 1}, {}, ["/body/m", "/body/n"]),
    ],
)
def test_leaves_are_the_places_of_query_and_body(body: Json, query: dict[str, Json], places: list[str]) -> None:
    assert sorted(leaves_of(Request("POST", "/x", query, body=body))) == sorted(places)


def test_leaves_tell_values_apart_and_keep_none_of_them() -> None:
    one, same, other = (leaves_of(replace(REQUEST, body={"a": "x", "b": value})) for value in ([1], [1], [2]))
    assert one == same
    assert (one["/body/a"] == other["/body/a"], one["/body/b/0"] == other["/body/b/0"]) == (True, False)
    assert all(type(value) is int for value in one.values())


def test_a_long_name_takes_no_room() -> None:
    (place,) = leaves_of(replace(REQUEST, body={"x" * 1000: 1}))
    assert place.startswith("/body/~") and len(place) < 64
    (short,) = leaves_of(replace(REQUEST, body={"x" * 250: 1}))
    assert short == "/body/" + "x" * 250


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request("GET", "/Charges/ch_1", {"Limit": "Many things"}), {"charges", "ch_1", "many", "things"}),
        (Request("POST", "/", body={"a": [1.5, {"b": "Deep"}], "c": True, "d": None}), {"1", "5", "deep"}),
        (Request("POST", "/", body="Plain text"), {"plain", "text"}),
        (Request("POST", "/", body="x" * 1024 + " late"), {"x" * 1024}),
        (Request("POST", "/", body=[*range(70)]), {str(n) for n in range(64)}),
    ],
)
def test_the_words_that_were_sent(request_: Request, words: set[str]) -> None:
    assert sent_words(request_) == words


@rows(
    ("message", "words"),
    [
        ("Amount must be positive", ["amount", "must", "be", "positive"]),
        ('No such "thing here" or `that one`', ["no", "such", "or"]),
        ("The user's name isn't 'a b' here", ["the", "user", "s", "name", "isn", "t", "here"]),
        ("Limit of 50 for abc3 is over", ["limit", "of", "for", "is", "over"]),
        ("Charge was refunded", ["was", "refunded"]),
        ("a" * 1024 + " late", ["a" * 1024]),
    ],
)
def test_what_a_message_says_whatever_the_values(message: str, words: list[str]) -> None:
    assert list(gist(message, frozenset({"charge"}))) == words


def patch(*ops: dict[str, Json]) -> dict[str, Any]:
    return {"action": "MODIFY_PARAMS", "patch": list(ops)}


ADD_C = patch({"op": "add", "path": "/body/tags/-", "value": "c"})
KEY = {"op": "replace", "path": "/body/idempotency_key", "value": "new"}


@rows(
    ("suggestion", "request_", "held"),
    [
        (patch({"op": "replace", "path": "/body/a", "value": 1}), REQUEST, True),
        (patch({"op": "replace", "path": "/body/a", "value": 2}), REQUEST, False),
        (patch({"op": "replace", "path": "/body/a", "value": "1"}), REQUEST, False),
        (patch({"op": "replace", "path": "/body/a", "value": 1}), replace(REQUEST, form=True, body={"a": "1"}), True),
        (
            patch({"op": "replace", "path": "/body/a", "value": {"b": [1, 2]}}),
            replace(REQUEST, form=True, body={"a": {"b": ["1", "2"]}}),
            True,
        ),
        (patch({"op": "add", "path": "/query/n", "value": 5}), replace(REQUEST, query={"n": "5"}), True),
        (patch({"op": "add", "path": "/query/n", "value": 5}), replace(REQUEST, query={"n": "6"}), False),
        (patch({"op": "remove", "path": "/body/b"}), REQUEST, True),
        (patch({"op": "remove", "path": "/body/a"}), REQUEST, False),
        (patch({"op": "move", "from": "/body/b", "path": "/body/a"}), REQUEST, True),
        (patch({"op": "move", "from": "/body/a", "path": "/body/b"}), REQUEST, False),
        (patch({"op": "test", "path": "/body/a", "value": 9}, {"op": "remove", "path": "/body/b"}), REQUEST, True),
        (patch({"op": "remove", "path": "/body/b"}, KEY), REQUEST, True),
        (patch({"op": "remove", "path": "/body/b"}, {"op": "remove", "path": "/body/a"}), REQUEST, False),
        (ADD_C, replace(REQUEST, body={"tags": ["a", "c"]}), True),
        (ADD_C, replace(REQUEST, body={"tags": ["a"]}), False),
        (ADD_C, replace(REQUEST, body={"tags": "c"}), False),
        ({"action": "DO", "parameters": {"a": 1}}, REQUEST, True),
        ({"action": "DO", "parameters": {"a": 1, "b": None}}, REQUEST, True),
        ({"action": "DO", "parameters": {"a": {"c": 1}}}, REQUEST, False),
        ({"action": "DO", "parameters": {"n": 5}}, Request("GET", "/x", {"n": "5"}), True),
    ],
)
def test_whether_a_request_is_as_it_was_advised(suggestion: dict[str, Any], request_: Request, held: bool) -> None:
    advice = advice_of(suggestion, request_)
    assert advice.effects
    assert follows(advice, request_) is held


@pytest.mark.parametrize(
    "suggestion",
    [
        {"action": "WAIT_AND_RETRY", "parameters": {"seconds": 5}},
        {"action": "PAUSE", "base_action": "WAIT_AND_RETRY", "parameters": {"seconds": 5}},
        {"action": "MODIFY_PARAMS"},
        patch(KEY),
    ],
)
def test_waiting_and_a_new_key_lead_to_no_other_request(suggestion: dict[str, Any]) -> None:
    assert advice_of(suggestion, REQUEST).effects == ()


def test_places_that_are_asked_for_are_part_of_the_advice() -> None:
    asked = {"action": "MODIFY_PARAMS", "parameters": {}, "placeholders": [{"pointer": "/body/a"}, {"pointer": "/b"}]}
    assert advice_of(asked, REQUEST) == ("MODIFY_PARAMS", (), ("/body/a", "/b"))
