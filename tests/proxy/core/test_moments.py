"""Moments that a sentence relates to each other, or to now: those that it calls by all the words of their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.proxy.core.moments import places_of_moments

VALUES = [("starts at", "/body/startsAt"), ("ends at", "/body/endsAt"), ("comment", "/body/comment")]


def told(sentence: str, values: list[tuple[str, str]] = VALUES) -> list[str]:
    return places_of_moments(f" {sentence} ", values)


@pytest.mark.parametrize(
    ("sentence", "places"),
    [
        ("failed to create silence start time must be before end time", ["/body/startsAt", "/body/endsAt"]),
        ("end date must not be earlier than the start date", ["/body/endsAt", "/body/startsAt"]),
        ("the end time can not be in the past", ["/body/endsAt"]),
        ("start must be after now", ["/body/startsAt"]),
        ("expiry must be in the future", []),
        ("time must be before date", []),
        ("start time must be before the sale ends", []),
        ("comment must be at most 20 characters", []),
        ("start time is wrong", []),
    ],
)
def test_the_moments_that_a_sentence_is_about(sentence: str, places: list[str]) -> None:
    assert told(sentence) == places


def test_of_several_of_a_name_none_is_meant() -> None:
    values = [("starts at", "/body/0/startsAt"), ("starts at", "/body/1/startsAt"), ("ends at", "/body/1/endsAt")]
    assert told("start time must be before end time", values) == []


def test_those_of_two_objects_are_not_related() -> None:
    values = [("starts at", "/body/a/startsAt"), ("ends at", "/body/b/endsAt")]
    assert told("start time must be before end time", values) == []


WORDS = st.sampled_from(
    ["start", "end", "time", "date", "must", "be", "before", "after", "in", "the", "past", "now", "comment"]
)


@given(st.lists(WORDS, max_size=12))
def test_what_is_meant_is_called_so(words: list[str]) -> None:
    places = told(" ".join(words))
    stems = {"/body/startsAt": "start", "/body/endsAt": "end", "/body/comment": "comment"}
    assert len(places) in (0, 1, 2) and len({*places}) == len(places)
    assert all(stems[place] in words for place in places)
    assert not places or {"before", "after", "past", "now"} & {*words}
