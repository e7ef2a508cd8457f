"""What the figures lack, and why: errors, and planned episodes that were not played."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from corrigible.conformance.lift.log.record import Episode

from .group import Group, name_of, split


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Episodes that are errors for one reason: no observations."""

    why: str
    n: int
    arms: dict[str, int]
    """By arm: a reason that hits one arm more than another bends a comparison."""
    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    key: str
    """One of them."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A task without a single observation, for an agent under an arm."""

    task: str
    agent: str
    arm: str
    why: str


def error_groups(group: Group) -> list[ErrorGroup]:
    """Return the errors by reason, the most frequent first."""
    errors = [episode for episode in group.episodes if episode.outcome == "error"]
    error_groups = [
        _error_group(reason, inside) for reason, inside in split(errors, lambda episode: alike(episode.why)).items()
    ]
    return sorted(error_groups, key=lambda error_group: (-error_group.n, error_group.why))


def alike(reason: str) -> str:
    """Return a reason without what differs from one episode to the next."""
    return re.sub(r"\d+(?:\.\d+)?", "N", reason.split("\n")[0])[:160] or "no reason given"


def _error_group(reason: str, episodes: Sequence[Episode]) -> ErrorGroup:
    return ErrorGroup(
        reason,
        len(episodes),
        dict(sorted(Counter(episode.arm for episode in episodes).items())),
        tuple(sorted({episode.agent for episode in episodes})),
        tuple(sorted({name_of(episode) for episode in episodes})),
        episodes[0].key,
    )


def dropped(group: Group) -> list[Dropped]:
    """Return what the log should hold, tasks times agents times arms, and has no observation of."""
    tasks = sorted({name_of(episode) for episode in group.episodes})
    episodes = split(group.episodes, lambda episode: "\n".join((name_of(episode), episode.agent, episode.arm)))
    out: list[Dropped] = []
    for task in tasks:
        for agent in group.agents:
            for arm in group.arms:
                inside = episodes.get(f"{task}\n{agent}\n{arm}", [])
                if all(episode.outcome == "error" for episode in inside):
                    out.append(Dropped(task, agent, arm, alike(inside[0].why) if inside else "not played"))
    return out
