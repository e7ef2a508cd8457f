"""One self-contained page: what may be claimed, the figures it rests on, and every episode step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import jinja2
from markupsafe import Markup

from corrigible.conformance.lift.log.record import FAITHFUL, Episode
from corrigible.conformance.lift.stats.comparison import Comparison
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED
from corrigible.conformance.lift.stats.rate import Rate
from corrigible.conformance.report.plain import visible

from . import legend
from .figure import Bar, Dot, colour, curves, dots, forest, panels
from .summary import Section, Summary, p_text, points_of
from .terminal import START
from .viewer import LIMIT, pack

_TITLE: Final = {"scripted": "Scripted agents", "model": "Models", "external": "Agents of others"}
_ALL: Final = "all together"


def render(summary: Summary, episodes: Sequence[Episode], *, limit: int = LIMIT) -> str:
    """Return the page. `episodes` are those that the summary is of; their texts are escaped or compressed."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("corrigible.conformance.lift", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(visible=visible, p=p_text, points=points_of, percent=_percent, span=_span)
    prompts = {task: task_facts.get("prompt", "") for task, task_facts in summary.manifest.tasks.items()}
    return environment.get_template("page.html.jinja").render(
        summary=summary,
        manifest=summary.manifest,
        views=[_view(section) for section in summary.sections],
        harms=harms_by_agent(summary),
        packed=pack(episodes, prompts, limit=limit),
        colour=colour,
    )


@dataclass(frozen=True, slots=True)
class AgentHarms:
    """The harms of one agent, outside of arms that are wrong on purpose."""

    agent: str
    n: int
    advised: int
    """Those of them that followed a suggestion."""
    on_purpose: bool
    """The agent is wrong on purpose."""


def harms_by_agent(summary: Summary) -> list[AgentHarms]:
    """Return the harms of each agent that did any; most first, agents that are wrong on purpose last."""
    harms = [harm for one in summary.sections for harm in one.harms if not harm.on_purpose]
    counts = Counter(harm.agent for harm in harms)
    advised = Counter(harm.agent for harm in harms if harm.advised)
    scripts = {agent for one in summary.sections if one.kind == "scripted" for agent in one.agents}
    found = [
        AgentHarms(agent, n, advised[agent], agent in scripts and legend.is_wrong_on_purpose(agent))
        for agent, n in counts.items()
    ]
    return sorted(found, key=lambda one: (one.on_purpose, -one.n, one.agent))


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}"


def _span(estimate: Estimate, scale: float = 100, digits: int = 0) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return " to ".join(f"{scale * value:.{digits}f}" for value in (estimate.low, estimate.high))


def _view(section: Section) -> dict[str, object]:
    third = "traditional" if "traditional" in section.arms else "none"
    first, second = section.primary
    if second not in section.arms or first not in section.arms:
        first, second = section.arms[-1], section.arms[0]
    who = [*([] if len(section.agents) == 1 else [POOLED]), *section.agents]
    return {
        "section": section,
        "agents": legend.agents(section.agents, section.kind, section.fake),
        "arms": legend.arms(section.arms),
        "wrong": [name for name in section.agents if section.kind == "scripted" and legend.is_wrong_on_purpose(name)],
        "title": f"{_TITLE[section.kind]}, {START[section.start]}",
        "chosen": next((name for name in FAITHFUL if name in section.agents), who[0])
        if section.kind == "scripted"
        else who[0],
        "grid": {(rate.agent, rate.arm): rate for rate in section.rates},
        "rows": list(dict.fromkeys(rate.agent for rate in section.rates)),
        "ways": {(way.agent, way.arm): way for way in section.ways},
        "effort": {(effort.agent, effort.arm): effort for effort in section.efforts},
        "uptake": {(uptake.agent, uptake.arm): uptake for uptake in section.uptakes},
        "circles": {(repeated.agent, repeated.arm): repeated for repeated in section.circles},
        "forest": _forest(section.comparisons, section.primary),
        "figures": [
            (
                agent or (_ALL if section.kind != "scripted" else "share of all scripts"),
                agent,
                dots(_dots(section, agent, second, first, third), second, first, third),
                _panels(section, section.domains, agent),
                _panels(section, section.needs, agent),
                _curves(section, agent),
            )
            for agent in who
        ],
        "origins": _origins(section),
    }


