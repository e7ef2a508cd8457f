"""The figures of the paper, from samples: transitions, pools, tokens by transition, outcomes by first diagnosis.

Knows: samples. Does not know: files, how a figure is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

from corrigible.conformance.lift.stats.estimate import Estimate, bootstrapped_mean, mcnemar, newcombe, wilson
from corrigible.conformance.lift.stats.observation import Counts, Paired

from .record import Sample, Strategy

TRANSITIONS: Final = ("TT", "TF", "FT", "FF")
"""Right or wrong under the baseline, then under the strategy."""
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
class McNemar:
    """Two-sided p of McNemar's test."""

    exact: float
    corrected: float
    """By chi-squared with continuity correction, as the paper's p is."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error; None where there is too little."""

    value: float | None
    error: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Samples whose first structured reflection named one type."""

    error_type: str
    n: int
    solved: int
    death_loops: int
    failed_otherwise: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A strategy and the baseline, over the questions that both were played on."""

    table: Paired
    """Both, only the strategy, only the baseline, neither."""
    difference: Estimate
    test: McNemar
    tokens: dict[str, Mean]
    """By transition: tokens that the model wrote under the strategy."""
    pool_a: int
    """Questions that the baseline solved after a failed trial."""
    pool_a_solved: Estimate
    pool_a_trials: tuple[Estimate, Estimate]
    """Of those that both solved: trials of the baseline, and of the strategy."""
    pool_b: int
    """Questions that the baseline never solved."""
    pool_b_solved: Estimate
    pools: Paired
    """The table over pools A and B alone, as the paper's is."""


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


def mcnemar_test(table: Paired) -> McNemar:
    """Return both forms of the test: exact, and with the continuity correction of Edwards (statsmodels)."""
    if not table.first_only + table.second_only:
        return McNemar(1.0, 1.0)
    from statsmodels.stats.contingency_tables import mcnemar as by_chi_squared

    cells = [[table.both, table.second_only], [table.first_only, table.neither]]
    return McNemar(mcnemar(table), float(by_chi_squared(cells, exact=False, correction=True).pvalue))


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


def transition(before: Sample, now: Sample) -> str:
    """Return TT, TF, FT or FF."""
    return ("T" if before.won else "F") + ("T" if now.won else "F")


def pairs_of(baseline: Sequence[Sample], strategy: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return the samples of the same question. A question with an error on either side is left out."""
    before = {one.question: one for one in baseline if one.outcome != "error"}
    return [(before[one.question], one) for one in strategy if one.outcome != "error" and one.question in before]


def compare(pairs: Sequence[tuple[Sample, Sample]], *, seed: int = 0) -> Comparison:
    """Compare a strategy with the baseline."""
    table = _table(pairs)
    pool_a = [(before, now) for before, now in pairs if before.won and len(before.trials) > 1]
    pool_b = [(before, now) for before, now in pairs if not before.won]
    both = [(before, now) for before, now in pool_a if now.won]
    return Comparison(
        table,
        newcombe(table),
        mcnemar_test(table),
        {name: mean_tokens([now for b, now in pairs if transition(b, now) == name]) for name in TRANSITIONS},
        len(pool_a),
        wilson(Counts(len(both), len(pool_a))),
        (
            bootstrapped_mean([len(before.trials) for before, _ in both], seed=seed),
            bootstrapped_mean([len(now.trials) for _, now in both], seed=seed),
        ),
        len(pool_b),
        wilson(Counts(sum(now.won for _, now in pool_b), len(pool_b))),
        _table([*pool_a, *pool_b]),
    )


def _table(pairs: Sequence[tuple[Sample, Sample]]) -> Paired:
    counted = Counter(transition(before, now) for before, now in pairs)
    return Paired(counted["TT"], counted["FT"], counted["TF"], counted["FF"])


def mean_tokens(samples: Sequence[Sample]) -> Mean:
    """Return the mean of the tokens that were written; unknown where a sample has no bill."""
    tokens = [one.tokens.output for one in samples if one.tokens is not None]
    if not tokens or len(tokens) < len(samples):
        return Mean(None, None, len(samples))
    return Mean(fmean(tokens), stdev(tokens) / len(tokens) ** 0.5 if len(tokens) > 1 else None, len(tokens))
