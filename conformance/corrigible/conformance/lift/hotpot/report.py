"""A run in words and tables, with the figures of the paper: a pure function of the log.

Transitions, pools, tokens by transition, outcomes by first diagnosis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from corrigible.conformance.lift.hotpot.trial import Manifest, Sample, Strategy
from corrigible.conformance.lift.stats.comparison import TRANSITIONS, Mean, Strategies, Tried, compare_strategies
from corrigible.conformance.lift.stats.estimate import Counts, Estimate, Paired, wilson

UNREADABLE: Final = "(unreadable)"
BASELINES: Final[tuple[Strategy, ...]] = ("free", "none")
"""Whichever was played, in this order, is what the others are compared with."""


@dataclass(frozen=True, slots=True)
class Overall:
    """One strategy of one agent."""

    success: Estimate
    first_trial: int
    exact: int
    """Samples whose last answer matches exactly."""
    f1: float | None
    """Mean over samples, of the last answer."""
    trials: float | None
    """Mean of all samples."""
    unfinished: int
    """Trials without an answer."""
    all_trials: int
    without_verdict: int
    """Answers that do not match exactly and that no judge ruled on. Where a judge evaluates, it could not be read."""
    errors: int


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Samples whose first structured reflection named one type."""

    error_type: str
    n: int
    solved: int
    death_loops: int
    failed_otherwise: int


def overall(samples: Sequence[Sample]) -> Overall:
    """Return how a strategy did. Errors are counted apart, and in nothing else."""
    seen = [one for one in samples if one.outcome != "error"]
    last = [one.trials[-1] for one in seen]
    trials = [trial for one in seen for trial in one.trials]
    return Overall(
        wilson(Counts(sum(one.won for one in seen), len(seen))),
        sum(one.won and len(one.trials) == 1 for one in seen),
        sum(trial.exact for trial in last),
        fmean(trial.f1 for trial in last) if last else None,
        fmean(len(one.trials) for one in seen) if seen else None,
        sum(trial.answer is None for trial in trials),
        len(trials),
        sum(trial.judged is None and bool(trial.answer) and not trial.exact for trial in trials),
        len(samples) - len(seen),
    )


def is_death_loop(sample: Sample) -> bool:
    """Whether a sample failed with one and the same type named in all of its structured reflections, two at least."""
    named = sample.error_types
    return sample.outcome == "failure" and len(named) > 1 and len(set(named)) == 1 and bool(named[0])


def diagnoses(samples: Sequence[Sample]) -> list[Diagnosis]:
    """Return outcomes by the type that was diagnosed first, the most frequent first."""
    named = [(one.error_types[0] or UNREADABLE, one) for one in samples if one.outcome != "error" and one.error_types]
    counted = Counter(name for name, _ in named)
    result = []
    for name, n in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        inside = [one for first, one in named if first == name]
        solved, loops = sum(one.won for one in inside), sum(map(is_death_loop, inside))
        result.append(Diagnosis(name, n, solved, loops, n - solved - loops))
    return result


