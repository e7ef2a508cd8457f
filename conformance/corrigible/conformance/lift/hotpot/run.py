"""Plays all questions under all strategies, one after the other, and writes the log as it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from . import log
from .play import VERSION, Rules, play
from .player import Player
from .question import DataFile, Question
from .record import Manifest, Sample, Strategy

MOST_ERRORS: Final = 5
"""In a row: then a provider is asked no more."""


def run(
    data: DataFile,
    questions: Sequence[Question],
    players: Sequence[Player],
    strategies: Sequence[Strategy],
    rules: Rules,
    *,
    seed: int,
    folder: Path,
    on_sample: Callable[[Sample], None] = lambda sample: None,
) -> log.Log:
    """Play what the log lacks, and return the whole. Raises UsageError where the log cannot be used."""
    manifest = Manifest(
        version=VERSION,
        data=data.sha256,
        questions=tuple(one.id for one in questions),
        agents={one.name: dict(one.identity) for one in players},
        strategies=tuple(strategies),
        evaluator=rules.evaluator,
        f1_threshold=rules.f1_threshold,
        trials=rules.trials,
        steps=rules.steps,
        seed=seed,
    )
    samples = list(log.begin(folder, manifest))
    known = {(one.question, one.agent, one.strategy) for one in samples}
    for player in players:
        errors = 0
        # Question by question, so that a run that is stopped has pairs.
        for question, strategy in ((q, s) for q in questions for s in strategies):
            if (question.id, player.name, strategy) in known or errors >= MOST_ERRORS:
                continue
            sample = play(question, player, strategy, rules)
            errors = errors + 1 if sample.outcome == "error" else 0
            log.append(folder, sample)
            samples.append(sample)
            on_sample(sample)
    return log.Log(manifest, tuple(samples))
