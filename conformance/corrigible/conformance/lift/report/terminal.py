"""What a person at a terminal sees: what may be claimed, then the tables that it rests on, within 100 columns."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corrigible.conformance.lift.log.record import FAITHFUL
from corrigible.conformance.lift.stats.comparison import Comparison
from corrigible.conformance.lift.stats.conduct import Uptake
from corrigible.conformance.lift.stats.effort import Effort
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED
from corrigible.conformance.lift.stats.rate import Rate
from corrigible.conformance.report.plain import one_line

from .summary import Section, Summary, p_text, points_of

WIDTH: Final = 100
SHORT: Final = {
    "traditional": "tradit.",
    "reflective": "reflect.",
    "reflective-patches": "patches",
    "length-matched": "length",
}
"""Names of arms in narrow columns."""
_MOST: Final = 12
"""Lines of a list; the page has them all."""


def render(summary: Summary, *, coloured: bool = False) -> str:
    """Return what is printed."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=WIDTH,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for section in summary.sections:
        _section(console, section)
    for line in summary.caveats:
        console.print(Text(f"! {one_line(line)}", style="yellow"))
    console.print(
        Text(
            f"{summary.episodes} episodes, {summary.tasks} tasks, {summary.errors} errors (no observations),"
            f" {summary.harms} harms outside arms that are wrong on purpose,"
            f" {summary.harms_advised} of them by following a suggestion",
            style="bold red" if summary.harms else "bold",
        )
    )
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _section(console: Console, section: Section) -> None:
    kind = {"scripted": "SCRIPTED AGENTS, NO MODELS", "model": "MODELS", "external": "EXTERNAL AGENTS"}[section.kind]
    console.print(Text(f"{kind}: {section.episodes} episodes of {section.tasks} tasks", style="bold"))
    console.print(Text(one_line(section.claim, 1000)))
    parts: tuple[tuple[str, Table | None], ...] = (
        ("Success, with Wilson's 95 % interval", _grid(section, section.rates, _success)),
        (_family(section), _comparison(section.comparisons)),
        ("the same, as papers do: repeats of a task count as independent", _as_papers(section.comparisons)),
        ("Success by domain, %", _within(section.domains, section)),
        ("Success by what a repair needs beyond the answer, %", _within(section.needs, section)),
        ("Succeeded after a first refusal", _grid(section, section.efforts, _recovered)),
        ("Attempts to success, mean over tasks", _grid(section, section.efforts, _attempts)),
        ("Suggestions followed, of those that another call came after", _grid(section, section.uptakes, _uptake)),
        ("Tokens per success", _grid(section, section.efforts, _tokens)),
        ("Reflections", _deaths(section)),
        (
            "Strategies of one model; pool A: attempts where the first got there late; B: solved where it never did",
            _strategies(section),
        ),
    )
    for title, table in parts:
        if table is not None:
            console.print(Text(f"\n{title}", style="bold cyan"))
            console.print(table)
    _list(
        console,
        "Harm",
        [
            f"{h.what}: {h.agent} {h.task} {h.arm} seed {h.seed}: {h.text}"
            + (" (the arm is wrong on purpose)" if h.on_purpose else "")
            for h in section.harms
        ],
    )
    warned = sum(one.warned for one in section.circles)
    if warned:
        stopped = sum(one.stopped for one in section.circles)
        stuck = sum(one.stuck for one in section.circles)
        console.print(
            f"\nLoop breaker spoke in {warned} episodes; {stopped} ended for it; {stuck} were stuck to the end."
        )
    _list(
        console,
        "Errors: no observations",
        [f"{c.n} x {c.why} ({', '.join(f'{arm} {n}' for arm, n in c.arms.items())})" for c in section.crashes],
    )
    _list(console, "Not observed", [f"{d.task} {d.agent} {d.arm}: {d.why}" for d in section.dropped])
    console.print()


def _family(section: Section) -> str:
    first, second = section.primary
    how = "declared before the run" if section.declared else "chosen AFTER the run: for a look only"
    return f"{first} less {second}, in points, over tasks ({how})"


