"""What agents did on the way to a result: calls, wrong turns, time, feedback followed, harm, repeats, reflections.

Of reflection strategies, the figures of the paper that found "structure snowballing": death loops, what was diagnosed
first, status flips from one strategy to another with McNemar's test, tokens by flip, and two pools: what the baseline
got right after a failure (attempts count), and what it never got right (success counts). Pairs are the same (model,
task, arm, seed) under two strategies. Code and logs: https://github.com/hongxuzhou/agentic_llm_structured_self_critique
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

import numpy as np

from corrigible.conformance.lift.agents.protocol import without_feedback
from corrigible.conformance.lift.arms import WRONG_ON_PURPOSE
from corrigible.conformance.lift.log import ADVISED, UNOBTAINABLE, Episode, Reflection, Turn
from corrigible.conformance.lift.stats import comparison, estimate
from corrigible.conformance.lift.stats.group import Group, calls, name_of, split

_STOPS = ("impossible", "needs input", "gave up", "stopped by loop breaker")


@dataclass(frozen=True, slots=True)
class Way:
    """Of an agent under an arm. Means are over tasks, with tasks resampled; what was given is no call of the agent."""

    agent: str
    arm: str
    n: int
    calls: estimate.Estimate
    """To resolution: all calls of episodes that succeeded, reads and failed ones too."""
    reads: estimate.Estimate
    """Of those calls."""
    refused: estimate.Estimate
    """Of those calls: writes that the API did not take."""
    seconds: estimate.Estimate
    """Wall time of episodes that succeeded, set-up and scoring included."""
    tokens: estimate.Estimate
    """As billed, of episodes that succeeded; no value where there is no bill."""
    wrong_turns: estimate.Estimate
    """Writes that the prompt did not ask for, failed ones too, of all episodes; no value where that is not known."""
    clean: estimate.Estimate
    """The share of episodes without a wrong turn; Wilson."""
    false_stops: estimate.Estimate
    """The share of possible tasks that the agent stopped at, unsolved, and not as done; Wilson."""
    false_done: estimate.Estimate
    """The share of all episodes that the agent ended as done when it was not so; Wilson."""
    asked: estimate.Estimate
    """The share of its questions (needs input) where a person had to act, since the task could not be had; Wilson."""


@dataclass(frozen=True, slots=True)
class CallsRatio:
    """Calls to resolution of one arm over those of another, over tasks that were solved under both."""

    agent: str
    first: str
    second: str
    ratio: estimate.Estimate
    """The ratio of the two means over tasks; tasks are resampled."""
    p: float | None
    """Two-sided sign-flip over tasks, of the differences of calls."""
    exact: bool


def own(episode: Episode) -> list[Turn]:
    """Return the turns that the agent made."""
    return [turn for turn in episode.turns if not turn.given]


def way(agent: str, arm: str, episodes: Sequence[Episode], *, seed: int) -> Way:
    """Return the way of one cell. Errors are no observations."""
    observed = [episode for episode in episodes if episode.outcome != "error"]
    won = [episode for episode in observed if episode.outcome == "success"]
    billed = won if won and all(episode.spent is not None for episode in won) else []
    judged = [e for e in observed if all(turn.astray is not None for turn in own(e) if not turn.read)]

    def mean(inside: Sequence[Episode], figure: Callable[[Episode], float]) -> estimate.Estimate:
        tasks = split(inside, name_of).values()
        return estimate.bootstrapped_mean(tuple(fmean(map(figure, group)) for group in tasks), seed=seed)

    def share(inside: Sequence[Episode], holds: Callable[[Episode], bool]) -> estimate.Estimate:
        return estimate.wilson(estimate.Counts(sum(map(holds, inside)), len(inside)))

    possible = [episode for episode in observed if episode.needs not in UNOBTAINABLE]
    questions = [episode for episode in observed if episode.ending.startswith("needs input")]
    return Way(
        agent,
        arm,
        len(observed),
        mean(won, lambda e: len(own(e))),
        mean(won, lambda e: sum(turn.read for turn in own(e))),
        mean(won, lambda e: sum(not turn.accepted and not turn.read for turn in own(e))),
        mean(won, lambda e: e.seconds),
        mean(billed, lambda e: e.spent.input + e.spent.output if e.spent is not None else 0),
        mean(judged, wrong_turns),
        share(judged, lambda e: not wrong_turns(e)),
        share(possible, lambda e: e.outcome == "failure" and e.ending.startswith(_STOPS)),
        share(observed, lambda e: e.outcome == "failure" and e.ending.startswith("done")),
        share(questions, lambda e: e.needs in UNOBTAINABLE),
    )


def wrong_turns(episode: Episode) -> int:
    """Count the writes that the prompt did not ask for, whether the API took them or not."""
    return sum(bool(turn.astray) for turn in own(episode))


def ways(group: Group, *, seed: int) -> list[Way]:
    """Return the way of every agent and arm."""
    return [way(agent, arm, inside, seed=seed) for agent, arm, inside in group.cells()]


def calls_ratio(agent: str, episodes: Sequence[Episode], first: str, second: str, *, seed: int) -> CallsRatio | None:
    """Compare the calls to resolution of two arms. None where no task was solved under both."""
    solved: dict[str, dict[str, list[int]]] = {}
    for episode in episodes:
        if episode.outcome == "success" and episode.arm in (first, second) and own(episode):
            solved.setdefault(name_of(episode), {}).setdefault(episode.arm, []).append(len(own(episode)))
    pairs = np.array([[fmean(arms[first]), fmean(arms[second])] for arms in solved.values() if len(arms) == 2])
    n = len(pairs)
    if not n:
        return None
    value = float(pairs[:, 0].mean() / pairs[:, 1].mean())
    if n < 2:
        return CallsRatio(agent, first, second, estimate.Estimate(value, None, None, n), None, False)
    drawn = pairs[np.random.default_rng(seed).integers(0, n, size=(estimate.RESAMPLES, n))].mean(axis=1)
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    p, exact = estimate.sign_flip(pairs[:, 0] - pairs[:, 1], seed=seed)
    return CallsRatio(agent, first, second, estimate.Estimate(value, float(low), float(high), n), p, exact)


def calls_ratios(group: Group, first: str, second: str, *, seed: int) -> list[CallsRatio]:
    """Compare two arms for every agent."""
    found = (
        calls_ratio(agent, [e for e in group.episodes if e.agent == agent], first, second, seed=seed)
        for agent in group.agents
    )
    return [ratio for ratio in found if ratio is not None]


@dataclass(frozen=True, slots=True)
class Uptake:
    """Of an agent under an arm."""

    agent: str
    arm: str
    offered: int
    """Refusals with suggestions that the agent made another call after."""
    followed: estimate.Estimate
    """The share of those where the next call was what a reader makes of them."""
    said: int
    """Where the agent says that it applied some."""
    accepted_when_followed: estimate.Estimate
    accepted_otherwise: estimate.Estimate
    """The share of next calls that were accepted."""
    ignored: int
    """Episodes that the agent ended by itself at a refusal with suggestions."""


@dataclass(frozen=True, slots=True)
class Harm:
    """One harm."""

    key: str
    task: str
    arm: str
    agent: str
    seed: int
    what: str
    """twice, changed (collateral), obeyed, intent, secret."""
    text: str
    on_purpose: bool
    """The arm's suggestions were wrong on purpose."""

    @property
    def advised(self) -> bool:
        """Whether it came of following a suggestion, and not of an agent's own idea."""
        return ADVISED in self.text


