"""A refusal said in another way gets the same answer, and never a harmful one."""

from __future__ import annotations

import pytest

from .case import Recorded
from .judge import judge
from .replay import replay
from .said_otherwise import TELLINGS, in_other_words, told, under_other_names, with_other_quotes
from .test_strangers import NAMES, stranger

_EVERY: int = 4
"""One case in so many is told otherwise."""
_LEAST: float = 0.95
"""The share of the answers that stay right. Some sentences of validators have no other words."""


@pytest.mark.parametrize("how", TELLINGS)
def test_what_is_right_stays_right(how: str) -> None:
    lost, harmful, tried = [], [], 0
    for name in NAMES:
        server = stranger(name)
        known = [case for case in server.cases if not case.missed and not server.is_rpc]
        for case in known[::_EVERY]:
            other = told(case, TELLINGS[how])
            if other is None:
                continue
            verdict = judge(case, replay(name, server, other))
            tried += 1
            harmful += [f"{name}: {case.name}"] if verdict.harm else []
            lost += [] if verdict.right else [f"{name}: {case.name}"]
    assert harmful == []
    assert tried > 100
    assert len(lost) <= tried * (1 - _LEAST), (len(lost), tried, lost)


def recorded(answer: str, body: str = '{"name": "a"}') -> Recorded:
    return Recorded(
        method="POST", target="/x?page=1", headers=[], body=body, status=400, response_headers=[], response_body=answer
    )


def test_names_of_what_was_sent_stay() -> None:
    assert under_other_names(recorded('{"message": "No.", "name": 1}')) == '{"meldung0": "No.", "name": 1}'
    assert under_other_names(recorded('{"message": "No."}', '{"message": "hi"}')) is None
    assert under_other_names(recorded("No.")) is None


def test_other_words_and_quotes() -> None:
    assert in_other_words(recorded('{"message": "name must be a text"}')) == '{"message": "name needs to be a text"}'
    assert in_other_words(recorded('{"message": "No."}')) is None
    quoted = with_other_quotes(recorded('{"message": "no \'a\'"}'))
    assert quoted is not None and "\\u201ca\\u201d" in quoted
    assert with_other_quotes(recorded('{"message": "don\'t"}')) is None
