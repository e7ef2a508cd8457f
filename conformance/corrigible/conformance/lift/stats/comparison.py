"""One arm less another: by task first, then as papers do it, with episodes as if they were independent.

The clustered difference and its sign-flip test decide; they come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrigible.conformance.lift.log import Episode
from corrigible.conformance.lift.stats.estimate import (
    Clustering,
    Difference,
    Estimate,
    Observation,
    Paired,
    by_task,
    clustered_difference,
    clustering,
    counts,
    equivalence,
    fisher,
    holm,
    mcnemar,
    newcombe,
    paired,
    task_differences,
    token_ratio,
    wilson,
)
from corrigible.conformance.lift.stats.group import POOLED, Group, name_of, observations


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first arm less the second, for one agent or for all of a group."""

    agent: str
    first: str
    second: str
    rates: tuple[Estimate, Estimate]
    difference: Difference
    """Over tasks that both arms tried. This is the result."""
    adjusted: float | None
    """Its p by Holm, over the agents of the group; None where it is not of the family."""
    without_both: tuple[str, ...]
    """Tasks that only one of the arms tried: they are in no difference."""
    errors: tuple[int, int]
    """Errors of each arm."""
    if_errors_failed: float | None
    """The difference if errors counted as failures."""
    table: Paired
    mcnemar: float
    newcombe: Estimate
    odds_ratio: float | None
    """None: unbounded or undefined."""
    fisher: float
    """As in the paper; it takes repeats of a task for independent."""
    clusterings: tuple[Clustering | None, Clustering | None]
    margin: float | None
    tie: float | None
    """p of two one-sided tests against the declared margin: small means that the arms differ by less."""
    tokens: Estimate | None
    """Tokens per success of the first over those of the second."""


def compare(
    agent: str, episodes: Sequence[Episode], first: str, second: str, *, seed: int, margin: float | None = None
) -> Comparison | None:
    """Compare two arms. None where one of them has no observation."""
    of_both_arms = [first_counts for first_counts in episodes if first_counts.arm in (first, second)]
    observed = observations(of_both_arms)
    first_counts, second_counts = counts(observed, first), counts(observed, second)
    if not first_counts.trials or not second_counts.trials:
        return None
    table = paired(observed, first, second)
    odds, p = fisher(first_counts, second_counts)
    shared = task_differences(observed, first, second)
    with_errors_failed = task_differences(observations(of_both_arms, failed=True), first, second)
    billed = all(episode.spent is not None for episode in of_both_arms if episode.outcome != "error")
    return Comparison(
        agent,
        first,
        second,
        (wilson(first_counts), wilson(second_counts)),
        clustered_difference(observed, first, second, seed=seed),
        None,
        tuple(sorted({name_of(episode) for episode in of_both_arms} - set(shared))),
        (_errors(of_both_arms, first), _errors(of_both_arms, second)),
        sum(with_errors_failed.values()) / len(with_errors_failed) if with_errors_failed else None,
        table,
        mcnemar(table),
        newcombe(table),
        odds,
        p,
        (_clustering(observed, first), _clustering(observed, second)),
        margin,
        equivalence(observed, first, second, margin=margin) if margin is not None else None,
        token_ratio(observed, first, second, seed=seed) if billed else None,
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
    adjusted = holm({agent: p for agent, p in ps.items() if p is not None})
    return [replace(comparison, adjusted=adjusted.get(comparison.agent)) for comparison in result]


def _errors(episodes: Sequence[Episode], arm: str) -> int:
    return sum(episode.arm == arm and episode.outcome == "error" for episode in episodes)


def _clustering(observations: Sequence[Observation], arm: str) -> Clustering | None:
    inside = by_task(observation for observation in observations if observation.arm == arm)
    return clustering([[observation.success for observation in group] for group in inside.values()])
