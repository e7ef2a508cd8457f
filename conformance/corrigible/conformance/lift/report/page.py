"""One self-contained page: what may be claimed, the figures it rests on, and every episode step by step.

Figures are SVG in the page's colours, all text is escaped. Turns are in compressed blocks, one for each task; requests
and answers that are the same (most are: arms and agents share them) stand in a block once.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import FAITHFUL, Episode, Turn
from corrigible.conformance.lift.report import summary as legend
from corrigible.conformance.lift.report.summary import Section, Summary, p_text, points_of
from corrigible.conformance.lift.report.terminal import START
from corrigible.conformance.lift.stats.comparison import TRANSITIONS
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED, Rate, name_of, split
from corrigible.conformance.report.terminal import visible
from corrigible.conformance.report.write import html
from corrigible.schema.exchange import Json

COLOURS: Final[Mapping[str, str]] = {
    "none": "--arm-none",
    "traditional": "--arm-traditional",
    "verbose": "--arm-verbose",
    "reflective": "--arm-reflective",
    "reflective-patches": "--arm-patches",
    "shuffled": "--arm-control-1",
    "noise": "--arm-control-2",
    "length-matched": "--arm-control-3",
}
_STEP: Final = 8.0
"""Between tasks at one place."""
_GOLDEN: Final = math.pi * (3 - math.sqrt(5))


def colour(arm: str) -> str:
    """Return the page's colour of an arm."""
    return f"var({COLOURS.get(arm, '--soft')})"


@dataclass(frozen=True, slots=True)
class Dot:
    """One task of the figure of tasks."""

    name: str
    x: float
    y: float
    shade: float | None
    """Success under the third arm; None where it was not run."""
    n: int


def _text(value: object) -> str:
    return str(escape(visible(str(value))))


