"""One arm less another: by task first, then as papers do it, with episodes as if they were independent.

The clustered difference and its sign-flip test decide; they come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Final

import scipy

from corrigible.conformance.lift.log import Episode
from corrigible.conformance.lift.stats import estimate
from corrigible.conformance.lift.stats.group import POOLED, Group, name_of, observations, split


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first arm less the second, for one agent or for all of a group."""

    agent: str
    first: str
    second: str
    rates: tuple[estimate.Estimate, estimate.Estimate]
    difference: estimate.Difference
    """Over tasks that both arms tried. This is the result."""
    adjusted: float | None
    """Its p by Holm, over the agents of the group; None where it is not of the family."""
    without_both: tuple[str, ...]
    """Tasks that only one of the arms tried: they are in no difference."""
    errors: tuple[int, int]
    """Errors of each arm."""
    if_errors_failed: float | None
    """The difference if errors counted as failures."""
    table: estimate.Paired
    mcnemar: float
    newcombe: estimate.Estimate
    odds_ratio: float | None
    """None: unbounded or undefined."""
    fisher: float
    """As in the paper; it takes repeats of a task for independent."""
    clusterings: tuple[estimate.Clustering | None, estimate.Clustering | None]
    margin: float | None
    tie: float | None
    """p of two one-sided tests against the declared margin: small means that the arms differ by less."""
    tokens: estimate.Estimate | None
    """Tokens per success of the first over those of the second."""


def compare(
    agent: str, episodes: Sequence[Episode], first: str, second: str, *, seed: int, margin: float | None = None
) -> Comparison | None:
    """Compare two arms. None where one of them has no observation."""
    of_both_arms = [first_counts for first_counts in episodes if first_counts.arm in (first, second)]
    observed = observations(of_both_arms)
    first_counts, second_counts = estimate.counts(observed, first), estimate.counts(observed, second)
    if not first_counts.trials or not second_counts.trials:
        return None
    table = estimate.paired(observed, first, second)
    odds, p = estimate.fisher(first_counts, second_counts)
    shared = estimate.task_differences(observed, first, second)
    with_errors_failed = estimate.task_differences(observations(of_both_arms, failed=True), first, second)
    billed = all(episode.spent is not None for episode in of_both_arms if episode.outcome != "error")
    return Comparison(
        agent,
        first,
        second,
        (estimate.wilson(first_counts), estimate.wilson(second_counts)),
        estimate.clustered_difference(observed, first, second, seed=seed),
        None,
        tuple(sorted({name_of(episode) for episode in of_both_arms} - set(shared))),
        (_errors(of_both_arms, first), _errors(of_both_arms, second)),
        sum(with_errors_failed.values()) / len(with_errors_failed) if with_errors_failed else None,
        table,
        estimate.mcnemar(table),
        estimate.newcombe(table),
        odds,
        p,
        (_clustering(observed, first), _clustering(observed, second)),
        margin,
        estimate.equivalence(observed, first, second, margin=margin) if margin is not None else None,
        estimate.token_ratio(observed, first, second, seed=seed) if billed else None,
    )


def comparisons(
    group: Group, first: str, second: str, *, seed: int, margin: float | None = None, family: bool = True
) -> list[Comparison]:
    """Compare two arms for every agent, and first for all together where pooling makes sense.

    `family`: the comparisons were declared, and are adjusted for being as many as there are agents.
    """
    result = []
    for agent in (*((POOLED,) if group.poolable else ()), *group.agents):
        own = [episode for episode in group.episodes if agent in (POOLED, episode.agent)]
        if (comparison := compare(agent, own, first, second, seed=seed, margin=margin)) is not None:
            result.append(comparison)
    if not family:
        return result
    ps = {comparison.agent: comparison.difference.p for comparison in result if comparison.agent != POOLED}
    adjusted = estimate.holm({agent: p for agent, p in ps.items() if p is not None})
    return [replace(comparison, adjusted=adjusted.get(comparison.agent)) for comparison in result]


def _errors(episodes: Sequence[Episode], arm: str) -> int:
    return sum(episode.arm == arm and episode.outcome == "error" for episode in episodes)


