"""The summary of a log: the one document that the terminal, the JSON and the page show. Pure.

Knows: which figures belong together, what may be claimed, registered goals, what each arm and agent is. Does not know:
how figures are estimated or shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import FAITHFUL, UNOBTAINABLE, Episode, Log, Manifest
from corrigible.conformance.lift.stats import conduct
from corrigible.conformance.lift.stats.comparison import Comparison, comparisons
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import (
    POOLED,
    Dropped,
    Effort,
    ErrorGroup,
    Group,
    Rate,
    dropped,
    efforts,
    error_groups,
    groups,
    latest,
    name_of,
    rates,
    rates_by,
)
from corrigible.schema.exchange import Json

_ALPHA = 0.05


def goals(
    manifest: Manifest,
    comparisons: Sequence[Comparison],
    ratios: Sequence[conduct.CallsRatio],
    ways: Sequence[conduct.Way],
) -> Iterator[str]:
    """Yield a sentence for each registered goal and agent: reached, not reached, or not shown by so few tasks."""
    registered = manifest.plan.get("registered") or {}
    margin, most, gain = (registered.get(name) for name in ("margin", "calls_ratio", "gain"))
    clean = {(way.agent, way.arm): way.clean for way in ways}
    for one in comparisons:
        if one.agent == POOLED:
            continue
        if margin is not None:
            yield _tie(one, margin)
        if gain is not None:
            yield f"{one.agent}: gain of {100 * gain:.0f} points or more: {_at_least(one.difference.estimate, gain)}"
        ratio = next((ratio for ratio in ratios if ratio.agent == one.agent), None)
        if most is not None and ratio is not None:
            turns = clean.get((one.agent, one.first))
            known = turns is not None and turns.value is not None
            rest = f"; without a wrong turn: {turns.value:.0%} of {turns.n}" if turns is not None and known else ""
            goal = f"{one.agent}: calls at most {most:g} of those under {one.second}"
            yield f"{goal}: {_at_most(ratio.ratio, most)}{rest}"


def _tie(one: Comparison, margin: float) -> str:
    words = f"{one.agent}: a tie within {100 * margin:.0f} points of success"
    if one.tie is None:
        return f"{words}: nothing can be said of {one.difference.estimate.n} tasks that all came out alike"
    shown = f"shown, TOST p {one.tie:.3f}" if one.tie < _ALPHA else f"not shown, TOST p {one.tie:.2f}"
    return f"{words}: {shown}, {one.difference.estimate.n} tasks"


def _at_least(estimate: Estimate, goal: float) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return f"nothing can be said of {estimate.n} tasks that all came out alike"
    span = f"{100 * estimate.value:+.0f} ({100 * estimate.low:+.0f} to {100 * estimate.high:+.0f}), {estimate.n} tasks"
    word = "reached" if estimate.low >= goal else "missed" if estimate.high < goal else "not shown"
    return f"{word}, {span}"


def _at_most(estimate: Estimate, goal: float) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"nothing can be said of {estimate.n} tasks"
    word = "reached" if estimate.high <= goal else "missed" if estimate.low > goal else "not shown"
    return f"{word}, {estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f}), {estimate.n} tasks"


ARMS: Final[Mapping[str, str]] = {
    "none": "the native answer, byte for byte",
    "traditional": "the native answer, with its explanation blanked",
    "verbose": "the answer with diagnoses in words, and no fix",
    "reflective": "the core of the feedback: type, message, suggestions with action, message and parameters",
    "reflective-patches": "all of the feedback: patches, steps, evidence too",
    "shuffled": "control: feedback of another task",
    "noise": "control: feedback with plausible wrong values",
    "length-matched": "control: verbose, padded with empty words to the length of reflective",
}
AGENTS: Final[Mapping[str, str]] = {
    "literal-merge": "script: merges parameters into the request, as the contract of the paper says; reads no patches",
    "patch-executor": "script: does what the published reader makes of the feedback; it needs patches",
    "informed": "script: the same, and fills in what the prompt states where the feedback asks; it needs patches",
    "stubborn": "script: sends the same again, a floor",
    "gullible": "script: obeys every order in any text, a canary",
}
_MODEL: Final = {"model": "a model, by provider and name", "external": "an agent of somebody else, over HTTP"}


def arm_lines(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return each arm with its line."""
    return [(name, ARMS.get(name, "an arm of another version")) for name in names]


