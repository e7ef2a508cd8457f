"""The few fields of a gRPC call that a sentence may be about which names none of them as it is called."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.call_fields import words_of
from corrigible.adapters.formats.likely_fields import likely_fields, number_told
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.schema.exchange import Request
from tests._support.rows import rows

DECLARED = Vocabulary(
    (
        ("body", "crateId"),
        ("body", "minVersion"),
        ("body", "defaultSealing"),
        ("body", "nearSealing"),
        ("body", "params"),
        ("body", "nearSealing", "text"),
        ("body", "defaultSealing", "text"),
        ("body", "defaultSealing", "provider"),
    )
)


def asked(message: str, body: Any) -> list[str]:
    request = Request("/depot.v1.Depot/CreateCrate", "", body=body)
    return likely_fields(message, request, DECLARED, list(sent_places(request)))


SEALED: Any = {"nearSealing": {"text": "{lid: 1}"}, "defaultSealing": {"text": "{lid: 0}", "provider": "wax"}}
INSIDE = ["/body/defaultSealing/text"]


@pytest.mark.parametrize(
    ("body", "message", "is_inside"),
    [
        (SEALED, "invalid base_provider: Factor for scope Lid cannot be zero", True),
        (SEALED, "invalid base_provider: lids must be positive", True),
        ({"defaultSealing": {"text": '{"lid": -2}'}}, "the lid is negative", True),
        ({"defaultSealing": {"text": "lid=0,box=1"}}, "lid must be greater than zero", True),
        # another word, another number, several, nothing said of a number
        (SEALED, "invalid base_provider: Factor for scope Box cannot be zero", False),
        ({"defaultSealing": {"text": "{lid: 10}"}}, "base_provider: lid cannot be zero", False),
        ({"defaultSealing": {"text": "{lid: 0.5}"}}, "base_provider: lid cannot be zero", False),
        (SEALED | {"nearSealing": {"text": "{lid: 0}"}}, "base_provider: lid cannot be zero", False),
        (SEALED, "invalid base_provider: lid is wrong", False),
    ],
)
def test_a_number_inside_a_text_is_what_a_sentence_says_of_it(body: Any, message: str, *, is_inside: bool) -> None:
    assert (asked(message, body) == INSIDE) is is_inside


@pytest.mark.parametrize(
    ("body", "message", "places"),
    [
        # never what was not sent, though a word is shared
        ({"params": "x"}, "Detected a deprecated argument of this version.", ["/body/params"]),
        ({"params": "x", "crateId": "c"}, "unsupported parameter in this version", ["/body/params", "/body/crateId"]),
        # of many, what names the thing is none of them
        (
            {"crateId": "c", "params": "x", **SEALED, "nearSealing": {}},
            "unknown argument",
            [],
        ),
        (
            {"crateId": "c", "params": "x", "defaultSealing": {"text": "x", "provider": "wax"}},
            "unknown argument",
            ["/body/params", "/body/defaultSealing/text", "/body/defaultSealing/provider"],
        ),
        ({"params": "x"}, "the minimum version is not met", ["/body/minVersion"]),
    ],
)
def test_a_field_that_is_not_taken_was_sent(body: Any, message: str, places: list[str]) -> None:
    assert asked(message, body) == places


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("A deprecated label. Please upgrade to the latest version of depotctl.", False),
        ("Update your client to a newer version", False),
        ("only the latest version of depotctl may do this", False),
        ("the version is not the latest", True),
        ("cannot upgrade to version 3", True),
        ("update the version", True),
    ],
)
def test_advice_about_the_program_that_calls_is_about_no_field(message: str, *, told: bool) -> None:
    assert ("version" in words_of(message)) is told


@rows(
    ("body", "message", "places"),
    [
        ({"seal": {"text": "{lid: 9}"}}, "Insufficient writeable lids in the lidset", ["/body/seal/text"]),
        ({"lids": 9, "crateId": 9}, "not enough lids", ["/body/lids"]),
        ({"lidCount": "9"}, "there are not enough lids available", ["/body/lidCount"]),
        ({"memory": 4096}, "insufficient memory: try later", ["/body/memory"]),
        # of something else, of several, of none; who it is
        ({"boxes": 9}, "not enough lids", []),
        ({"lids": 9, "seal": {"text": "{lid: 9}"}}, "not enough lids", []),
        ({"lids": 0}, "not enough lids", []),
        ({"lids": ["a"]}, "not enough lids", []),
        ({"lidId": 9}, "not enough lids", []),
        ({"lids": 9}, "insufficient permissions for lids", []),
        ({"lids": 9}, "the lids are wrong", []),
    ],
)
def test_what_there_is_not_enough_of_is_the_number_of_it_that_was_sent(
    body: Any, message: str, places: list[str]
) -> None:
    request = Request("/depot.v1.Depot/CreateCrate", "", body=body)
    assert number_told(message, list(sent_places(request))) == places