def _clustering(observations: Sequence[estimate.Observation], arm: str) -> estimate.Clustering | None:
    inside = estimate.by_task(observation for observation in observations if observation.arm == arm)
    return estimate.clustering([[observation.success for observation in group] for group in inside.values()])


TRANSITIONS: Final = {
    "TT": "success to success",
    "TF": "success to failure",
    "FT": "failure to success",
    "FF": "failure to failure",
}
"""Right or wrong under the baseline, then under the strategy."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A task or question under one strategy of reflection."""

    task: str
    won: bool
    attempts: int
    tokens: int | None
    """None: no bill."""


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
class Strategies:
    """A strategy and the baseline, over all that both were played on."""

    table: estimate.Paired
    """Both, only the strategy, only the baseline, neither."""
    difference: estimate.Estimate
    test: McNemar
    tokens: dict[str, Mean]
    """By transition: tokens under the strategy."""
    pool_a: int
    """Those that the baseline solved after a failed attempt."""
    pool_a_solved: estimate.Estimate
    pool_a_attempts: tuple[estimate.Estimate, estimate.Estimate]
    """Of those that both solved: attempts of the baseline, and of the strategy; mean over tasks."""
    pool_b: int
    """Those that the baseline never solved."""
    pool_b_solved: estimate.Estimate
    pools: estimate.Paired
    """The table over pools A and B alone, as the paper's is."""


def mcnemar_test(table: estimate.Paired) -> McNemar:
    """Return both forms of the test: exact, and with the continuity correction of Edwards."""
    if not table.first_only + table.second_only:
        return McNemar(1.0, 1.0)
    chi_squared = (abs(table.first_only - table.second_only) - 1) ** 2 / (table.first_only + table.second_only)
    return McNemar(estimate.mcnemar(table), float(scipy.stats.chi2.sf(chi_squared, 1)))


def compare_strategies(pairs: Sequence[tuple[Tried, Tried]], *, seed: int = 0) -> Strategies:
    """Compare a strategy with the baseline, which stands first in a pair."""
    table = _table(pairs)
    pool_a = [(before, now) for before, now in pairs if before.won and before.attempts > 1]
    pool_b = [(before, now) for before, now in pairs if not before.won]
    both = [(before, now) for before, now in pool_a if now.won]
    return Strategies(
        table,
        estimate.newcombe(table),
        mcnemar_test(table),
        {name: _mean_tokens([now for before, now in pairs if transition(before, now) == name]) for name in TRANSITIONS},
        len(pool_a),
        estimate.wilson(estimate.Counts(len(both), len(pool_a))),
        (_attempts([before for before, _ in both], seed), _attempts([now for _, now in both], seed)),
        len(pool_b),
        estimate.wilson(estimate.Counts(sum(now.won for _, now in pool_b), len(pool_b))),
        _table([*pool_a, *pool_b]),
    )


def transition(before: Tried, now: Tried) -> str:
    """Return TT, TF, FT or FF."""
    return ("T" if before.won else "F") + ("T" if now.won else "F")


def _table(pairs: Sequence[tuple[Tried, Tried]]) -> estimate.Paired:
    counted = Counter(transition(before, now) for before, now in pairs)
    return estimate.Paired(counted["TT"], counted["FT"], counted["TF"], counted["FF"])


def _mean_tokens(tried: Sequence[Tried]) -> Mean:
    """Return the mean of tokens; unknown where there is no bill of one."""
    tokens = [one.tokens for one in tried if one.tokens is not None]
    if not tokens or len(tokens) < len(tried):
        return Mean(None, None, len(tried))
    return Mean(fmean(tokens), stdev(tokens) / len(tokens) ** 0.5 if len(tokens) > 1 else None, len(tokens))


def _attempts(tried: Sequence[Tried], seed: int) -> estimate.Estimate:
    tasks = split(tried, lambda one: one.task).values()
    return estimate.bootstrapped_mean(tuple(fmean(one.attempts for one in inside) for inside in tasks), seed=seed)
