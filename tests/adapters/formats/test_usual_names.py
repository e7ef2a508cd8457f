"""Answers whose members nobody knows are read by what stands in them."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request

REQUEST = Request("POST", "/things", body={"size": "x", "box": {"width": "y"}, "name": "n"})


def read(body: Any) -> list[tuple[str, str]]:
    return [(one.pointer, one.written_text) for one in GenericFormat().read(Exchange(REQUEST, 400, {}, b""), body)]


@pytest.mark.parametrize(
    "body",
    [
        {"meldung": "The colour is unknown"},
        {"meldung": "No such colour", "kennung": 17},
        {"antwort": {"grund": "The colour is unknown", "stufe": "hoch"}},
        {"meldungen": ["The colour is unknown", "The form is unknown"], "kennung": 17},
    ],
)
def test_a_sentence_under_an_unknown_name(body: Any) -> None:
    found = read(body)
    assert found
    assert all("colour" in text or "form" in text for _, text in found)
    assert not any("meldung" in pointer or "grund" in pointer for pointer, _ in found)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"meldung": "That is no number", "stelle": "box.width"}, "/body/box/width"),
        ({"meldung": "That is no number", "stelle": "/size"}, "/body/size"),
        ({"meldung": "That is no number", "stelle": ["box", "width"]}, "/body/box/width"),
        ([{"grund": "That is no number", "ort": "size", "art": "type_error"}], "/body/size"),
    ],
)
def test_a_place_under_an_unknown_name(body: Any, place: str) -> None:
    assert place in [pointer for pointer, _ in read(body)]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"colour": "can't be blank"}, "/body/colour"),
        ({"colour": ["is required"]}, "/body/colour"),
        ({"first_name": ["First name is required"]}, "/body/first_name"),
        ({"size": "Sizes come as numbers"}, "/body/size"),
    ],
)
def test_the_name_of_a_place_stays_one(body: Any, place: str) -> None:
    assert [pointer for pointer, _ in read(body)] == [place]


def test_what_has_a_usual_sentence_is_read_as_it_is() -> None:
    assert [text for _, text in read({"message": "Bad size", "erklaerung": "A long text about sizes in general"})] == [
        "Bad size"
    ]
