"""Episodes as statistics see them, and how they are paired.

Knows: tasks, arms, agents, seeds, outcomes. Does not know: requests, files, reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Observation:
    """How one episode ended. One that crashed is no observation."""

    task: str
    arm: str
    agent: str
    seed: int
    success: bool
    attempts: int = 1
    tokens: int | None = None
    """As billed by the provider; None where there is none."""


class Counts(NamedTuple):
    """k successes in n episodes."""

    successes: int
    trials: int


class Paired(NamedTuple):
    """The two arms of the same (task, agent, seed): how often both, only one or neither succeeded."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def n(self) -> int:
        return sum(self)


def counts(observations: Iterable[Observation], arm: str) -> Counts:
    """Count the successes of an arm."""
    successes = [observation.success for observation in observations if observation.arm == arm]
    return Counts(sum(successes), len(successes))


def paired(observations: Iterable[Observation], first: str, second: str) -> Paired:
    """Put the episodes of two arms side by side. What one arm alone has is left out."""
    by_key: dict[tuple[str, str, int], dict[str, bool]] = {}
    for observation in observations:
        if observation.arm in (first, second):
            by_key.setdefault((observation.task, observation.agent, observation.seed), {})[observation.arm] = (
                observation.success
            )
    table = [0, 0, 0, 0]
    for arms in by_key.values():
        if len(arms) == 2:
            table[2 * (not arms[first]) + (not arms[second])] += 1
    return Paired(*table)


def by_task(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """Return the one partition that every interval and every test uses: a cluster is a task."""
    clusters: dict[str, list[Observation]] = {}
    for observation in observations:
        clusters.setdefault(observation.task, []).append(observation)
    return dict(sorted(clusters.items()))


def task_differences(observations: Iterable[Observation], first: str, second: str) -> dict[str, float]:
    """Return, for each task that both arms tried, the success rate of the first less that of the second."""
    out: dict[str, float] = {}
    for task, inside in by_task(observations).items():
        rates = [[observation.success for observation in inside if observation.arm == arm] for arm in (first, second)]
        if all(rates):
            out[task] = fmean(rates[0]) - fmean(rates[1])
    return out
