"""One self-contained page: what may be claimed, the figures it rests on, and every episode step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import jinja2
from markupsafe import Markup

from corrigible.conformance.lift.log.record import FAITHFUL, Episode
from corrigible.conformance.lift.stats.comparison import Comparison
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED
from corrigible.conformance.lift.stats.rate import Rate
from corrigible.conformance.report.plain import visible

from .figure import Bar, Dot, colour, curves, dots, forest, panels
from .summary import Section, Summary, p_text, points_of
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
    prompts = {task: told.get("prompt", "") for task, told in summary.manifest.tasks.items()}
    return environment.get_template("page.html.jinja").render(
        summary=summary,
        manifest=summary.manifest,
        views=[_view(section) for section in summary.sections],
        packed=pack(episodes, prompts, limit=limit),
        colour=colour,
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}"


def _span(one: Estimate, scale: float = 100, digits: int = 0) -> str:
    if one.low is None or one.high is None:
        return ""
    return " to ".join(f"{scale * value:.{digits}f}" for value in (one.low, one.high))


def _view(section: Section) -> dict[str, object]:
    third = "traditional" if "traditional" in section.arms else "none"
    first, second = section.primary
    if second not in section.arms or first not in section.arms:
        first, second = section.arms[-1], section.arms[0]
    who = [*([] if len(section.agents) == 1 else [POOLED]), *section.agents]
    return {
        "section": section,
        "title": _TITLE[section.kind],
        "chosen": next((name for name in FAITHFUL if name in section.agents), who[0])
        if section.kind == "scripted"
        else who[0],
        "grid": {(one.agent, one.arm): one for one in section.rates},
        "rows": list(dict.fromkeys(one.agent for one in section.rates)),
        "effort": {(one.agent, one.arm): one for one in section.efforts},
        "uptake": {(one.agent, one.arm): one for one in section.uptakes},
        "circles": {(one.agent, one.arm): one for one in section.circles},
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


def _forest(found: Sequence[Comparison], primary: tuple[str, str]) -> Markup:
    bars = [
        Bar(
            visible(one.agent or _ALL)[:32],
            one.difference.estimate,
            "var(--arm-patches)" if one.agent != POOLED else "var(--ink)",
            ", ".join(
                (
                    points_of(one.difference.estimate.value),
                    f"p {p_text(one.difference.p)}",
                    f"{one.difference.estimate.n} tasks",
                )
            ),
        )
        for one in found
    ]
    return forest(bars, f"{primary[0]} less {primary[1]}, points")


def _dots(section: Section, agent: str, x: str, y: str, third: str) -> list[Dot]:
    return [
        Dot(
            one.task, one.rates[x], one.rates[y], one.rates.get(third) if third not in (x, y) else None,
            min(one.n[x], one.n[y]),
        )
        for one in section.points
        if one.agent == agent and x in one.rates and y in one.rates
    ]  # fmt: skip


def _panels(section: Section, found: Iterable[Rate], agent: str) -> Markup:
    out: dict[str, list[Bar]] = {}
    for one in found:
        if one.agent == agent:
            note = f"{_percent(one.success.value)} %" if one.success.value is not None else ""
            bar = Bar(one.arm, one.success, colour(one.arm), note)
            out.setdefault(f"{one.within} ({one.tasks} tasks, n = {one.success.n})", []).append(bar)
    merged: dict[str, list[Bar]] = {}
    for name, bars in out.items():
        # One head for a domain, though arms may differ in n where episodes crashed.
        place = next((had for had in merged if had.partition(" (")[0] == name.partition(" (")[0]), name)
        merged.setdefault(place, []).extend(bars)
    return panels(merged) if merged else Markup("")


def _curves(section: Section, agent: str) -> Markup:
    found: dict[str, tuple[list[int], int]] = {}
    for arm in section.arms:
        mine = [one for one in section.efforts if one.arm == arm and agent in (POOLED, one.agent)]
        longest = max((len(one.by_attempt) for one in mine), default=0)
        taken = [sum(one.by_attempt[k] for one in mine if k < len(one.by_attempt)) for k in range(longest)]
        if n := sum(one.n for one in mine):
            found[arm] = (taken, n)
    return curves(found) if found else Markup("")


def _origins(section: Section) -> list[tuple[str, int, list[Rate | None]]]:
    """Return rates by origin, for the agents that stand for the section."""
    named = {one.agent for one in section.rates}
    agent = POOLED if POOLED in named else next((name for name in FAITHFUL if name in named), min(named, default=""))
    out: list[tuple[str, int, list[Rate | None]]] = []
    for origin in dict.fromkeys(one.within for one in section.origins):
        mine = {one.arm: one for one in section.origins if one.within == origin and one.agent == agent}
        out.append(
            (origin, max((one.tasks for one in mine.values()), default=0), [mine.get(arm) for arm in section.arms])
        )
    return out