def forest_of(section: Section) -> Markup:
    """Draw the declared comparisons."""
    return _forest(section.comparisons, section.primary) if section.comparisons else Markup("")


def curves_of(section: Section, agent: str = POOLED) -> Markup:
    """Draw success by attempt; of all agents together by default."""
    return _curves(section, agent)


def _forest(comparisons: Sequence[Comparison], primary: tuple[str, str]) -> Markup:
    bars = [
        Bar(
            visible(comparison.agent or _ALL)[:32],
            comparison.difference.estimate,
            "var(--arm-patches)" if comparison.agent != POOLED else "var(--ink)",
            ", ".join(
                (
                    points_of(comparison.difference.estimate.value),
                    f"p {p_text(comparison.difference.p)}",
                    f"{comparison.difference.estimate.n} tasks",
                )
            ),
        )
        for comparison in comparisons
    ]
    return forest(bars, f"{primary[0]} less {primary[1]}, points")


def _dots(section: Section, agent: str, x: str, y: str, third: str) -> list[Dot]:
    return [
        Dot(
            point.task, point.rates[x], point.rates[y], point.rates.get(third) if third not in (x, y) else None,
            min(point.n[x], point.n[y]),
        )
        for point in section.points
        if point.agent == agent and x in point.rates and y in point.rates
    ]  # fmt: skip


def _panels(section: Section, rates: Iterable[Rate], agent: str) -> Markup:
    out: dict[str, list[Bar]] = {}
    for rate in rates:
        if rate.agent == agent:
            note = f"{_percent(rate.success.value)} %" if rate.success.value is not None else ""
            bar = Bar(rate.arm, rate.success, colour(rate.arm), note)
            out.setdefault(f"{rate.within} ({rate.tasks} tasks, n = {rate.success.n})", []).append(bar)
    merged: dict[str, list[Bar]] = {}
    for name, bars in out.items():
        # One head for a domain, though arms may differ in n where episodes crashed.
        place = next((had for had in merged if had.partition(" (")[0] == name.partition(" (")[0]), name)
        merged.setdefault(place, []).extend(bars)
    return panels(merged) if merged else Markup("")


def _curves(section: Section, agent: str) -> Markup:
    curves_by_arm: dict[str, tuple[list[int], int]] = {}
    for arm in section.arms:
        matching = [effort for effort in section.efforts if effort.arm == arm and agent in (POOLED, effort.agent)]
        longest = max((len(effort.by_attempt) for effort in matching), default=0)
        totals = [
            sum(effort.by_attempt[k] for effort in matching if k < len(effort.by_attempt)) for k in range(longest)
        ]
        if n := sum(effort.n for effort in matching):
            curves_by_arm[arm] = (totals, n)
    return curves(curves_by_arm) if curves_by_arm else Markup("")


def _origins(section: Section) -> list[tuple[str, int, list[Rate | None]]]:
    """Return rates by origin, for the agents that stand for the section."""
    agents = {rate.agent for rate in section.rates}
    agent = POOLED if POOLED in agents else next((name for name in FAITHFUL if name in agents), min(agents, default=""))
    out: list[tuple[str, int, list[Rate | None]]] = []
    for origin in dict.fromkeys(rate.within for rate in section.origins):
        rates_by_arm = {rate.arm: rate for rate in section.origins if rate.within == origin and rate.agent == agent}
        out.append(
            (
                origin,
                max((rate.tasks for rate in rates_by_arm.values()), default=0),
                [rates_by_arm.get(arm) for arm in section.arms],
            )
        )
    return out
