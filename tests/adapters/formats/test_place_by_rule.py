"""Sentences that give a rule and no place: the only text that breaks it is meant."""

from __future__ import annotations

from typing import Any

from corrigible.adapters.formats.place_by_rule import place_by_rule
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

NAMES = "names must match [a-zA-Z0-9][a-zA-Z0-9_.-]*: invalid argument"


def place(message: str, body: Any = None, query: Any = None) -> str:
    request = Request("POST", "/barns", query=query or {}, body=body)
    return place_by_rule(Violation(message=message), list(sent_places(request))).pointer


@rows(
    ("message", "body", "wanted"),
    [
        (NAMES, {"Name": "north barn", "Label": "a b"}, "/body/Name"),
        (NAMES, {"barn_name": "a b", "name": "ab"}, "/body/barn_name"),
        (NAMES, {"name": "ab"}, ""),
        (NAMES, {"name": "a b", "owner_name": "c d"}, ""),  # either is one
        (NAMES, {"label": "a b"}, ""),
        ("running it: names must match ^[a-z]+$.", {"name": "A"}, "/body/name"),
        ("names must match [a-z", {"name": "A"}, ""),
        ("names must match the owner", {"name": "A"}, ""),
        ("repository name must be lowercase", {"repo": "Other", "tag": "one"}, "/body/repo"),
        ("repository name must be in lower case", {"repo": "Other", "tag": "One"}, ""),
        ("repository name must be unique", {"repo": "Other"}, ""),
        ("name and positive size number are required", {"name": "a", "size": -4}, "/body/size"),
        ("name and positive size number are required", {"name": "a", "size": 4}, ""),
        ("name and positive size number are required", {"size": 0, "box": {"size": -1}}, ""),  # either is one
        ("a positive answer is required", {"size": -4}, ""),
    ],
)
def test_the_only_text_that_breaks_the_rule_is_meant(message: str, body: Any, wanted: str) -> None:
    assert place(message, body) == wanted


def test_the_rule_is_stated() -> None:
    sent = list(sent_places(Request("POST", "/barns", body={"name": "a b"})))
    error = place_by_rule(Violation(message=NAMES), sent)
    assert (error.constraint, error.stated) == ("pattern", {"pattern": "^(?:[a-zA-Z0-9][a-zA-Z0-9_.-]*)$"})
