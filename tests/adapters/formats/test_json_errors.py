"""Whatever an answer holds, reading it ends, gives plain violations, and no place that is none."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.adapters.formats.error_shapes import CODES, LISTS, MAPS, NO_ERRORS, PLACES, TEXTS
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.operation import Vocabulary
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import errors_at_places

NAMES = st.sampled_from(
    [
        *TEXTS,
        *CODES,
        *(one.member for one in PLACES),
        *sorted(LISTS),
        *sorted(MAPS),
        *sorted(NO_ERRORS),
        "a",
        "$.a",
        "0",
        "",
    ]
)
SENTENCES = (
    "must be one of 'a', 'b'",
    "missing field `x`",
    "{'a': ['b']}",
    "a.b[0]",
    "Path: $.a | L",
    "'x' is bad",
    "#/a",
)
INTEGERS = st.integers(-(2**63), 2**64 - 1)
"""Those that orjson reads as integers: of others it makes numbers with a fraction."""
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, st.text(max_size=20), st.sampled_from(SENTENCES)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=20,
)
DECLARED = Vocabulary((("body",), ("body", "a"), ("body", "items", "*", "b"), ("query", "q")))


@given(VALUES, VALUES)
def test_any_answer_can_be_read(answer: Any, sent: Any) -> None:
    exchange = Exchange(Request("POST", "/x/7", {"q": "1"}, {}, sent), 400, {}, b"")
    for error in errors_at_places(exchange, answer, DECLARED):
        assert not error.pointer or error.pointer.startswith("/")
        assert isinstance(error.message, str) and isinstance(error.code, str)
        orjson.dumps(dict(error.stated))


@pytest.mark.parametrize(
    "body",
    [
        # What was sent, and where it went, are no errors.
        {"error": "refused", "request": {"name": ["must be"]}, "input": {"name": ["is required"]}},
        {"message": "refused", "path": "/x/7", "trace": ["name is required"]},
        {"message": "{'name': 'required'} was received"},
    ],
)
def test_what_was_sent_is_no_error(body: Any) -> None:
    exchange = Exchange(Request("POST", "/x/7", {}, {}, {"name": "required"}), 400, {}, b"")
    assert [one.pointer for one in GenericFormat().read(exchange, body)] == [""]


def test_a_large_answer_is_read_in_part() -> None:
    exchange = Exchange(Request("POST", "/x", {}, {}, {}), 400, {}, b"")
    body = {"errors": [{"field": f"f{number}", "message": "is wrong"} for number in range(2000)]}
    assert len(GenericFormat().read(exchange, body)) == 64


@pytest.mark.parametrize(
    ("answer", "messages"),
    [
        # What exists, or what was sent, stands beside the sentence.
        (
            {"message": "Existing value", "object": {"id": 1, "name": "ann", "note": "must be tidied up"}},
            ["Existing value"],
        ),
        ({"message": "Refused", "data": {"name": "ann"}}, ["Refused"]),
        # Errors by the names of members do not repeat what was sent.
        ({"message": "Refused", "data": {"name": ["is required"]}}, ["is required"]),
        ({"message": "Refused", "detail": {"message": "bad name", "name": "ann"}}, ["bad name"]),
        ({"message": "Refused", "info": {"reason": "must be longer", "name": "ann"}}, ["must be longer"]),
    ],
)
def test_a_thing_beside_a_sentence_is_no_error(answer: Any, messages: list[str]) -> None:
    exchange = Exchange(Request("POST", "/x/7", {}, {}, {"name": "ann"}), 409, {}, b"")
    assert [one.message for one in GenericFormat().read(exchange, answer)] == messages


def test_the_message_of_odata_has_a_language_beside_its_value() -> None:
    sentence = "The specified name is empty.\nRequestId:7f390234-da4c\nTime:2026-11-28T01:29:24Z"
    answer: Any = {"odata.error": {"code": "NameEmpty", "message": {"lang": "en-US", "value": sentence}}}
    exchange = Exchange(Request("POST", "/x", {}, {}, {"name": ""}), 400, {}, b"")
    (error,) = GenericFormat().read(exchange, answer)
    assert (error.code, error.message) == ("NameEmpty", "The specified name is empty.")
