"""Errors in a list beside a sentence that says no more than which part of the request they are about."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request

SENT = Request("POST", "/runs", query={"path": "a"}, body={"runId": "r-1"})
MISSED = [{"field": "runId", "message": "Invalid input: expected string, received undefined"}]


def read(body: Any, request: Request = SENT) -> list[tuple[str, str]]:
    found = GenericFormat().read(Exchange(request, 400, {}, b""), body)
    return [(one.pointer, one.param) for one in found]


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("Invalid query parameters", "/query/runId"),
        ("Bad query string.", "/query/runId"),
        ("Invalid request body", "/body/runId"),
        ("Invalid request", "/body/runId"),
        ("Invalid query for the search of runs", "/body/runId"),
    ],
)
def test_the_sentence_says_in_which_part(sentence: str, place: str) -> None:
    assert read({"error": sentence, "issues": MISSED}) == [(place, "runId")]


def test_without_a_list_the_sentence_is_the_error() -> None:
    assert read({"error": "Invalid query parameters"})[0][0] != "/query/runId"
