"""The scripted agents that throw dice: random repair, and noise in who does as told."""

from __future__ import annotations

import json

import pytest

from corrigible.conformance.lift.agents.protocol import Briefing, Send
from corrigible.conformance.lift.agents.scripted import SCRIPTED
from corrigible.conformance.lift.agents.scripted.noisy_literal import NoisyLiteral
from corrigible.schema.exchange import Json

from .talk import QUICHE, REPLACE, cooked, moves, seen


def test_random_repair_changes_one_thing_and_not_always_the_same() -> None:
    made = [moves(SCRIPTED["random"], Briefing("", "a", QUICHE), [seen()], seed)[1] for seed in range(40)]
    sent = [json.dumps(move.request.document()) for move in made if isinstance(move, Send)]
    assert len(set(sent)) > 10
    notes = {move.note for move in made if isinstance(move, Send)}
    assert notes >= {"dropped a value", "duplicated an element", "changed a value"}


def test_random_repair_falls_otherwise_for_another_task_and_not_for_another_id() -> None:
    def sent(prompt: str) -> list[Json]:
        talk = Briefing("", prompt, QUICHE)
        made = moves(SCRIPTED["random"], talk, [seen()] * 4)
        return [move.request.document() for move in made if isinstance(move, Send)]

    assert sent("refund charge ch_1xYz please") == sent("refund charge ch_9AbC please")
    assert sent("refund charge ch_1xYz please") != sent("cancel charge ch_1xYz please")


def test_noise_errs_as_often_as_it_says() -> None:
    erred = 0
    for seed in range(400):
        move = moves(NoisyLiteral(0.3), Briefing("", "a", QUICHE), [seen(REPLACE)], seed)[1]
        assert isinstance(move, Send)
        erred += move.request != cooked(1, name="cream")
    assert 90 < erred < 150


@pytest.mark.parametrize(("p", "right"), [(0.0, True), (1.0, False)])
def test_noise_at_its_ends(p: float, right: bool) -> None:
    for seed in range(20):
        move = moves(NoisyLiteral(p), Briefing("", "a", QUICHE), [seen(REPLACE)], seed)[1]
        assert isinstance(move, Send) and (move.request == cooked(1, name="cream")) is right
