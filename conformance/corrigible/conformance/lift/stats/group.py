"""Groups of episodes: one for each kind of agent. Scripts are never pooled with models.

Knows: the log's records. Does not know: how figures are estimated or shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.log.record import Episode, Manifest, Turn
from corrigible.schema.exchange import Json

from .observation import Observation

KINDS: Final = ("model", "external", "scripted")
"""In the order in which reports show them."""
POOLED: Final = ""
"""The name of all agents of a group together."""


@dataclass(frozen=True)
class Group:
    """All episodes of one kind of agent. No slots: properties are cached."""

    kind: str
    episodes: tuple[Episode, ...]
    fake: frozenset[str] = frozenset()
    """Agents that called a fake provider and no model."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The model of each agent that has one: agents differ by strategy as well."""

    @cached_property
    def agents(self) -> tuple[str, ...]:
        return tuple(sorted({one.agent for one in self.episodes}))

    @cached_property
    def arms(self) -> tuple[str, ...]:
        present = {one.arm for one in self.episodes}
        return (*(arm.value for arm in Arm if arm.value in present), *sorted(present - set(Arm)))

    @cached_property
    def observed(self) -> tuple[Episode, ...]:
        """Those that are observations: a crash is none."""
        return tuple(one for one in self.episodes if one.outcome != "error")

    @property
    def poolable(self) -> bool:
        """Whether pooling makes sense: it does for several models; scripts are chosen to differ."""
        return self.kind != "scripted" and len(self.agents) > 1

    def cells(self) -> list[tuple[str, str, list[Episode]]]:
        """Return (agent, arm, episodes), errors too, in the order of tables."""
        by_cell: dict[tuple[str, str], list[Episode]] = {(a, arm): [] for a in self.agents for arm in self.arms}
        for one in self.episodes:
            by_cell[one.agent, one.arm].append(one)
        return [(agent, arm, inside) for (agent, arm), inside in by_cell.items() if inside]


def name_of(episode: Episode) -> str:
    """Return the task's name in the whole log: ids are unique within a domain only."""
    return f"{episode.domain}/{episode.task}"


def observations(episodes: Iterable[Episode], *, failed: bool = False) -> list[Observation]:
    """Return the observations. `failed`: count errors as failures, to see how much they matter."""
    return [
        Observation(
            name_of(one),
            one.arm,
            one.agent,
            one.seed,
            one.outcome == "success",
            one.attempts,
            one.spent.input + one.spent.output if one.spent is not None else None,
        )
        for one in episodes
        if failed or one.outcome != "error"
    ]


def latest(episodes: Sequence[Episode]) -> tuple[Episode, ...]:
    """Return the last episode of every (task, arm, agent, seed): a log may hold those of older code and packs."""
    last = {(one.domain, one.task, one.arm, one.agent, one.strategy, one.seed): one for one in episodes}
    kept = {id(one) for one in last.values()}
    return tuple(one for one in episodes if id(one) in kept)


def groups(episodes: Sequence[Episode], manifests: Sequence[Manifest]) -> tuple[Group, ...]:
    """Return the groups that have episodes, in the order in which they are shown. Episodes are sorted."""
    identity: dict[str, Mapping[str, Json]] = {}
    for one in manifests:
        identity |= {name: document.get("identity") or {} for name, document in one.agents.items()}
    named = {name for name, document in identity.items() if document.get("fake")}
    fake = frozenset(named | {one.agent for one in episodes if one.agent.startswith("fake ")})
    models = {name: str(document["model"]) for name, document in identity.items() if document.get("model")}
    ordered = sorted(episodes, key=lambda one: (one.domain, one.task, one.agent, one.strategy, one.arm, one.seed))
    parts = {kind: tuple(one for one in ordered if one.kind == kind) for kind in KINDS}
    return tuple(Group(kind, inside, fake, models) for kind, inside in parts.items() if inside)


def calls(episode: Episode) -> list[Turn]:
    """Return the turns that were attempts; steps and look-ups go before them."""
    return [turn for turn in episode.turns if not turn.step]


def split(episodes: Iterable[Episode], by: Callable[[Episode], str]) -> dict[str, list[Episode]]:
    """Return the episodes, grouped by a key and sorted by it."""
    parts: dict[str, list[Episode]] = {}
    for one in episodes:
        parts.setdefault(by(one), []).append(one)
    return dict(sorted(parts.items()))