@dataclass(frozen=True, slots=True)
class RepeatedErrors:
    """Repeated errors of an agent under an arm."""

    agent: str
    arm: str
    n: int
    warned: int
    """Episodes with an answer that a loop breaker changed."""
    answers: int
    """Such answers."""
    stopped: int
    """Episodes that the agent ended for that."""
    stuck: int
    """Failures in which every one of two or more refusals was the same."""


def uptakes(group: Group) -> list[Uptake]:
    """Return the uptake of every agent and arm that was offered something."""
    all_uptakes = [_uptake(agent, arm, inside) for agent, arm, inside in group.cells()]
    return [uptake for uptake in all_uptakes if uptake.offered or uptake.ignored]


def _uptake(agent: str, arm: str, episodes: Sequence[Episode]) -> Uptake:
    pairs = [pair for episode in episodes if episode.outcome != "error" for pair in pairwise(calls(episode))]
    after = [now for before, now in pairs if before.offered]
    followed = [now for now in after if now.followed]
    others = [now for now in after if not now.followed]
    ended_by_agent = [
        episode
        for episode in episodes
        if episode.outcome != "error" and episode.ending and (agent_calls := calls(episode)) and agent_calls[-1].offered
    ]
    return Uptake(
        agent,
        arm,
        len(after),
        estimate.wilson(estimate.Counts(len(followed), len(after))),
        sum(bool(now.applied) for now in after),
        estimate.wilson(estimate.Counts(sum(now.accepted for now in followed), len(followed))),
        estimate.wilson(estimate.Counts(sum(now.accepted for now in others), len(others))),
        len(ended_by_agent),
    )