def pairs_of(baseline: Sequence[Sample], strategy: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return the samples of the same question. A question with an error on either side is left out."""
    before = {one.question: one for one in baseline if one.outcome != "error"}
    return [(before[one.question], one) for one in strategy if one.outcome != "error" and one.question in before]


def compare(pairs: Sequence[tuple[Sample, Sample]], *, seed: int = 0) -> Strategies:
    """Compare a strategy with the baseline; tokens are those that were written."""
    return compare_strategies([(_tried(before), _tried(now)) for before, now in pairs], seed=seed)


def _tried(sample: Sample) -> Tried:
    written = sample.tokens.output if sample.tokens is not None else None
    return Tried(sample.question, sample.won, len(sample.trials), written)


def render(manifest: Manifest, samples: Sequence[Sample]) -> str:
    """Return the report."""
    return "\n".join(_lines(manifest, samples)) + "\n"


def _lines(manifest: Manifest, samples: Sequence[Sample]) -> Iterator[str]:
    yield f"HotpotQA, {len(manifest.questions)} questions (data {manifest.data[:12]}), seed {manifest.seed}"
    right = {
        "exact": "exact match",
        "f1": f"F1 of {manifest.f1_threshold:g} or more",
        "judge": "exact match, or equivalent to the agent's own model as judge",
    }[manifest.evaluator]
    yield f"right: {right}; at most {manifest.trials} trials of {manifest.steps} steps"
    for agent, identity in manifest.agents.items():
        by_strategy = {
            strategy: [one for one in samples if (one.agent, one.strategy) == (agent, strategy)]
            for strategy in manifest.strategies
        }
        yield ""
        yield agent
        if "script" in identity:
            yield "  ! a script that knows the answers: it shows that the loop works, and nothing of language models"
        elif identity.get("fake"):
            yield "  ! a fake provider: nothing of this is about a model"
        yield from _overall(by_strategy)
        if manifest.evaluator == "judge":
            unread = sum(overall(inside).without_verdict for inside in by_strategy.values())
            yield f"  verdicts of the judge that could not be read, and count as wrong: {unread}"
        for strategy, inside in by_strategy.items():
            yield from _diagnoses(strategy, inside)
        baseline = next((name for name in BASELINES if by_strategy.get(name)), None)
        for strategy, inside in by_strategy.items():
            if baseline is not None and strategy != baseline:
                yield from _comparison(baseline, by_strategy[baseline], strategy, inside, manifest.seed)


def _overall(by_strategy: Mapping[Strategy, Sequence[Sample]]) -> Iterator[str]:
    heads = f"{'n':>6}{'right':>22}{'at once':>9}{'exact':>7}{'F1':>7}{'trials':>8}{'no answer':>15}{'errors':>8}"
    yield f"  {'strategy':<12}{heads}"
    for strategy, samples in by_strategy.items():
        total = overall(samples)
        unfinished = f"{total.unfinished} of {total.all_trials}"
        yield (
            f"  {strategy:<12}{total.success.n:>6}{_share(total.success):>22}{total.first_trial:>9}{total.exact:>7}"
            f"{_number(total.f1, '.2f'):>7}{_number(total.trials, '.2f'):>8}{unfinished:>15}{total.errors:>8}"
        )


def _diagnoses(strategy: str, samples: Sequence[Sample]) -> Iterator[str]:
    table = diagnoses(samples)
    if not table:
        return
    yield f"  {strategy}: outcomes by the error type that was diagnosed first, of {sum(one.n for one in table)}"
    for one in table:
        yield (
            f"    {one.error_type:<22}{one.n:>4}: solved {one.solved}, death loop {one.death_loops},"
            f" failed otherwise {one.failed_otherwise}"
        )
    made = [reflection for one in samples for trial in one.trials for reflection in trial.reflections]
    unreadable = sum(one.form == "structured" and not one.error_type for one in made)
    repeated, lifted = sum(one.repeated for one in made), sum(one.lifted for one in made)
    yield (
        f"    structured reflections {sum(one.form == 'structured' for one in made)}: unreadable {unreadable},"
        f" type repeated {repeated}, lifted for that {lifted}"
    )


def _comparison(
    baseline: str, before: Sequence[Sample], strategy: str, now: Sequence[Sample], seed: int
) -> Iterator[str]:
    pairs = pairs_of(before, now)
    if not pairs:
        return
    result = compare(pairs, seed=seed)
    yield f"  {baseline} to {strategy}, {len(pairs)} questions"
    yield f"    transitions: {_transitions(result.table)}"
    yield (
        f"    success {_share(result.difference, '+.0%')}; McNemar p {result.test.exact:.3g} exact,"
        f" {result.test.corrected:.3g} chi-squared with continuity correction"
    )
    shown = ", ".join(f"{name} {_mean(result.tokens[name])}" for name in TRANSITIONS)
    yield f"    tokens written under {strategy}, mean (standard error): {shown}"
    ours, theirs = result.pool_a_attempts[1], result.pool_a_attempts[0]
    yield (
        f"    pool A ({baseline} right after a failed trial): {result.pool_a}; {strategy} right"
        f" {_share(result.pool_a_solved)}; trials where both are: {baseline} {_number(theirs.value, '.2f')},"
        f" {strategy} {_number(ours.value, '.2f')}"
    )
    yield f"    pool B ({baseline} never right): {result.pool_b}; {strategy} right {_share(result.pool_b_solved)}"
    if result.pools.n < result.table.n:
        yield f"    transitions within the pools: {_transitions(result.pools)}"
    yield "    (the pools are made of the baseline's own run: chance in it works against the baseline in pool B)"


def _transitions(table: Paired) -> str:
    return f"TT {table.both}, TF {table.second_only}, FT {table.first_only}, FF {table.neither}"


def _share(estimate: Estimate, form: str = ".0%") -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"{estimate.value:{form}} ({estimate.low:{form}} to {estimate.high:{form}})"


def _number(value: float | None, form: str) -> str:
    return format(value, form) if value is not None else "-"


def _mean(mean: Mean) -> str:
    if mean.value is None:
        return "-"
    return f"{mean.value:.0f}" + (f" ({mean.error:.0f})" if mean.error is not None else "")
