"""Comparisons of what a prompt leaves open: each kind, where it agrees and where it does not."""

from __future__ import annotations

import pytest

from corrigible.conformance.lift.task import Task, check_kinds, plain_text, quantity, unlike
from corrigible.schema.exchange import Json
from tests._support.rows import rows

AGREE: tuple[tuple[Json, Json], ...] = (
    ("Take over from main.", {"$text": "take over from main"}),
    ("  Take  over\nfrom main ", {"$text": "Take over from main"}),
    ('"Say who."', {"$text": "Say who"}),
    ("Why ten?", {"$text": "why ten"}),
    ("Add the set-up\n\nIt runs.", {"$first_line": "Add the set-up"}),
    ("UnVuIGl0Lgo=", {"$decoded": "Run it.\n"}),
    ("UnVu\nIGl0Lgo=\n", {"$decoded": {"$text": "run it"}}),
    ("600m", {"$quantity": "0.6"}),
    ("3072Mi", {"$quantity": "3Gi"}),
    (671088640, {"$quantity": "640Mi"}),
    ("2e3", {"$quantity": "2k"}),
    ([1, 2, 3], {"$unordered": [3, 1, 2]}),
    ([{"a": 1, "b": 2}, {"a": 1}], {"$unordered": [{"a": 1}, {"a": 1, "b": 2}]}),
    ([1, 2, 3], {"$includes": [3]}),
    ([1, 1], {"$each": 1}),
    ("week", {"$one_of": ["day", "week"]}),
    ({"a": 1, "b": 2}, {"$all_of": [{"a": 1}, {"$one_of": [{"b": 3}, {"b": 2}]}]}),
    ("", {"$present": True}),
    ({"a": {"b": "X."}}, {"a": {"b": {"$text": "x"}}}),
)
DIFFER: tuple[tuple[Json, Json], ...] = (
    ("Take over from release", {"$text": "Take over from main"}),
    ("Take overfrom main", {"$text": "Take over from main"}),
    (None, {"$text": "x"}),
    (7, {"$text": "7"}),
    ("It runs.\nAdd the set-up", {"$first_line": "Add the set-up"}),
    ("Run it.", {"$decoded": "Run it."}),
    ("500m", {"$quantity": "0.6"}),
    ("20G", {"$quantity": "20Gi"}),
    (True, {"$quantity": "1"}),
    ("much", {"$quantity": "1"}),
    (None, {"$quantity": "1"}),
    ([1, 2], {"$unordered": [1, 2, 3]}),
    ([1, 1, 2], {"$unordered": [1, 2, 2]}),
    ({"0": 1}, {"$unordered": [1]}),
    ([{"a": 1}, {"a": 2}], {"$includes": [{"a": 1}, {"a": 1}]}),
    ([], {"$each": 1}),
    ([1, 2], {"$each": 1}),
    ("month", {"$one_of": ["day", "week"]}),
    ({"a": 1, "b": 4}, {"$all_of": [{"a": 1}, {"b": 2}]}),
    (None, {"$present": True}),
)


@rows(("document", "expected"), AGREE, ids=str)
def test_what_the_prompt_leaves_open_is_not_compared(document: Json, expected: Json) -> None:
    assert list(unlike(document, expected)) == []


@rows(("document", "expected"), DIFFER, ids=str)
def test_what_differs_is_said(document: Json, expected: Json) -> None:
    assert next(unlike(document, expected, "/at")).startswith("/at")


def test_elements_are_matched_even_where_the_first_choice_takes_anothers_place() -> None:
    items = [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert not list(unlike(items, {"$unordered": [{"a": 1}, {"b": 1}]}))
    assert not list(unlike(items, {"$unordered": [{"b": 1}, {"a": 1}]}))


@pytest.mark.parametrize("expected", [{"$texts": "x"}, {"$text": "x", "more": 1}, {"a": [{"$nothing": 1}]}])
def test_an_unknown_kind_is_an_error_of_the_task_file(expected: Json) -> None:
    with pytest.raises(ValueError, match="no kind of comparison"):
        check_kinds(expected)
    call = {"method": "GET", "path": "/x"}
    with pytest.raises(ValueError, match="no kind of comparison"):
        Task.model_validate(
            {"id": "t", "origin": "o", "prompt": "p", "needs": "nothing", "request": call, "accepted": expected}
        )


def test_an_impossible_task_needs_a_proof_and_a_possible_one_has_none() -> None:
    whole = {"id": "t", "origin": "o", "prompt": "p", "request": {"method": "GET"}, "accepted": {}}
    for more in ({"needs": "impossible"}, {"needs": "restraint"}, {"needs": "nothing", "proof": "p"}):
        with pytest.raises(ValueError, match="`proof` says why"):
            Task.model_validate({**whole, **more})


def test_numbers_that_are_too_long_are_none() -> None:
    assert quantity("9" * 41) is None and quantity("1.2.3") is None
    assert plain_text("“Go on…”") == "go on"
