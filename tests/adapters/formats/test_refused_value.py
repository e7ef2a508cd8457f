"""Errors that have the name of a member and a value behind it: about the value, unless the sentence only goes on."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.reader.locate import locate_errors
from corrigible.adapters.formats.refused_value import with_value_behind_name
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.budget import Budget, Exhausted, within
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request

DECLARED = Vocabulary((("body",), ("body", "type"), ("body", "key_type"), ("body", "size")))


def read(message: str, body: Any) -> list[tuple[str, str]]:
    exchange = Exchange(Request("POST", "/keys/k", {}, {}, body), 400, {}, b"")
    errors = GenericFormat().read(exchange, {"errors": [message]})
    return [(one.pointer, one.constraint) for one in locate_errors(errors, exchange, lambda: DECLARED, {"name": "k"})]


@pytest.mark.parametrize(
    "message",
    [
        "unknown key type aes256",
        "unknown key type aes256.",
        "unknown key type: aes256",
        'unknown key type "aes256"',
        "unknown key 'type': 'aes256'",
        "unrecognized option type aes256, see the manual",
    ],
)
def test_a_value_behind_the_name_is_what_is_refused(message: str) -> None:
    assert read(message, {"type": "aes256"}) == [("/body/type", "enum")]


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("unknown key type", {"type": "aes256"}),
        ('unknown field "type"', {"type": "aes256"}),
        ("unknown field type in body", {"type": "aes256"}),
        ("unknown field type in body", {"type": "in"}),
        ("unknown field type, did you mean kind", {"type": "aes256"}),
        ("unknown field type aes2567", {"type": "aes256"}),  # another word
        ("unknown key type none", {"type": "aes256", "size": 3}),
    ],
)
def test_without_a_value_behind_it_the_member_is_unknown(message: str, body: Any) -> None:
    assert read(message, body) == [("/body/type", "additionalProperties")]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"key_type": "aes256"}, [("/body/key_type", "enum")]),
        ({"key_type": "aes256", "type": "x"}, [("/body/key_type", "enum")]),
        ({"kind": "aes256", "type": "x"}, [("/body/kind", "enum")]),
        ({"kind": "aes256", "size": "aes256", "type": "x"}, [("", "enum")]),  # either may be meant
    ],
)
def test_the_value_of_another_member_is_not_that_of_the_named_one(body: Any, wanted: list[tuple[str, str]]) -> None:
    assert read("unknown key type aes256", body) == wanted


def test_what_is_listed_are_values_that_are_known() -> None:
    exchange = Exchange(Request("POST", "/keys/k", {}, {}, {"type": "aes"}), 400, {}, b"")
    errors = GenericFormat().read(exchange, {"error": "unknown key type 'aes', must be one of 'rsa', 'dsa'"})
    (error,) = locate_errors(errors, exchange, lambda: DECLARED)
    assert (error.pointer, error.constraint, error.stated) == ("/body/type", "enum", {"enum": ["rsa", "dsa"]})


def test_the_places_that_are_looked_at_are_counted() -> None:
    request = Request("POST", "/", body={"type": "x", "all": ["y"] * 1000})
    error = Violation(message="unknown key type z", pointer="/body/type", constraint="additionalProperties")

    def looking() -> Generator[Any, None, None]:
        yield with_value_behind_name(error, request)

    assert next(within(Budget(300), looking())) is error
    with pytest.raises(Exhausted):
        next(within(Budget(200), looking()))
