"""Numbers that somebody wrote as text, called from Python and from a rule."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.language.expression import EvaluationError, environment
from corrigible.rules.repair_functions import seconds, whole_number
from tests._support.rows import rows


def call(text: str, **values: Any) -> Any:
    env = environment(frozenset(values))
    return env.compile(text).evaluate(values)


@rows(
    ("value", "said"),
    [
        ("30s", 30),
        (" 30 Seconds ", 30),
        ("10m", 600),
        ("10 minutes", 600),
        ("2h", 7200),
        ("10M", None),
        ("1234567m", None),
        ("30", None),
        ("1.5h", None),
        ("\u0663s", None),
        ("1d", None),
        ("", None),
        (30, None),
        (None, None),
    ],
)
def test_the_seconds_of_a_duration(value: Any, said: int | None) -> None:
    assert seconds(value) == call("seconds(value)", value=value) == said


@rows(
    ("value", "number"),
    [
        (30, 30),
        (30.0, 30),
        ("30", 30),
        (" -30.00 ", -30),
        ("Ten", 10),
        ("30.5", None),
        (30.5, None),
        ("30s", None),
        ("", None),
        (True, None),
        ({"ten": 1}, None),
    ],
)
def test_the_whole_number_of_a_value(value: Any, number: int | None) -> None:
    words = {"ten": 10}
    assert whole_number(value, words) == call("whole_number(value, words)", value=value, words=words) == number


def test_words_that_are_no_object_crash_the_rule() -> None:
    with pytest.raises(EvaluationError):
        call("whole_number('ten', 'ten')")
