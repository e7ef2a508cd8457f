"""Values that a sentence calls by the words behind their names."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.place_by_initials import place_by_initials
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.schema.exchange import Request


def place(message: str, body: Any) -> str:
    return place_by_initials(message, list(sent_places(Request("POST", "/things", body=body))))


@pytest.mark.parametrize(
    ("message", "body", "wanted"),
    [
        ("error parsing check-and-set parameter", {"options": {"cas": "latest"}, "data": {}}, "/body/options/cas"),
        ("Time-To-Live must be positive", {"TTL": -1}, "/body/TTL"),
        ("error parsing check-and-set parameter", {"data": {}}, ""),
        ("error parsing check-and-set parameter", {"a": {"cas": 1}, "b": {"cas": 2}}, ""),
        ("the read-only flag", {"ro": True}, ""),  # two letters are the initials of too much
        ("time to live must be positive", {"ttl": -1}, ""),  # any three words in a row would do
        ("see http://api.test/x-y-z-docs", {"xyz": 1}, ""),
        ("a-b-c-d-e-f-g", {"abcde": 1}, ""),
    ],
)
def test_a_term_with_hyphens_is_about_the_only_value_with_its_initials(message: str, body: Any, wanted: str) -> None:
    assert place(message, body) == wanted


@pytest.mark.parametrize("text", ["a-", "-a", "a-b-c ", "-"])
def test_long_texts_are_read_at_their_beginning(text: str) -> None:
    assert place(text * 100_000, {"abc": 1}) in ("", "/body/abc")
