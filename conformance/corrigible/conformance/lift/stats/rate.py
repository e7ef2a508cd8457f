"""Success rates: by agent and arm, by domain, by what a fix needs, by where an error was observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb
from statistics import fmean

from corrigible.conformance.lift.log.record import Episode

from .estimate import Clustering, Estimate, clustering, wilson
from .group import POOLED, Group, name_of, split
from .observation import Counts


@dataclass(frozen=True, slots=True)
class Rate:
    """Successes of an agent under an arm."""

    agent: str
    arm: str
    successes: int
    success: Estimate
    """With Wilson's interval, which takes episodes for independent."""
    tasks: int
    errors: int
    clustering: Clustering | None
    """What repeats of a task leave of n; None where tasks were tried once."""
    pass_k: tuple[float, ...]
    """Chance that k of the seeds tried all succeed, mean over tasks, for k = 1, 2, ..."""
    within: str = ""
    """The domain, need or origin that this is of; empty: of all."""


def rate(agent: str, arm: str, episodes: Sequence[Episode], within: str = "") -> Rate:
    """Count one cell. Errors are no observations."""
    observed = [episode for episode in episodes if episode.outcome != "error"]
    won = sum(episode.outcome == "success" for episode in observed)
    tasks = split(observed, name_of)
    outcomes = [[episode.outcome == "success" for episode in inside] for inside in tasks.values()]
    return Rate(
        agent,
        arm,
        won,
        wilson(Counts(won, len(observed))),
        len(tasks),
        len(episodes) - len(observed),
        clustering(outcomes) if outcomes else None,
        pass_k(outcomes),
        within,
    )


def pass_k(groups: Sequence[Sequence[bool]]) -> tuple[float, ...]:
    """Return pass^1, pass^2, ... as far as every task was tried: C(successes, k) / C(tries, k), mean over tasks."""
    most = min((len(group) for group in groups), default=0)
    return tuple(fmean(comb(sum(group), k) / comb(len(group), k) for group in groups) for k in range(1, most + 1))


def rates(group: Group) -> list[Rate]:
    """Return one rate for each agent and arm, and of all agents together where that means anything."""
    return list(_cells(group, group.episodes, ""))


def rates_by(group: Group, by: Callable[[Episode], str]) -> list[Rate]:
    """Return the rates within each part of the episodes."""
    return [one for name, inside in split(group.episodes, by).items() for one in _cells(group, inside, name)]


def _cells(group: Group, episodes: Sequence[Episode], within: str) -> Iterator[Rate]:
    cells: dict[tuple[str, str], list[Episode]] = {}
    for one in episodes:
        for name in (POOLED, one.agent):
            cells.setdefault((name, one.arm), []).append(one)
    for agent in (*((POOLED,) if group.poolable else ()), *group.agents):
        for arm in group.arms:
            if inside := cells.get((agent, arm)):
                # Several agents at one task are no repeats with other seeds.
                found = rate(agent, arm, inside, within)
                yield found if agent else replace(found, pass_k=())
