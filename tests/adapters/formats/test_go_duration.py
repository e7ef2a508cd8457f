"""Sentences of Go about a text that is no length of time: nothing is missing, and nothing does not exist."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.reader.locate import locate_errors
from corrigible.adapters.formats.message.go_duration import is_unread_duration
from corrigible.adapters.formats.message.sent_values import says_absent
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.safety.time_span import GO_DURATION
from corrigible.schema.exchange import Exchange, Request

DECLARED = Vocabulary(tuple(("body", name) for name in ("ttl", "unit", "duration")))
TOLD = [
    'time: unknown unit " hour" in duration "1 hour"',
    "time: unknown unit hour in duration 1 hour",
    'time: missing unit in duration "1 hour"',
    'time: invalid duration "1 hour"',
    'cannot read ttl: time: invalid duration "1 hour"',
]
OTHER = [
    "unknown unit hour",
    "time: invalid date",
    "the duration is invalid",
    "missing unit in duration",
    "a long time: unknown",
]


@pytest.mark.parametrize("message", TOLD)
def test_a_text_that_go_does_not_read_is_neither_missing_nor_absent(message: str) -> None:
    exchange = Exchange(Request("POST", "/leases/l", {}, {}, {"ttl": "1 hour"}), 400, {}, b"")
    (error,) = locate_errors(GenericFormat().read(exchange, {"errors": [message]}), exchange, lambda: DECLARED)
    assert is_unread_duration(message) and not says_absent(message)
    assert error.pointer in ("/body/ttl", "") and not error.constraint
    assert error.stated == {"pattern": GO_DURATION}


@pytest.mark.parametrize("message", OTHER)
def test_other_sentences_state_nothing(message: str) -> None:
    assert not is_unread_duration(message)


@pytest.mark.parametrize(("message", "is_said"), [("unknown unit hour", False), ("unknown user u-1", True)])
def test_a_unit_that_is_not_known_is_nothing_that_could_exist(message: str, is_said: bool) -> None:
    assert says_absent(message) is is_said


@pytest.mark.parametrize("body", [{"ttl": "1 hour", "unit": "hour"}, {"unit": " hour", "ttl": "1 hour"}])
def test_the_text_is_meant_and_not_the_unit(body: Any) -> None:
    exchange = Exchange(Request("POST", "/leases/l", {}, {}, body), 400, {}, b"")
    errors = GenericFormat().read(exchange, {"errors": [TOLD[0]]})
    assert [one.pointer for one in locate_errors(errors, exchange, lambda: DECLARED)] in (["/body/ttl"], [""])
