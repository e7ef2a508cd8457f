"""A path before or behind a sentence is its place, where the request has it."""

from __future__ import annotations

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.text_shapes import path_in_prose
from corrigible.schema.exchange import Exchange, Request

REQUEST = Request(
    "POST",
    "/boxes",
    query={"page": "x"},
    body={"box": {"sizes": "small", "lid": {}}, "labels": [{"text": 7}], "file": "notes.txt", "wide": {"a": 1}},
)


@pytest.mark.parametrize(
    ("message", "place", "sentence"),
    [
        ("must be a list (at /box/sizes)", "/body/box/sizes", "must be a list"),
        ("must be a list at 'box.sizes'", "/body/box/sizes", "must be a list"),
        ("Not a text in labels[0].text.", "/body/labels/0/text", "Not a text"),
        ("Validation failed: box.sizes - not a list", "/body/box/sizes", "not a list"),
        ('Field "box.sizes" was rejected. It is no list.', "/body/box/sizes", "It is no list."),
        ("The `/body/box/sizes` property must be array", "/body/box/sizes", "must be array"),
        ("is required (at /box/lid/colour)", "/body/box/lid/colour", "is required"),
        ("is required (at /colour)", "/body/colour", "is required"),
    ],
)
def test_a_told_path(message: str, place: str, sentence: str) -> None:
    assert path_in_prose(message, REQUEST)[:2] == (place, sentence)


@pytest.mark.parametrize(
    "message",
    [
        "cannot read 'notes.txt'",
        "see https://example.com/box/sizes",
        "no such thing at /boxes",
        "unknown shelf (at /shelf/colour)",
        "version 1.2.3 is too old",
        "is too wide (at /colour)",
        "/box/sizes",
        "query.from.length must be 1",
    ],
)
def test_what_is_no_place_of_the_request(message: str) -> None:
    assert path_in_prose(message, REQUEST).pointer == ""


def read(message: str) -> list[tuple[str, str]]:
    exchange = Exchange(REQUEST, 400, {}, b"")
    return [(one.pointer, one.written_text) for one in GenericFormat().read(exchange, {"message": message})]


def test_a_text_with_a_part_that_has_no_place_is_one_error() -> None:
    assert len(read("box.sizes: not a list; please try again later")) == 1


@pytest.mark.parametrize(
    ("message", "place", "sentence"),
    [
        ("labels[7] is not of type integer.", "/body/labels", "labels[7] is not of type integer."),
        ("box[sizes] is not of type integer.", "/body/labels", "box[sizes] is not of type integer."),
    ],
)
def test_a_path_inside_of_a_known_place(message: str, place: str, sentence: str) -> None:
    answer = {
        "message": "Invalid parameter(s): labels",
        "data": {"params": {"labels": message}, "details": {"labels": {"message": message}}},
    }
    found = GenericFormat().read(Exchange(REQUEST, 400, {}, b""), answer)
    assert [(one.pointer, one.message) for one in found] == [(place, sentence)]
    assert [one.written_text for one in found] == [message]
