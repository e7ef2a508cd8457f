"""Which rule is asked first, and what a pattern finds in a message."""

from __future__ import annotations

import pytest

from corrigible.rules.language.rule import MatchCriteria
from corrigible.rules.pattern import Pattern
from tests._support.rows import rows

OPERATION = MatchCriteria(operations=("Create",))
STATUS = MatchCriteria(statuses=(400,))
CODE = MatchCriteria(codes=("a",))
TYPE = MatchCriteria(types=frozenset({"a"}))
PARAM = MatchCriteria(params=frozenset({"a"}))
MESSAGE = MatchCriteria(message=Pattern("a"))
LESS_THAN_CODE = MatchCriteria(statuses=(400,), types=frozenset({"a"}), params=frozenset({"a"}))
LESS_THAN_OPERATION = MatchCriteria((), (400,), ("a",), frozenset({"a"}), frozenset({"a"}))


@rows(
    ("narrow", "wide"),
    [
        (STATUS, MatchCriteria()),
        (TYPE, STATUS),
        (PARAM, MatchCriteria(statuses=(400,), types=frozenset({"a"}))),
        (CODE, LESS_THAN_CODE),
        (MESSAGE, LESS_THAN_CODE),
        (OPERATION, LESS_THAN_OPERATION),
    ],
)
def test_the_narrower_rule_is_asked_first(narrow: MatchCriteria, wide: MatchCriteria) -> None:
    assert narrow.specificity > wide.specificity


def test_a_code_is_as_narrow_as_a_message_and_both_as_an_operation() -> None:
    assert CODE.specificity == MESSAGE.specificity
    assert MatchCriteria(codes=("a",), message=Pattern("a")).specificity == OPERATION.specificity


@pytest.mark.parametrize(
    ("pattern", "message", "captures"),
    [
        ("(?P<a>x)|(?P<b>y)", "an y", {"b": "y"}),
        ("no (?P<what>[a-zé]+)", "no café", {"what": "café"}),
        ("^a", "b a", None),
        ("a", "\ud800 a", {}),
    ],
)
def test_the_named_groups_that_took_part(pattern: str, message: str, captures: dict[str, str] | None) -> None:
    assert Pattern(pattern).search(message) == captures


def test_what_is_no_pattern_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"missing \)"):
        Pattern("(")
    assert capfd.readouterr() == ("", "")  # the library itself prints nothing


def test_a_group_may_be_the_first_thing_of_a_message() -> None:
    assert Pattern("(?P<name>[a-z]+) is not known").search("limit is not known") == {"name": "limit"}
