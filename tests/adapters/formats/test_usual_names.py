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
