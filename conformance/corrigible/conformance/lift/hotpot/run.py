"""Plays all questions under all strategies: trials of an actor until its answer is right, reflections in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from corrigible.conformance.lift.hotpot import log
from corrigible.conformance.lift.hotpot.game import UNREADABLE, DataFile, Question, Wiki, f1, is_exact, read_action
from corrigible.conformance.lift.hotpot.log import Manifest, Reflection, Sample, Step, Strategy, Tokens, Trial
from corrigible.conformance.lift.hotpot.player import Player, Said, View, read_reflection, read_verdict

VERSION: Final = 1
_LONGEST: Final = 4000
"""Characters of one step or reflection that are kept and shown."""


class PlayerFailed(Exception):
    """A provider gave no answer: the sample is no observation."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a sample is played and judged."""

    evaluator: Literal["exact", "f1", "judge"] = "exact"
    f1_threshold: float = 0.8
    trials: int = 5
    steps: int = 7


def play(question: Question, player: Player, strategy: Strategy, rules: Rules) -> Sample:
    """Play a question to its end. The last trial gets no reflection: nothing could use it."""
    purse = _Purse()
    trials: list[Trial] = []
    memory: list[Reflection] = []
    try:
        for number in range(1, rules.trials + 1):
            trial = _trial(View(question, number, (), tuple(memory)), player, rules, purse)
            if not trial.correct and number < rules.trials:
                view = View(question, number, trial.steps, tuple(memory), (*trials, trial))
                made = _reflections(view, player, strategy, purse)
                memory.extend(made)
                trial = trial.model_copy(update={"reflections": made})
            trials.append(trial)
            if trial.correct:
                break
    except PlayerFailed as problem:
        return Sample(
            question=question.id, agent=player.name, strategy=strategy, outcome="error", why=str(problem),
            trials=tuple(trials), tokens=purse.tokens,
        )  # fmt: skip
    return Sample(
        question=question.id,
        agent=player.name,
        strategy=strategy,
        outcome="success" if trials[-1].correct else "failure",
        trials=tuple(trials),
        tokens=purse.tokens,
    )


class _Purse:
    """Adds up tokens. One answer without a bill leaves the sum unknown."""

    def __init__(self) -> None:
        self.tokens: Tokens | None = Tokens()

    def paid(self, said: Said) -> str:
        if self.tokens is not None and said.tokens is not None:
            self.tokens = Tokens(
                input=self.tokens.input + said.tokens.input, output=self.tokens.output + said.tokens.output
            )
        else:
            self.tokens = None
        return said.text


def _trial(view: View, player: Player, rules: Rules, purse: _Purse) -> Trial:
    wiki = Wiki(view.question)
    steps: list[Step] = []
    answer: str | None = None
    for _ in range(rules.steps):
        text = purse.paid(player.act(View(view.question, view.number, tuple(steps), view.memory)))
        action = read_action(text)
        if action is None:
            steps.append(Step(text=text.strip()[:_LONGEST], observation=UNREADABLE))
            continue
        written = text[: action.end].strip()[-_LONGEST:]
        if action.verb == "Finish":
            steps.append(Step(text=written))
            answer = action.argument
            break
        steps.append(Step(text=written, observation=wiki.observe(action)))
    return _evaluated(view.question, tuple(steps), answer, player, rules)


def _evaluated(question: Question, steps: tuple[Step, ...], answer: str | None, player: Player, rules: Rules) -> Trial:
    """Judge an answer. A judge is asked only about what does not match; an unreadable verdict counts for wrong."""
    exact = answer is not None and is_exact(answer, question.answer)
    score = f1(answer, question.answer) if answer is not None else 0.0
    judged: bool | None = None
    correct = exact
    if rules.evaluator == "f1":
        correct = score >= rules.f1_threshold
    elif rules.evaluator == "judge" and not exact and answer:
        judged = read_verdict(player.judge(question.text, question.answer, answer).text)
        correct = judged is True
    return Trial(steps=steps, answer=answer, correct=correct, exact=exact, f1=score, judged=judged)


def _reflections(view: View, player: Player, strategy: Strategy, purse: _Purse) -> tuple[Reflection, ...]:
    if strategy == "none":
        return ()
    if strategy == "free":
        return (_free(purse.paid(player.reflect(view, "free"))),)
    made = read_reflection(purse.paid(player.reflect(view, "structured")))
    before = next((one for one in reversed(view.memory) if one.form == "structured"), None)
    repeated = before is not None and bool(made.error_type) and made.error_type == before.error_type
    made = made.model_copy(update={"repeated": repeated, "text": made.text[:_LONGEST]})
    if strategy == "adaptive" and repeated:
        lifted = _free(purse.paid(player.reflect(view, "lifted"))).model_copy(update={"lifted": True})
        return made, lifted
    return (made,)


def _free(text: str) -> Reflection:
    return Reflection(form="free", text=text.strip()[:_LONGEST])


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
