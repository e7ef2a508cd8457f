"""The scripted agent with a known error rate."""

from __future__ import annotations

import pytest

from corrigible.conformance.lift.agents.protocol import Briefing, Send
from corrigible.conformance.lift.agents.scripted.follower import noisy_literal, seeded_random

from .talk import QUICHE, REPLACE, cooked, moves, seen


def test_chance_follows_the_task_and_not_the_ids_in_its_prompt() -> None:
    def drawn(prompt: str) -> float:
        return seeded_random(Briefing("", prompt, QUICHE), 0, "noisy-literal").random()

    assert drawn("refund charge ch_1xYz please") == drawn("refund charge ch_9AbC please")
    assert drawn("refund charge ch_1xYz please") != drawn("cancel charge ch_1xYz please")


def test_noise_errs_as_often_as_it_says() -> None:
    erred = 0
    for seed in range(400):
        move = moves(noisy_literal(0.3), Briefing("", "a", QUICHE), [seen(REPLACE)], seed)[1]
        assert isinstance(move, Send)
        erred += move.request != cooked(1, name="cream")
    assert 90 < erred < 150


@pytest.mark.parametrize(("p", "right"), [(0.0, True), (1.0, False)])
def test_noise_at_its_ends(p: float, right: bool) -> None:
    for seed in range(20):
        move = moves(noisy_literal(p), Briefing("", "a", QUICHE), [seen(REPLACE)], seed)[1]
        assert isinstance(move, Send) and (move.request == cooked(1, name="cream")) is right
