"""Repairs of lists: which elements are dropped, how an edit inside a list is guarded, what the caller is asked."""

from __future__ import annotations

from corrigible.schema.reader import Next
from tests._support.repaired import follow, post, said, sent


def test_an_element_is_tested_before_it_is_edited() -> None:
    request = post({"items": [{"state": "open"}, {"state": "opened"}]})
    (suggestion,) = said("/body/items/1/state", "enum", {"enum": ["open", "closed"]}, request).suggestions
    assert suggestion["patch"][0] == {"op": "test", "path": "/body/items/1/state", "value": "opened"}
    assert suggestion["parameters"] == {}


def test_a_text_too_long_to_repeat_is_guarded_by_its_element() -> None:
    request = post({"items": [{"name": "a", "note": "x" * 300}]})
    (suggestion,) = said("/body/items/0/note", "maxLength", {"type": "string", "maxLength": 9}, request).suggestions
    assert suggestion["patch"] == [
        {"op": "test", "path": "/body/items/0/name", "value": "a"},
        {"op": "replace", "path": "/body/items/0/note", "value": "x" * 9},
    ]


def test_an_element_in_a_list_of_its_own_is_unwrapped() -> None:
    request = sent(["x", ["y"]])
    repaired = said("/body/a/1", "type", {"type": "string"}, request)
    assert repaired.suggestions[0]["patch"][0] == {"op": "test", "path": "/body/a/1", "value": ["y"]}
    outcome = follow(repaired, request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"a": ["x", "y"]}


def test_an_element_that_nothing_identifies_is_asked_about() -> None:
    repaired = said("/body/a/0", "maxLength", {"type": "string", "maxLength": 9}, sent(["x" * 300]))
    assert repaired.suggestions[0]["applicability"] == "HAS_PLACEHOLDERS"


def test_of_repeated_elements_the_caller_says_which_to_keep() -> None:
    repaired = said("/body/a", "uniqueItems", {"type": "array", "uniqueItems": True}, sent(["a", "b", "a"]))
    assert repaired.suggestions[0]["placeholders"][0]["schema"] == {"type": "array", "uniqueItems": True}


def test_the_caller_says_which_elements_to_keep() -> None:
    repaired = said("/body/a", "maxItems", {"type": "array", "maxItems": 1}, sent(["x", "y"]))
    assert repaired.suggestions[0]["placeholders"][0]["schema"] == {"type": "array", "maxItems": 1}


def test_a_list_of_secrets_is_asked_for_and_never_repeated() -> None:
    request = post({"token": ["hunter2", "hunter2"]})
    repaired = said("/body/token", "uniqueItems", {"type": "array", "uniqueItems": True}, request)
    assert repaired.suggestions[0]["applicability"] == "HAS_PLACEHOLDERS"
    kept = said("/body/token", "maxItems", {"type": "array", "maxItems": 1}, request)
    assert "hunter2" not in f"{repaired}{kept}"
