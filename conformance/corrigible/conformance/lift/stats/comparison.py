"""One arm less another: by task first, then as papers do it, with episodes as if they were independent.

The clustered difference and its sign-flip test decide; they come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrigible.conformance.lift.log.record import Episode

from .estimate import (
    Clustering,
    Difference,
    Estimate,
    clustered_difference,
    clustering,
    equivalence,
    fisher,
    holm,
    mcnemar,
    newcombe,
    token_ratio,
    wilson,
)
from .group import POOLED, Group, name_of, observations
from .observation import Observation, Paired, by_task, counts, paired, task_differences


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
    mine = [one for one in episodes if one.arm in (first, second)]
    seen = observations(mine)
    one, other = counts(seen, first), counts(seen, second)
    if not one.trials or not other.trials:
        return None
    table = paired(seen, first, second)
    odds, p = fisher(one, other)
    shared = task_differences(seen, first, second)
    harsh = task_differences(observations(mine, failed=True), first, second)
    billed = all(episode.spent is not None for episode in mine if episode.outcome != "error")
    return Comparison(
        agent,
        first,
        second,
        (wilson(one), wilson(other)),
        clustered_difference(seen, first, second, seed=seed),
        None,
        tuple(sorted({name_of(episode) for episode in mine} - set(shared))),
        (_errors(mine, first), _errors(mine, second)),
        sum(harsh.values()) / len(harsh) if harsh else None,
        table,
        mcnemar(table),
        newcombe(table),
        odds,
        p,
        (_clustering(seen, first), _clustering(seen, second)),
        margin,
        equivalence(seen, first, second, margin=margin) if margin is not None else None,
        token_ratio(seen, first, second, seed=seed) if billed else None,
    )


def comparisons(
    group: Group, first: str, second: str, *, seed: int, margin: float | None = None, family: bool = True
) -> list[Comparison]:
    """Compare two arms for every agent, and first for all together where pooling makes sense.

    `family`: the comparisons were declared, and are adjusted for being as many as there are agents.
    """
    found = []
    for agent in (*((POOLED,) if group.poolable else ()), *group.agents):
        mine = [one for one in group.episodes if agent in (POOLED, one.agent)]
        if (made := compare(agent, mine, first, second, seed=seed, margin=margin)) is not None:
            found.append(made)
    if not family:
        return found
    ps = {one.agent: one.difference.p for one in found if one.agent != POOLED}
    adjusted = holm({agent: p for agent, p in ps.items() if p is not None})
    return [replace(one, adjusted=adjusted.get(one.agent)) for one in found]


def _errors(episodes: Sequence[Episode], arm: str) -> int:
    return sum(one.arm == arm and one.outcome == "error" for one in episodes)


def _clustering(seen: Sequence[Observation], arm: str) -> Clustering | None:
    inside = by_task(one for one in seen if one.arm == arm)
    return clustering([[one.success for one in group] for group in inside.values()])
