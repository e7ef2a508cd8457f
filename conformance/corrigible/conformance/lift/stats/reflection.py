"""Reflection strategies of models, by the figures of the paper that found "structure snowballing".

Death loops, what was diagnosed first, status flips from one strategy to another with McNemar's test, tokens by flip,
and two pools: what the baseline got right after a failure (attempts count), and what it never got right (success
counts). Pairs are the same (model, task, arm, seed) under two strategies. The paper's code and logs:
https://github.com/hongxuzhou/agentic_llm_structured_self_critique
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from corrigible.conformance.lift.log.record import Episode, Reflection

from .estimate import Estimate, bootstrapped_mean, mcnemar, newcombe, wilson
from .group import Group, name_of, split
from .observation import Counts, Paired

_BASELINES: Final = ("free", "none")
"""Whichever is there first is what the others are compared with."""


@dataclass(frozen=True, slots=True)
class DegenerateLoop:
    """Structured reflections of an agent under an arm."""

    agent: str
    strategy: str
    arm: str
    episodes: int
    """That a reflection was made in."""
    loops: Estimate
    """The share of those which failed with one category named in all of two or more reflections."""
    first: dict[str, int]
    """What was diagnosed first, by category."""
    repeated: int
    """Corrections made once more though they had not helped."""
    lifted: int
    """Times that the structure was lifted for that."""
    unreadable: int
    """Structured answers that could not be read."""


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """Pairs that went the same way from one strategy to the other."""

    name: str
    n: int
    tokens: float | None
    """Mean tokens of the episodes under the second strategy; None: no bill."""


@dataclass(frozen=True, slots=True)
class StrategyComparison:
    """Two strategies of one model, under all arms together."""

    model: str
    baseline: str
    strategy: str
    table: Paired
    """Both, only the strategy, only the baseline, neither."""
    difference: Estimate
    """The strategy's success rate less the baseline's; Newcombe."""
    mcnemar: float
    flips: tuple[OutcomeChange, ...]
    late: int
    """Pool A: pairs where the baseline succeeded after a first failure."""
    late_solved: Estimate
    late_attempts: tuple[Estimate, Estimate]
    """Of those that both solved: attempts of the baseline, and of the strategy; mean over tasks."""
    never: int
    """Pool B: pairs where the baseline failed."""
    never_solved: Estimate
    """The strategy's success rate there; Wilson."""


def degenerate_loops(group: Group) -> list[DegenerateLoop]:
    """Return what reflections came to, for every agent and arm that made any."""
    return [loop for agent, arm, inside in group.cells() if (loop := _degenerate_loop(agent, arm, inside)).episodes]


def _degenerate_loop(agent: str, arm: str, episodes: Sequence[Episode]) -> DegenerateLoop:
    reflected = [(episode, list(reflections(episode))) for episode in episodes if episode.outcome != "error"]
    reflected = [(episode, reflections) for episode, reflections in reflected if reflections]
    all_reflections = [reflection for _, inside in reflected for reflection in inside]
    first = Counter(inside[0].category or "(free text)" for _, inside in reflected)
    structured = [
        (episode, inside)
        for episode, inside in reflected
        if any(reflection.form == "structured" for reflection in inside)
    ]
    return DegenerateLoop(
        agent,
        next((episode.strategy for episode in episodes if episode.strategy), ""),
        arm,
        len(reflected),
        wilson(Counts(sum(is_degenerate_loop(episode) for episode, _ in structured), len(structured))),
        dict(sorted(first.items(), key=lambda pair: (-pair[1], pair[0]))),
        sum(reflection.repeated for reflection in all_reflections),
        sum(reflection.lifted for reflection in all_reflections),
        sum(reflection.form == "structured" and not reflection.category for reflection in all_reflections),
    )


def reflections(episode: Episode) -> Iterator[Reflection]:
    """Return the reflections of an episode, in order."""
    for turn in episode.turns:
        yield from turn.reflections
    yield from episode.closing


def is_degenerate_loop(episode: Episode) -> bool:
    """Whether an episode failed with one and the same category named in all of its reflections, two at least."""
    categories = [reflection.category for reflection in reflections(episode) if reflection.form == "structured"]
    return episode.outcome == "failure" and len(categories) > 1 and len(set(categories)) == 1 and bool(categories[0])


def compare_strategies(group: Group, *, seed: int) -> list[StrategyComparison]:
    """Return, for each model that was run with several strategies, each of them against the baseline."""
    result: list[StrategyComparison] = []
    for model, episodes_of_model in split(
        group.observed, lambda episode: group.models.get(episode.agent, episode.agent)
    ).items():
        by_strategy = split(episodes_of_model, lambda episode: episode.strategy or "none")
        baseline = next((baseline for baseline in _BASELINES if baseline in by_strategy), None)
        if baseline is None:
            continue
        for name, episodes in by_strategy.items():
            if name != baseline and (pairs := _pairs(by_strategy[baseline], episodes)):
                result.append(_strategy_comparison(model, baseline, name, pairs, seed))
    return result


def _pairs(before: Sequence[Episode], after: Sequence[Episode]) -> list[tuple[Episode, Episode]]:
    before_by_key = {(name_of(episode), episode.arm, episode.seed): episode for episode in before}
    keyed = [((name_of(episode), episode.arm, episode.seed), episode) for episode in after]
    return [(before_by_key[key], episode) for key, episode in keyed if key in before_by_key]


def _strategy_comparison(
    model: str, baseline: str, strategy: str, pairs: Sequence[tuple[Episode, Episode]], seed: int
) -> StrategyComparison:
    by_change: dict[str, list[Episode]] = {
        name: [now for before, now in pairs if (_won(before), _won(now)) == outcomes]
        for name, outcomes in {
            "success to success": (True, True),
            "success to failure": (True, False),
            "failure to success": (False, True),
            "failure to failure": (False, False),
        }.items()
    }
    same, worse, better, none = (len(inside) for inside in by_change.values())
    table = Paired(same, better, worse, none)
    late_pairs = [(before, now) for before, now in pairs if _won(before) and before.attempts > 1]
    solved_late = [(before, now) for before, now in late_pairs if _won(now)]
    never_before = [now for before, now in pairs if not _won(before)]
    return StrategyComparison(
        model,
        baseline,
        strategy,
        table,
        newcombe(table),
        mcnemar(table),
        tuple(OutcomeChange(name, len(inside), _mean_tokens(inside)) for name, inside in by_change.items()),
        len(late_pairs),
        wilson(Counts(len(solved_late), len(late_pairs))),
        (_attempts([before for before, _ in solved_late], seed), _attempts([now for _, now in solved_late], seed)),
        len(never_before),
        wilson(Counts(sum(map(_won, never_before)), len(never_before))),
    )


def _won(episode: Episode) -> bool:
    return episode.outcome == "success"


def _mean_tokens(episodes: Sequence[Episode]) -> float | None:
    tokens = [episode.spent.input + episode.spent.output for episode in episodes if episode.spent is not None]
    return fmean(tokens) if tokens and len(tokens) == len(episodes) else None


def _attempts(episodes: Sequence[Episode], seed: int) -> Estimate:
    tasks = split(episodes, name_of).values()
    return bootstrapped_mean([fmean(episode.attempts for episode in inside) for inside in tasks], seed=seed)
