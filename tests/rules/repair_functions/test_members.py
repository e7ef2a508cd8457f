"""What differs between two objects, called from Python and from a rule."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.language.expression import EvaluationError, environment
from corrigible.rules.repair_functions import differing, json_text, json_value


@pytest.mark.parametrize(
    ("have", "want", "names"),
    [
        ({"a": 1, "b": 2, "c": 3}, {"b": "2", "a": 2}, ["a"]),
        ({}, {"b": 1, "a": 1}, ["a", "b"]),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2}}, []),
        (None, {"a": None}, ["a"]),
        ({"a": 1}, {}, []),
    ],
)
def test_the_names_that_differ(have: Any, want: Any, names: list[str]) -> None:
    assert differing(have, want) == names
    env = environment(frozenset({"have", "want"}))
    assert env.compile("differing(have, want)").evaluate({"have": have, "want": want}) == names


def test_what_is_no_object_crashes_the_rule() -> None:
    env = environment()
    with pytest.raises(EvaluationError):
        env.compile("differing(body, 'x')").evaluate({"body": {}})


@pytest.mark.parametrize("value", [{"a": [1, None, "é"]}, [], "x", 7])
def test_json_as_text_and_back(value: Any) -> None:
    assert json_value(json_text(value)) == value


def test_what_is_no_json_text_has_no_value() -> None:
    assert [json_value(one) for one in ("{", "x", "", 7, None)] == [None] * 5