def _label(x: float, y: float, text: object, anchor: str = "start", kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{attribute}>{_text(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid", style: str = "") -> str:
    more = f' style="{style}"' if style else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"{more}/>'


def _circle(x: float, y: float, radius: float, style: str, title: str = "") -> str:
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
    return f'<circle {place} class="dot" style="{style}"><title>{_text(title)}</title></circle>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> Markup:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px"'
    head = f'<svg {box} role="img" aria-label="{_text(title)}">'
    return Markup("".join((head, *parts, "</svg>")))


def dots(tasks: Sequence[Dot], x: str, y: str, shade: str) -> Markup:
    """Draw every task at (success under x, success under y): above the diagonal y was better.

    Fuller: solved more often under `shade`; larger: farther above it. Tasks with the same figures are spread round
    their place, else one would hide the other.
    """
    left, top, side, lead = 92.0, 46.0, 410.0, 52.0
    width, height = left + side + 2 * lead + 22, top + side + 2 * lead + 56

    def at(dot_x: float, dot_y: float) -> tuple[float, float]:
        return left + lead + side * dot_x, top + lead + side * (1 - dot_y)

    low, high = at(0, 0), at(1, 1)
    box = f'<rect x="{left}" y="{top}" width="{side + 2 * lead}" height="{side + 2 * lead}" class="frame"/>'
    parts = [box]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        px, py = at(tick, tick)
        parts += [_line(px, top, px, top + side + 2 * lead), _line(left, py, left + side + 2 * lead, py)]
        parts += [
            _label(px, top + side + 2 * lead + 18, f"{tick:.0%}", "middle"),
            _label(left - 8, py + 4, f"{tick:.0%}", "end"),
        ]
    parts.append(_line(*low, *high, "diagonal"))
    parts.append(_label(left + lead + side / 2, height - 8, f"success under {x}", "middle", "axis"))
    middle = top + lead + side / 2
    parts.append(
        f'<text transform="translate(24 {middle:.0f}) rotate(-90)" text-anchor="middle" class="axis">'
        f"success under {_text(y)}</text>"
    )
    groups: dict[tuple[float, float], list[Dot]] = {}
    for dot in tasks:
        groups.setdefault((round(dot.x, 3), round(dot.y, 3)), []).append(dot)
    crowd = max(map(len, groups.values()), default=1)
    scale = 1.0 if crowd <= 6 else 0.62
    labels: list[tuple[float, float, str, str]] = []
    for (gx, gy), inside in sorted(groups.items()):
        cx, cy = at(gx, gy)
        step = _STEP * scale * (1.5 if crowd <= 6 else 1.0)
        for index, dot in enumerate(sorted(inside, key=lambda d: -_radius(d))):
            reach = 0.0 if len(inside) == 1 else step * math.sqrt(index + 0.5)
            px, py = cx + reach * math.cos(index * _GOLDEN), cy + reach * math.sin(index * _GOLDEN)
            parts.append(_dot(dot, px, py, (x, y, shade), scale))
        edge = step * math.sqrt(len(inside)) + 10 if len(inside) > 1 else _radius(inside[0]) * scale + 4
        text = f"{len(inside)} tasks" if len(inside) > 2 else inside[0].name.rpartition("/")[2]
        if len(inside) > 2 or (len(inside) == 1 and gx != gy):
            labels.append((cx - edge, cy + 4, text, "end") if gx > 0.75 else (cx + edge, cy + 4, text, "start"))
    parts += [_label(px, py, text, anchor, "hint") for px, py, text, anchor in _apart(labels)]
    above, below = (sum(d.y > d.x for d in tasks), sum(d.y < d.x for d in tasks))
    n = sorted({d.n for d in tasks})
    each = f"{n[0]}" if len(n) == 1 else f"{n[0]} to {n[-1]}" if n else "0"
    caption = f"{above} above the line, {len(tasks) - above - below} on it, {below} below"
    title = f"{len(tasks)} tasks, n = {each} each per arm: {caption}"
    parts.append(_label(left, 26, title, kind="head"))
    return _svg(width, height, f"{y} against {x}, by task", parts)


def _radius(dot: Dot) -> float:
    return 4.0 if dot.shade is None else 3.5 + 6 * max(dot.y - dot.shade, 0.0)


def _dot(dot: Dot, x: float, y: float, arms: tuple[str, str, str], scale: float) -> str:
    shade = "" if dot.shade is None else f", {arms[2]} {dot.shade:.0%}"
    title = f"{dot.name}: {arms[0]} {dot.x:.0%}, {arms[1]} {dot.y:.0%}{shade}, n = {dot.n}"
    opacity = 0.75 if dot.shade is None else 0.18 + 0.8 * dot.shade
    return _circle(x, y, _radius(dot) * scale, f"fill-opacity:{opacity:.2f}", title)


def _apart(labels: Sequence[tuple[float, float, str, str]]) -> list[tuple[float, float, str, str]]:
    """Keep the labels that do not lie on one kept before."""
    placed: list[tuple[float, float, str, str]] = []
    occupied: list[tuple[float, float, float]] = []
    for x, y, text, anchor in labels:
        short = text if len(text) <= 24 else f"{text[:22]}…"
        wide = 6.2 * len(short)
        low = x if anchor == "start" else x - wide
        if all(abs(y - other) > 12 or low > end or low + wide < begin for begin, end, other in occupied):
            placed.append((x, y, short, anchor))
            occupied.append((low, low + wide, y))
    return placed


@dataclass(frozen=True, slots=True)
class Bar:
    """One estimate with its interval, in a row of its own."""

    name: str
    estimate: Estimate
    colour: str
    note: str = ""


def _interval(bar: Bar, x0: float, left: float, side: float, y: float, span: tuple[float, float]) -> list[str]:
    low, high = span

    def at(value: float) -> float:
        return left + side * (min(max(value, low), high) - low) / (high - low)

    estimate = bar.estimate
    parts = [_label(left - 10, y + 4, bar.name, "end", "key")]
    if estimate.value is None:
        return [*parts, _label(left + 4, y + 4, "no observation", kind="key")]
    if estimate.low is not None and estimate.high is not None:
        parts.append(_line(at(estimate.low), y, at(estimate.high), y, "whisker", f"stroke:{bar.colour}"))
    title = f"{bar.name}: {bar.note}" if bar.note else bar.name
    parts.append(_circle(at(estimate.value), y, 4.6, f"fill:{bar.colour};stroke:none;fill-opacity:1", title))
    parts.append(_label(left + side + 10, y + 4, bar.note, kind="key"))
    return parts


def forest(bars: Sequence[Bar], title: str) -> Markup:
    """Draw differences with their intervals round a line at nothing."""
    width, names, notes, row, top = 860.0, 230.0, 250.0, 24.0, 26.0
    left, side = names, width - names - notes
    values = [abs(v) for b in bars for v in (b.estimate.value, b.estimate.low, b.estimate.high) if v is not None]
    reach = max(0.2, math.ceil(max(values, default=0.0) * 5) / 5)
    bottom = top + row * len(bars)
    parts: list[str] = []
    for tick in (-reach, -reach / 2, 0.0, reach / 2, reach):
        px = left + side * (tick + reach) / (2 * reach)
        parts.append(_line(px, top - 8, px, bottom, "grid" if tick else "diagonal"))
        parts.append(_label(px, bottom + 16, f"{100 * tick:+.0f}" if tick else "0", "middle", "key"))
    for number, bar in enumerate(bars):
        parts += _interval(bar, 0, left, side, top + row * (number + 0.5), (-reach, reach))
    parts.append(_label(left + side / 2, bottom + 34, title, "middle", "axis"))
    return _svg(width, bottom + 42, title, parts)


def curves(arms: Mapping[str, tuple[Sequence[int], int]]) -> Markup:
    """Draw, for each arm, the share of episodes that had succeeded after 1, 2, ... attempts."""
    left, top, wide, tall = 56.0, 14.0, 420.0, 220.0
    most = max((len(counts) for counts, _ in arms.values()), default=1)

    def at(attempt: int, share: float) -> tuple[float, float]:
        return left + wide * attempt / max(most, 1), top + tall * (1 - share)

    parts: list[str] = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        _, py = at(0, tick)
        parts += [_line(left, py, left + wide, py), _label(left - 8, py + 4, f"{tick:.0%}", "end", "key")]
    parts += [_label(at(n, 0)[0], top + tall + 18, n, "middle", "key") for n in range(most + 1)]
    parts.append(_label(left + wide / 2, top + tall + 38, "attempts", "middle", "axis"))
    ends: list[tuple[float, str, str]] = []
    for arm, (counts, n) in arms.items():
        share, path = 0.0, ["M{:.1f} {:.1f}".format(*at(0, 0))]
        for attempt, won in enumerate([*counts, *[0] * (most - len(counts))], start=1):
            path.append(f"H{at(attempt, 0)[0]:.1f}")
            share += won / n if n else 0
            path.append(f"V{at(attempt, share)[1]:.1f}")
        parts.append(f'<path d="{"".join(path)}" class="curve" style="stroke:{colour(arm)}"/>')
        ends.append((at(most, share)[1], f"{arm} {share:.0%}, n = {n}", colour(arm)))
    y = 0.0
    for level, text, tone in sorted(ends):
        y = max(level + 4, y + 15)
        parts.append(
            f'<text x="{left + wide + 10:.0f}" y="{y:.1f}" class="key" style="fill:{tone}">{_text(text)}</text>'
        )
    return _svg(left + wide + 230, max(top + tall + 46, y + 10), "success by attempt", parts)


LIMIT: Final = 12_000_000
"""Bytes of blocks in a page, as they stand in it."""
_COLUMNS: Final = (
    *("key", "task", "arm", "agent", "seed", "outcome", "attempts", "why", "ending", "harm", "needs", "loops", "start"),
)


@dataclass(frozen=True, slots=True)
class Packed:
    """What a page embeds."""

    index: str
    """Compressed JSON: {columns, rows, tasks, blocks}; a row ends with whether its turns are there."""
    blocks: tuple[str, ...]
    """Compressed JSON, one for each task: {values, episodes: {key: turns}}."""
    left_out: int
    """Episodes whose turns are not embedded."""
    rule: str
    """Which ones, in words."""


def pack(episodes: Sequence[Episode], prompts: dict[str, str], *, limit: int = LIMIT) -> Packed:
    """Pack all turns; where they are too big, those of failures and harm; then none."""
    rules: tuple[tuple[str, Callable[[Sequence[Episode]], list[Episode]]], ...] = (
        ("", list),
        ("Turns are embedded of episodes that failed or did harm only", _failed_episodes),
        ("No turns are embedded", lambda inside: []),
    )
    order = [arm.value for arm in Arm]
    ordered = sorted(episodes, key=lambda e: (e.agent, order.index(e.arm) if e.arm in order else -1, e.seed, e.key))
    tasks = split(ordered, name_of)
    place, included, blocks = 0, tasks, _blocks(tasks)
    while sum(map(len, blocks)) > limit and place + 1 < len(rules):
        place += 1
        included = {task: rules[place][1](inside) for task, inside in tasks.items()}
        blocks = _blocks(included)
    included_ids = {id(episode) for inside in included.values() for episode in inside}
    rows = [_row(episode, id(episode) in included_ids) for inside in tasks.values() for episode in inside]
    index = {"columns": _COLUMNS, "rows": rows, "tasks": list(tasks), "prompts": {t: prompts.get(t, "") for t in tasks}}
    return Packed(squeezed(index), blocks, len(rows) - len(included_ids), rules[place][0])


def _blocks(episodes: Mapping[str, Sequence[Episode]]) -> tuple[str, ...]:
    return tuple(squeezed(_block(inside)) for inside in episodes.values())


def _failed_episodes(episodes: Sequence[Episode]) -> list[Episode]:
    return [episode for episode in episodes if episode.outcome != "success" or episode.harm]


def squeezed(value: Json) -> str:
    """Return JSON, gzipped, in base64: nothing in it can end the element that it stands in."""
    content = json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _row(episode: Episode, is_included: bool) -> list[Json]:
    return [episode.key[:16], name_of(episode), *(getattr(episode, name) for name in _COLUMNS[2:]), is_included]


def _block(episodes: Sequence[Episode]) -> dict[str, Json]:
    places: dict[str, int] = {}
    values: list[Json] = []

    def place(value: Json) -> int:
        text = json.dumps(value, sort_keys=True)
        if text not in places:
            places[text] = len(values)
            values.append(value)
        return places[text]

    def turn(one: Turn, tokens: int | None) -> dict[str, Json]:
        found: dict[str, Json] = {"request": place(one.request), "shown": place(one.shown), "status": one.status}
        rest = one.model_dump(exclude={"request", "shown", "status", "seconds"}, exclude_defaults=True, mode="json")
        return {**found, **rest, **({"tokens": tokens} if tokens else {})}

    def turns(one: Episode) -> Json:
        billed = one.spent.by_turn if one.spent is not None else ()
        return {
            "turns": [turn(made, billed[n] if n < len(billed) else None) for n, made in enumerate(one.turns)],
            "closing": [made.model_dump(exclude_defaults=True) for made in one.closing],
        }

    made = {one.key[:16]: turns(one) for one in episodes}
    return {"values": values, "episodes": made}


_TITLE: Final = {"scripted": "Scripted agents", "model": "Models", "external": "Agents of others"}
_ALL: Final = "all together"


def render(summary: Summary, episodes: Sequence[Episode], *, limit: int = LIMIT) -> str:
    """Return the page. `episodes` are those that the summary is of; their texts are escaped or compressed."""
    prompts = {task: task_facts.get("prompt", "") for task, task_facts in summary.manifest.tasks.items()}
    return html(
        "lift/report/page.html.jinja",
        {"visible": visible, "p": p_text, "points": points_of, "percent": _percent, "span": _span},
        summary=summary,
        manifest=summary.manifest,
        views=[_view(section) for section in summary.sections],
        harms=harms_by_agent(summary),
        packed=pack(episodes, prompts, limit=limit),
        colour=colour,
        transitions=TRANSITIONS,
    )


def harms_by_agent(summary: Summary) -> list[tuple[str, int, int]]:
    """Return each agent that did harm, how often, and how often by a suggestion; the most first.

    Harm under arms that are wrong on purpose is left out.
    """
    harms = [harm for one in summary.sections for harm in one.harms if not harm.on_purpose]
    advised = Counter(harm.agent for harm in harms if harm.advised)
    return [(agent, n, advised[agent]) for agent, n in Counter(harm.agent for harm in harms).most_common()]


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
        "agents": legend.agent_lines(section.agents, section.kind, section.fake),
        "arms": legend.arm_lines(section.arms),
        "third": third,
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
        "forest": forest_of(section),
        "figures": [
            (
                agent or (_ALL if section.kind != "scripted" else "share of all scripts"),
                agent,
                dots(_dots(section, agent, second, first, third), second, first, third),
                _within(section, section.domains, agent),
                _within(section, section.needs, agent),
                curves_of(section, agent),
            )
            for agent in who
        ],
        "origins": _within(section, section.origins, _standing(section)),
    }


def forest_of(section: Section) -> Markup:
    """Draw the declared comparisons."""
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
        for comparison in section.comparisons
    ]
    return forest(bars, f"{section.primary[0]} less {section.primary[1]}, points") if bars else Markup("")


def _dots(section: Section, agent: str, x: str, y: str, third: str) -> list[Dot]:
    return [
        Dot(
            point.task, point.rates[x], point.rates[y], point.rates.get(third) if third not in (x, y) else None,
            min(point.n[x], point.n[y]),
        )
        for point in section.points
        if point.agent == agent and x in point.rates and y in point.rates
    ]  # fmt: skip


def curves_of(section: Section, agent: str = POOLED) -> Markup:
    """Draw success by attempt; of all agents together by default."""
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


def _within(section: Section, rates: Sequence[Rate], agent: str) -> list[tuple[str, int, list[Rate | None]]]:
    """Return an agent's rates within each domain, need or origin: its name, its tasks, and a rate for each arm."""
    found = []
    for name in dict.fromkeys(rate.within for rate in rates if rate.agent == agent):
        by_arm = {rate.arm: rate for rate in rates if (rate.within, rate.agent) == (name, agent)}
        tasks = max(rate.tasks for rate in by_arm.values())
        found.append((name, tasks, [by_arm.get(arm) for arm in section.arms]))
    return found


def _standing(section: Section) -> str:
    """Return the agent that stands for the section: all together, else the first that follows the contract."""
    agents = {rate.agent for rate in section.rates}
    return POOLED if POOLED in agents else next((name for name in FAITHFUL if name in agents), min(agents, default=""))
