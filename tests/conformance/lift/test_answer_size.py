"""Tokens of refused answers: of the first one, by arm, each task alike."""

from __future__ import annotations

from corrigible.conformance.lift.agents.prompt import tokens
from corrigible.conformance.lift.stats.group import answer_tokens

from .logs import episode, turn


def test_tokens_are_estimated_offline() -> None:
    assert tokens("Hello, world") == 3
    assert tokens("") == 0


def test_the_first_refused_answer_counts() -> None:
    short, long = {"error": "no"}, {"error": "no " * 50}
    one = episode(turns=[turn(shown=short), turn(shown=long), turn(accepted=True, shown=None)])
    assert answer_tokens([one]) == tokens('{"error":"no"}')


def test_each_task_counts_alike() -> None:
    few = episode(task="a", turns=[turn(shown="x")])
    many = [episode(task="b", turns=[turn(shown="x y z")]) for _ in range(5)]
    assert answer_tokens([few, *many]) == (tokens('"x"') + tokens('"x y z"')) / 2


def test_a_call_that_was_accepted_has_no_refusal() -> None:
    assert answer_tokens([episode(turns=[turn(accepted=True, shown=None), turn(shown="x")])]) is None
