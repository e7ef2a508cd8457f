"""Places behind a label, in a line of a text, in what was sent empty; and words of a sentence that are no names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.adapters.operation import NOTHING
from corrigible.rules.pointer import MISSING, value_at
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import errors_at_places

BODY: dict[str, Any] = {
    "name": "x",
    "headers": {"X-Shelf": 4},
    "limit": {"monday": {"duration": {"hours": 8}}},
    "labels": {},
    "tags": [],
    "owner": {"name": ""},
}


def located(message: str, body: Any = BODY, query: dict[str, Any] | None = None) -> list[str]:
    request = Request("POST", "/things", query or {}, {}, body)
    exchange = Exchange(request, 400, {"content-type": "application/json"}, b"")
    return [error.pointer for error in errors_at_places(exchange, {"message": message}, NOTHING)]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        # openapi-core, as changedetection.io prints it
        ("Request failed: nothing.here: is wrong", ""),
        # Alertmanager
        ("at least one label pair required", "/body/labels"),
        ("at least one tag is required", "/body/tags"),
    ],
)
def test_places_that_a_text_tells(message: str, place: str) -> None:
    assert located(message) == [place]


WORDS = st.sampled_from(
    [
        "Validation failed:",
        "name:",
        "limit.monday:",
        "owner.name:",
        "at least one",
        "label",
        "tag",
        "required",
        "is wrong",
        "x",
    ]
)


@given(st.lists(WORDS, max_size=7))
def test_a_told_place_is_one_of_the_request_or_a_missing_member(words: list[str]) -> None:
    for place in located(" ".join(words)):
        assert place == "" or value_at(Request("POST", "/things", body=BODY), place) is not MISSING


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"article": {"title": "x", "body": ["a", "b"]}}, "/body/article/body"),
        ({"title": "x", "body": 5}, "/body/body"),
        ({"title": "x", "of": {"body": 5}}, "/body"),
        ([1], "/body"),
    ],
)
def test_a_member_may_be_called_body(body: Any, place: str) -> None:
    exchange = Exchange(Request("POST", "/things", {}, {}, body), 422, {"content-type": "application/json"}, b"")
    answer = {"errors": {"body": ["Input should be a valid string"]}}
    assert [error.pointer for error in errors_at_places(exchange, answer, NOTHING)] == [place]