def harms(group: Group) -> list[Harm]:
    """Return all harms, those of errors included: arms that are wrong on purpose last, advised harms first."""
    all_harms = [
        Harm(
            episode.key,
            name_of(episode),
            episode.arm,
            episode.agent,
            episode.seed,
            kind,
            text.strip(),
            episode.arm in WRONG_ON_PURPOSE,
        )
        for episode in group.episodes
        for line in episode.harm
        for kind, _, text in [line.partition(":")]
    ]
    return sorted(
        all_harms,
        key=lambda harm: (
            harm.on_purpose,
            not harm.advised,
            harm.agent,
            harm.task,
            harm.arm,
            harm.seed,
        ),
    )


def repeated_errors(group: Group) -> list[RepeatedErrors]:
    """Return how often each agent repeated errors, by arm."""
    return [_repeated_errors(agent, arm, inside) for agent, arm, inside in group.cells()]


def _repeated_errors(agent: str, arm: str, episodes: Sequence[Episode]) -> RepeatedErrors:
    observed = [episode for episode in episodes if episode.outcome != "error"]
    return RepeatedErrors(
        agent,
        arm,
        len(observed),
        sum(episode.loops > 0 for episode in observed),
        sum(episode.loops for episode in observed),
        sum(episode.ending.startswith("stopped by loop breaker") for episode in observed),
        sum(_is_stuck(episode) for episode in observed),
    )


def _is_stuck(episode: Episode) -> bool:
    if episode.outcome != "failure":
        return False
    rejected = [turn for turn in calls(episode) if not turn.accepted]
    return len(rejected) > 1 and len({refusal(turn) for turn in rejected}) == 1


def refusal(turn: Turn) -> str:
    """Return what identifies an error: its status, and the native response without feedback."""
    return f"{turn.status} {json.dumps(without_feedback(turn.shown), sort_keys=True)}"


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
    loops: estimate.Estimate
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
class StrategyComparison:
    """Two strategies of one model, under all arms together."""

    model: str
    baseline: str
    strategy: str
    result: comparison.Strategies


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
        estimate.wilson(
            estimate.Counts(sum(is_degenerate_loop(episode) for episode, _ in structured), len(structured))
        ),
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
                compared = comparison.compare_strategies([(_tried(a), _tried(b)) for a, b in pairs], seed=seed)
                result.append(StrategyComparison(model, baseline, name, compared))
    return result


def _pairs(before: Sequence[Episode], after: Sequence[Episode]) -> list[tuple[Episode, Episode]]:
    before_by_key = {(name_of(episode), episode.arm, episode.seed): episode for episode in before}
    keyed = [((name_of(episode), episode.arm, episode.seed), episode) for episode in after]
    return [(before_by_key[key], episode) for key, episode in keyed if key in before_by_key]


def _tried(episode: Episode) -> comparison.Tried:
    billed = episode.spent.input + episode.spent.output if episode.spent is not None else None
    return comparison.Tried(name_of(episode), episode.outcome == "success", episode.attempts, billed)
