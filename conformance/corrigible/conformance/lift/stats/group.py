"""Groups of episodes, one for each kind of agent and each start, with their rates, efforts, and what they lack.

Scripts are never pooled with models, nor starts. Knows: the log's records. Does not know: how figures are shown.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from statistics import fmean
from typing import Final, get_args

from corrigible.conformance.lift.agents.prompt import tokens
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import Episode, Manifest, Turn
from corrigible.conformance.lift.plan import Start
from corrigible.conformance.lift.stats import estimate
from corrigible.conformance.lift.stats.estimate import split as split
from corrigible.schema.exchange import Json

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


def observations(episodes: Iterable[Episode], *, failed: bool = False) -> list[estimate.Observation]:
    """Return the observations. `failed`: count errors as failures, to see how much they matter."""
    return [
        estimate.Observation(
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


@dataclass(frozen=True, slots=True)
class Rate:
    """Successes of an agent under an arm."""

    agent: str
    arm: str
    successes: int
    success: estimate.Estimate
    """With Wilson's interval, which takes episodes for independent."""
    tasks: int
    errors: int
    clustering: estimate.Clustering | None
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
        estimate.wilson(estimate.Counts(won, len(observed))),
        len(tasks),
        len(episodes) - len(observed),
        estimate.clustering(outcomes) if outcomes else None,
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


def answer_tokens(episodes: Sequence[Episode]) -> float | None:
    """Return the tokens of the first refused answer: the mean over tasks; None if no call was refused."""
    means = []
    for inside in split(episodes, name_of).values():
        firsts = [shown for episode in inside if (shown := _first_refusal(episode)) is not None]
        if firsts:
            means.append(fmean(map(tokens, firsts)))
    return fmean(means) if means else None


def _first_refusal(episode: Episode) -> str | None:
    """Return the first answer that refused, as the agent saw it; None if the first call was accepted."""
    made = calls(episode)
    if not made or made[0].accepted or made[0].shown is None:
        return None
    return json.dumps(made[0].shown, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Effort:
    """Of an agent under an arm."""

    agent: str
    arm: str
    refused: int
    """Episodes whose first attempt was refused."""
    recovered: estimate.Estimate
    """The share of those that succeeded; Wilson."""
    attempts: estimate.Estimate
    """Attempts of those episodes that succeeded: mean over tasks, tasks resampled."""
    retries: estimate.Estimate
    """Attempts after the first refusal or success, of all episodes: mean over tasks, tasks resampled."""
    by_attempt: tuple[int, ...]
    """Successes that took 1, 2, ... attempts."""
    n: int
    tokens: int | None
    """As billed, of all episodes; None: there is no bill."""
    tokens_per_success: float | None
    """All tokens, those of failures too, for each success."""
    answer_tokens: float | None = None
    """Of the first refused answer, as the arm shows it: mean over tasks."""


def effort(agent: str, arm: str, episodes: Sequence[Episode], *, seed: int) -> Effort:
    """Return what one cell took. Errors are no observations."""
    observed = [episode for episode in episodes if episode.outcome != "error"]
    rejected = [episode for episode in observed if (made_calls := calls(episode)) and not made_calls[0].accepted]
    won = [episode for episode in observed if episode.outcome == "success"]
    counts = Counter(episode.attempts for episode in won)
    billed = [episode.spent for episode in observed if episode.spent is not None]
    whole = len(billed) == len(observed) and bool(billed)
    return Effort(
        agent,
        arm,
        len(rejected),
        estimate.wilson(estimate.Counts(sum(episode.outcome == "success" for episode in rejected), len(rejected))),
        _over_tasks(won, 0, seed),
        _over_tasks(observed, 0 if any(episode.start == "refusal" for episode in observed) else 1, seed),
        tuple(counts[n] for n in range(1, max((episode.attempts for episode in observed), default=0) + 1)),
        len(observed),
        sum(usage.input + usage.output for usage in billed) if whole else None,
        estimate.tokens_per_success(observations(observed), arm) if whole else None,
        answer_tokens(observed),
    )


def efforts(group: Group, *, seed: int) -> list[Effort]:
    """Return the effort of every agent and arm."""
    return [effort(agent, arm, inside, seed=seed) for agent, arm, inside in group.cells()]


def _over_tasks(episodes: Sequence[Episode], less: int, seed: int) -> estimate.Estimate:
    tasks = split(episodes, name_of).values()
    means = [fmean(max(episode.attempts - less, 0) for episode in inside) for inside in tasks]
    return estimate.bootstrapped_mean(tuple(means), seed=seed)


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
    found = [
        ErrorGroup(
            reason,
            len(inside),
            dict(sorted(Counter(episode.arm for episode in inside).items())),
            tuple(sorted({episode.agent for episode in inside})),
            tuple(sorted({name_of(episode) for episode in inside})),
            inside[0].key,
        )
        for reason, inside in split(errors, lambda episode: alike(episode.why)).items()
    ]
    return sorted(found, key=lambda one: (-one.n, one.why))


def alike(reason: str) -> str:
    """Return a reason without what differs from one episode to the next."""
    return re.sub(r"\d+(?:\.\d+)?", "N", reason.split("\n")[0])[:160] or "no reason given"


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