def agent_lines(names: Sequence[str], kind: str, fake: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return each agent with its line."""
    found = []
    for name in names:
        line = AGENTS.get(name, "a script of another version") if kind == "scripted" else _MODEL[kind]
        if name.startswith("local:"):
            line = "a small model on this machine (--local-model)"
        found.append((name, "a fake provider, no model" if name in fake else line))
    return found


FORMAT: Final = "corrigible-lift-report/1"
SCRIPTED: Final = (
    "Scripted agents show that the payload is sufficient and safe. They never show what it is worth to a model: no"
    " figure of theirs is LLM lift."
)
FAKE: Final = "called a fake provider, no model: the figures show only that the code runs"
PRIMARY: Final[Mapping[str, tuple[str, str]]] = {
    "scripted": (Arm.PATCHES.value, Arm.VERBOSE.value),
    "model": (Arm.REFLECTIVE.value, Arm.VERBOSE.value),
    "external": (Arm.REFLECTIVE.value, Arm.VERBOSE.value),
}
"""The primary comparison, unless the plan declares one."""


@dataclass(frozen=True, slots=True)
class Point:
    """One task, for the figure of tasks."""

    task: str
    agent: str
    rates: dict[str, float]
    """Success rate by arm."""
    n: dict[str, int]


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of agent, from one start."""

    kind: str
    start: str
    """Where its episodes start: wish, refusal."""
    agents: tuple[str, ...]
    fake: tuple[str, ...]
    arms: tuple[str, ...]
    tasks: int
    episodes: int
    errors: int
    claim: str
    primary: tuple[str, str]
    declared: bool
    """The primary comparison was fixed before the run, by the plan or by the rule for this kind."""
    comparisons: tuple[Comparison, ...]
    """The declared family: the primary comparison, for every agent."""
    secondary: tuple[Comparison, ...]
    """Not declared before the run: exploratory only."""
    rates: tuple[Rate, ...]
    domains: tuple[Rate, ...]
    needs: tuple[Rate, ...]
    origins: tuple[Rate, ...]
    points: tuple[Point, ...]
    efforts: tuple[Effort, ...]
    ways: tuple[conduct.Way, ...]
    ratios: tuple[conduct.CallsRatio, ...]
    """Of the primary pair: calls to resolution."""
    goals: tuple[str, ...]
    """What the plan registered before the run, and how it came out, in words."""
    uptakes: tuple[conduct.Uptake, ...]
    harms: tuple[conduct.Harm, ...]
    circles: tuple[conduct.RepeatedErrors, ...]
    deaths: tuple[conduct.DegenerateLoop, ...]
    flips: tuple[conduct.StrategyComparison, ...]
    crashes: tuple[ErrorGroup, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole log."""

    format: str
    caveats: tuple[str, ...]
    episodes: int
    tasks: int
    errors: int
    harms: int
    """Harms in arms whose suggestions are not wrong on purpose."""
    harms_advised: int
    """Those of them that followed a suggestion."""
    superseded: int
    """Episodes that a later one of the same task, arm, agent and seed replaces."""
    runs: int
    """Manifests."""
    manifest: Manifest
    sections: tuple[Section, ...]

    def document(self) -> dict[str, Json]:
        """Return the summary as JSON."""
        return {**_finite(asdict(self)), "manifest": self.manifest.model_dump(mode="json")}


def summarise(log: Log, primary: tuple[str, str] | None = None) -> Summary:
    """Return the summary of a log. `primary` overrides the declared comparison; the summary says so."""
    kept = latest(log.episodes)
    found_groups = groups(kept, log.manifests)
    tasks = {name: document for record in log.manifests for name, document in record.tasks.items()}
    manifest = log.manifest.model_copy(update={"tasks": tasks})
    sections = tuple(_section(group, manifest, primary) for group in found_groups)
    unintended = [harm for section in sections for harm in section.harms if not harm.on_purpose]
    return Summary(
        FORMAT,
        tuple(_caveats(found_groups, log, len(log.episodes) - len(kept))),
        len(kept),
        len({name_of(episode) for episode in kept}),
        sum(episode.outcome == "error" for episode in kept),
        len(unintended),
        sum(harm.advised for harm in unintended),
        len(log.episodes) - len(kept),
        len(log.manifests),
        manifest,
        sections,
    )


def claims(log: Log) -> list[str]:
    """Return the first paragraph of each section of the report of a log."""
    return [
        _claim(group, comparisons(group, *pair, seed=log.manifest.seed), *pair)
        for group in groups(latest(log.episodes), log.manifests)
        for pair in [declared(log.manifest) or PRIMARY[group.kind]]
    ]


def declared(manifest: Manifest) -> tuple[str, str] | None:
    """Return the primary comparison that the plan names."""
    registered = manifest.plan.get("registered") or {}
    primary = registered.get("primary")
    return (str(primary[0]), str(primary[1])) if primary else None


def _section(group: Group, manifest: Manifest, override: tuple[str, str] | None) -> Section:
    seed = manifest.seed
    first, second = override or declared(manifest) or PRIMARY[group.kind]
    margin = (manifest.plan.get("registered") or {}).get("margin")
    main = comparisons(group, first, second, seed=seed, margin=margin)
    ratios = conduct.calls_ratios(group, first, second, seed=seed)
    all_ways = conduct.ways(group, seed=seed)
    pairs = [(first, arm) for arm in group.arms if arm not in (first, second)]
    pairs += [(arm, second) for _, arm in pairs]
    secondary = [comparison for a, b in pairs for comparison in comparisons(group, a, b, seed=seed, family=False)]
    return Section(
        kind=group.kind,
        start=group.start,
        agents=group.agents,
        fake=tuple(name for name in group.agents if name in group.fake),
        arms=group.arms,
        tasks=len({name_of(episode) for episode in group.episodes}),
        episodes=len(group.episodes),
        errors=len(group.episodes) - len(group.observed),
        claim=_claim(group, main, first, second),
        primary=(first, second),
        declared=override is None,
        comparisons=tuple(main),
        secondary=tuple(secondary),
        rates=tuple(rates(group)),
        domains=tuple(rates_by(group, lambda episode: episode.domain)),
        needs=tuple(rates_by(group, lambda episode: episode.needs)),
        origins=tuple(rates_by(group, lambda episode: origin_of(episode, manifest))),
        points=tuple(points(group)),
        efforts=tuple(efforts(group, seed=seed)),
        ways=tuple(all_ways),
        ratios=tuple(ratios),
        goals=tuple(goals(manifest, main, ratios, all_ways)) if override is None else (),
        uptakes=tuple(conduct.uptakes(group)),
        harms=tuple(conduct.harms(group)),
        circles=tuple(conduct.repeated_errors(group)),
        deaths=tuple(conduct.degenerate_loops(group)),
        flips=tuple(conduct.compare_strategies(group, seed=seed)) if group.kind == "model" else (),
        crashes=tuple(error_groups(group)),
        dropped=tuple(dropped(group)),
    )


def origin_of(episode: Episode, manifest: Manifest) -> str:
    """Return the origin of a task up to the first comma: the server, without the call."""
    return manifest.tasks.get(name_of(episode), {}).get("origin", "").partition(",")[0].strip() or "not said"


def points(group: Group) -> list[Point]:
    """Return the success rates of every task, for all agents together and for each."""
    result: list[Point] = []
    for agent in (POOLED, *group.agents):
        by_task: dict[str, dict[str, list[bool]]] = {}
        for episode in group.observed:
            if agent in (POOLED, episode.agent):
                by_task.setdefault(name_of(episode), {}).setdefault(episode.arm, []).append(
                    episode.outcome == "success"
                )
        for task, arms in sorted(by_task.items()):
            shares = {arm: sum(outcomes) / len(outcomes) for arm, outcomes in arms.items()}
            result.append(Point(task, agent, shares, {arm: len(outcomes) for arm, outcomes in arms.items()}))
    return result


def _claim(group: Group, compared: Sequence[Comparison], first: str, second: str) -> str:
    if not compared:
        nothing = f"There is nothing to compare: {first} and {second} were not both observed."
        if len(group.arms) < 2:
            return nothing
        return f"{nothing} `conformance lift report DIR --primary {group.arms[-1]}:{group.arms[0]}` compares what was."
    if group.kind == "scripted":
        comparison = next((c for name in FAITHFUL for c in compared if c.agent == name), compared[0])
        a, b = comparison.rates
        subject = "a script that does what the feedback says" if comparison.agent in FAITHFUL else "a script"
        return (
            f"{comparison.agent}, {subject}, solves {share(a)} of {a.n} episodes under {first},"
            f" and {share(b)} under {second} ({difference(comparison)}).{_solvable(group, comparison)}"
            " That is what the payload suffices for, not what a model makes of it."
        )
    comparison = compared[0]
    subject = f"{len(group.agents)} agents" if comparison.agent == POOLED else comparison.agent
    claim = f"{subject}: {first} less {second} is {difference(comparison)}."
    if group.fake:
        claim += f" But {', '.join(sorted(group.fake))} {FAKE}."
    return claim


def _solvable(group: Group, comparison: Comparison) -> str:
    """Return a sentence with the rates without impossible tasks, where stopping is success and needs no feedback."""
    solvable = [e for e in group.observed if e.agent == comparison.agent and e.needs not in UNOBTAINABLE]
    if len(solvable) == sum(e.agent == comparison.agent for e in group.observed):
        return ""
    outcomes = [
        [e.outcome == "success" for e in solvable if e.arm == arm] for arm in (comparison.first, comparison.second)
    ]
    if not all(outcomes):
        return ""
    a, b = (f"{sum(each) / len(each):.0%}" for each in outcomes)
    return f" Of tasks that can be solved at all it solves {a} and {b}."


def share(estimate: Estimate) -> str:
    return "nothing" if estimate.value is None else f"{estimate.value:.0%}"


def difference(comparison: Comparison) -> str:
    """Return a difference with its interval, number of tasks and p."""
    estimate = comparison.difference.estimate
    if estimate.value is None:
        return "no task was tried under both"
    interval = (
        f"95 % interval {points_of(estimate.low)} to {points_of(estimate.high)}, " if estimate.low is not None else ""
    )
    p = f", sign-flip p {p_text(comparison.difference.p)}" if comparison.difference.p is not None else ""
    return f"{points_of(estimate.value)} points; {interval}{estimate.n} tasks{p}"


def points_of(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:+.0f}" if round(100 * value) else "0"


def p_text(p: float | None) -> str:
    if p is None:
        return "?"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _caveats(found_groups: Sequence[Group], log: Log, superseded: int) -> list[str]:
    caveats: list[str] = []
    kinds = {group.kind for group in found_groups}
    if "scripted" in kinds:
        caveats.append(SCRIPTED)
    for group in found_groups:
        caveats += [f"{name} {FAKE}." for name in group.agents if name in group.fake]
    if not log.manifest.audit:
        caveats.append("The leak audit was skipped (`--skip-audit`): no certificate is on record.")
    if len({record.seed for record in log.episodes}) < 2:
        caveats.append("Every task was tried with one seed: nothing is known of how results vary from run to run.")
    if superseded:
        caveats.append(f"{superseded} older episodes of the same tasks, arms, agents and seeds are left out.")
    digests = {record.digests.get("code") for record in log.manifests}
    if len(digests) > 1:
        caveats.append(f"The log was written by {len(digests)} states of the code.")
    for domain, reason in (log.manifest.plan.get("skipped") or {}).items():
        caveats.append(f"{domain} was not run: {reason}.")
    return [*caveats, *log.warnings]


def _finite(value: Any) -> Any:
    """Replace floats that JSON cannot represent."""
    match value:
        case float() if not math.isfinite(value):
            return "unbounded" if value > 0 else None
        case dict():
            return {name: _finite(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_finite(inner) for inner in value]
        case Manifest():
            return None
        case _:
            return value


def render(summary: Summary) -> str:
    """Return the document. Two logs that differ in times only give the same figures."""
    return json.dumps(summary.document(), indent=1, ensure_ascii=False) + "\n"