def _table(*heads: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(heads[0], overflow="fold", min_width=15, max_width=18 if len(heads) > 6 else 34)
    for head in heads[1:]:
        table.add_column(head, justify="right", overflow="fold")
    return table


def _who(agent: str) -> Text:
    return Text(one_line(agent, 60) if agent != POOLED else "all of them")


class _Cell(Protocol):
    """A figure of an agent under an arm."""

    @property
    def agent(self) -> str: ...
    @property
    def arm(self) -> str: ...


_C = TypeVar("_C", bound=_Cell)


def _grid(section: Section, figures: Sequence[_C], text: Callable[[_C], str | None]) -> Table | None:
    """Return a table of agents and arms, without agents that have no figure. `text` returns None for no figure."""
    table = _table("agent", *(SHORT.get(arm, one_line(arm, 8)) for arm in section.arms))
    by_cell = {(figure.agent, figure.arm): text(figure) or "-" for figure in figures}
    for agent in dict.fromkeys(rate.agent for rate in section.rates):
        cells = [by_cell.get((agent, arm), "-") for arm in section.arms]
        if set(cells) != {"-"}:
            table.add_row(_who(agent), *cells)
    return table if table.row_count else None


def _success(rate: Rate) -> str | None:
    if rate.success.value is None:
        return None
    return f"{percent(rate.success.value)}\n{interval(rate.success)}\n{rate.successes}/{rate.success.n}"


def _recovered(effort: Effort) -> str | None:
    share = effort.recovered.value
    return None if share is None else f"{percent(share)}\nof {effort.refused}"


def _attempts(effort: Effort) -> str | None:
    return None if effort.attempts.value is None else f"{effort.attempts.value:.1f}"


def _uptake(uptake: Uptake) -> str | None:
    share = uptake.followed.value
    return None if share is None else f"{percent(share)}\nof {uptake.offered}"


def _tokens(effort: Effort) -> str | None:
    return None if effort.tokens is None or effort.tokens_per_success is None else f"{effort.tokens_per_success:,.0f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def interval(one: Estimate, digits: int = 0, scale: float = 100) -> str:
    """Return `low-high`, nothing where there is none."""
    if one.low is None or one.high is None:
        return ""
    low, high = (f"{scale * value:.{digits}f}" for value in (one.low, one.high))
    return f"{low}..{high}"


def _comparison(found: Sequence[Comparison]) -> Table | None:
    if not found:
        return None
    table = _table("agent", "difference", "95 % (tasks)", "tasks", "sign-flip p", "Holm", "ICC", "eff. n", "tie p")
    for one in found:
        estimate = one.difference.estimate
        icc = [c for c in one.clusterings if c is not None]
        table.add_row(
            _who(one.agent),
            points_of(estimate.value),
            f"{points_of(estimate.low)}..{points_of(estimate.high)}" if estimate.low is not None else "-",
            str(estimate.n),
            p_text(one.difference.p) + ("" if one.difference.exact or one.difference.p is None else "~"),
            "-" if one.adjusted is None else p_text(one.adjusted),
            "/".join(f"{c.icc:.2f}" for c in icc) or "-",
            "/".join(f"{c.effective_n:.0f}" for c in icc) or "-",
            "-" if one.tie is None else p_text(one.tie),
        )
    return table


def _as_papers(found: Sequence[Comparison]) -> Table | None:
    if not found:
        return None
    table = _table("agent", "pairs", "both/1st/2nd/none", "McNemar p", "Newcombe 95 %", "Fisher p", "odds ratio")
    for one in found:
        table.add_row(
            _who(one.agent),
            str(one.table.n),
            "/".join(map(str, one.table)),
            p_text(one.mcnemar),
            interval(one.newcombe),
            p_text(one.fisher),
            "-" if one.odds_ratio is None else f"{one.odds_ratio:.1f}",
        )
    return table


def _within(found: Iterable[Rate], section: Section) -> Table | None:
    cells = {(one.within, one.agent, one.arm): one for one in found}
    table = _table("agent", "of", *(SHORT.get(arm, one_line(arm, 8)) for arm in section.arms))
    for within, agent in dict.fromkeys((one.within, one.agent) for one in found):
        if section.kind == "scripted" and agent not in FAITHFUL and set(FAITHFUL) & set(section.agents):
            continue
        row = [cells.get((within, agent, arm)) for arm in section.arms]
        shown = ["-" if o is None or o.success.value is None else f"{100 * o.success.value:.0f}" for o in row]
        n = next((one.tasks for one in row if one is not None), 0)
        table.add_row(_who(agent), f"{one_line(within, 12)} ({n})", *shown)
    return table if 0 < table.row_count <= 60 else None


def _deaths(section: Section) -> Table | None:
    if not section.deaths:
        return None
    table = _table("agent", "arm", "episodes", "death loops", "repeated", "lifted", "unreadable", "first diagnosed")
    for one in section.deaths:
        loops = "-" if one.loops.value is None else f"{percent(one.loops.value)} of {one.loops.n}"
        first = ", ".join(f"{one_line(name, 24)} {n}" for name, n in list(one.first.items())[:2])
        counts = (str(n) for n in (one.repeated, one.lifted, one.unreadable))
        table.add_row(_who(one.agent), SHORT.get(one.arm, one.arm), str(one.episodes), loops, *counts, first)
    return table


def _strategies(section: Section) -> Table | None:
    if not section.flips:
        return None
    table = _table("model", "strategy", "pairs", "++/-+/+-/--", "points", "McNemar p", "pool A", "pool B")
    for one in section.flips:
        a, b = ("-" if e.value is None else f"{e.value:.1f}" for e in one.late_attempts)
        solved = "-" if one.never_solved.value is None else percent(one.never_solved.value)
        table.add_row(
            Text(one_line(one.model, 40)),
            f"{one.baseline} > {one.strategy}",
            str(one.table.n),
            "/".join(map(str, one.table)),
            points_of(one.difference.value),
            p_text(one.mcnemar),
            f"{a} > {b}",
            f"{solved}/{one.never}",
        )
    return table


def _list(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(Text(f"\n{title} ({len(lines)})", style="bold cyan"))
    for line in lines[:_MOST]:
        console.print(Padding(Text(one_line(line)), (0, 0, 0, 2)))
    if len(lines) > _MOST:
        console.print(f"  and {len(lines) - _MOST} more: --html and --json have them all")
