"""Groups of episodes: one for each kind of agent and each start. Scripts are never pooled with models, nor starts.

Knows: the log's records. Does not know: how figures are estimated or shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, get_args

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.log.record import Episode, Manifest, Turn
from corrigible.conformance.lift.plan import Start
from corrigible.schema.exchange import Json

from .observation import Observation

STARTS: Final = get_args(Start)
KINDS: Final = ("model", "external", "scripted")
"""In the order in which reports show them."""
POOLED: Final = ""
"""The name of all agents of a group together."""


@dataclass(frozen=True)
class Group:
    """All episodes of one kind of agent that start alike. No slots: properties are cached."""

    kind: str
    episodes: tuple[Episode, ...]
    fake: frozenset[str] = frozenset()
    """Agents that called a fake provider and no model."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The model of each agent that has one: agents differ by strategy as well."""
    start: str = "wish"

    @cached_property
    def agents(self) -> tuple[str, ...]:
        return tuple(sorted({episode.agent for episode in self.episodes}))

    @cached_property
    def arms(self) -> tuple[str, ...]:
        present = {episode.arm for episode in self.episodes}
        return (*(arm.value for arm in Arm if arm.value in present), *sorted(present - set(Arm)))

    @cached_property
    def observed(self) -> tuple[Episode, ...]:
        """Those that are observations: a crash is none."""
        return tuple(episode for episode in self.episodes if episode.outcome != "error")

    @property
    def poolable(self) -> bool:
        """Whether pooling makes sense: it does for several models; scripts are chosen to differ."""
        return self.kind != "scripted" and len(self.agents) > 1

    def cells(self) -> list[tuple[str, str, list[Episode]]]:
        """Return (agent, arm, episodes), errors too, in the order of tables."""
        by_cell: dict[tuple[str, str], list[Episode]] = {(a, arm): [] for a in self.agents for arm in self.arms}
        for episode in self.episodes:
            by_cell[episode.agent, episode.arm].append(episode)
        return [(agent, arm, inside) for (agent, arm), inside in by_cell.items() if inside]


def name_of(episode: Episode) -> str:
    """Return the task's name in the whole log: ids are unique within a domain only."""
    return f"{episode.domain}/{episode.task}"


def observations(episodes: Iterable[Episode], *, failed: bool = False) -> list[Observation]:
    """Return the observations. `failed`: count errors as failures, to see how much they matter."""
    return [
        Observation(
            name_of(episode),
            episode.arm,
            episode.agent,
            episode.seed,
            episode.outcome == "success",
            episode.attempts,
            episode.spent.input + episode.spent.output if episode.spent is not None else None,
        )
        for episode in episodes
        if failed or episode.outcome != "error"
    ]


def latest(episodes: Sequence[Episode]) -> tuple[Episode, ...]:
    """Return the last episode of every (task, arm, agent, seed, start): a log may hold those of older code."""
    last = {
        (
            episode.domain,
            episode.task,
            episode.arm,
            episode.agent,
            episode.strategy,
            episode.seed,
            episode.start,
        ): episode
        for episode in episodes
    }
    last_ids = {id(episode) for episode in last.values()}
    return tuple(episode for episode in episodes if id(episode) in last_ids)


def groups(episodes: Sequence[Episode], manifests: Sequence[Manifest]) -> tuple[Group, ...]:
    """Return the groups that have episodes, in the order in which they are shown. Episodes are sorted."""
    identity: dict[str, Mapping[str, Json]] = {}
    for manifest in manifests:
        identity |= {name: document.get("identity") or {} for name, document in manifest.agents.items()}
    fake_agents = {name for name, document in identity.items() if document.get("fake")}
    fake = frozenset(fake_agents | {episode.agent for episode in episodes if episode.agent.startswith("fake ")})
    models = {name: str(document["model"]) for name, document in identity.items() if document.get("model")}
    ordered = sorted(
        episodes,
        key=lambda episode: (episode.domain, episode.task, episode.agent, episode.strategy, episode.arm, episode.seed),
    )
    parts = {
        (kind, start): tuple(episode for episode in ordered if (episode.kind, episode.start) == (kind, start))
        for kind in KINDS
        for start in STARTS
    }
    return tuple(Group(kind, inside, fake, models, start) for (kind, start), inside in parts.items() if inside)


def calls(episode: Episode) -> list[Turn]:
    """Return the turns that were attempts; steps and look-ups go before them."""
    return [turn for turn in episode.turns if not turn.step]


def split(episodes: Iterable[Episode], by: Callable[[Episode], str]) -> dict[str, list[Episode]]:
    """Return the episodes, grouped by a key and sorted by it."""
    parts: dict[str, list[Episode]] = {}
    for episode in episodes:
        parts.setdefault(by(episode), []).append(episode)
    return dict(sorted(parts.items()))
