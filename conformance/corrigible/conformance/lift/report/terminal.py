"""What a person at a terminal sees: what may be claimed, then the tables that it rests on, within 100 columns."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corrigible.conformance.lift.log import FAITHFUL
from corrigible.conformance.lift.report.summary import Section, Summary, p_text, points_of
from corrigible.conformance.lift.stats.comparison import Comparison
from corrigible.conformance.lift.stats.conduct import Way
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED, Effort, Rate
from corrigible.conformance.report.terminal import one_line

WIDTH: Final = 100
SHORT: Final = {
    "traditional": "tradit.",
    "reflective": "reflect.",
    "reflective-patches": "patches",
    "length-matched": "length",
}
"""Names of arms in narrow columns."""
START: Final = {"wish": "from the wish on", "refusal": "from the refusal on"}
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
    start = START[section.start]
    console.print(Text(f"{kind}, {start}: {section.episodes} episodes of {section.tasks} tasks", style="bold"))
    console.print(Text(one_line(section.claim, 1000)))
    parts: tuple[tuple[str, Table | None], ...] = (
        ("Success, with Wilson's 95 % interval", _grid(section, section.rates, _success)),
        (_family(section), _comparison(section.comparisons)),
        ("the same, as papers do: repeats of a task count as independent", _as_papers(section.comparisons)),
        ("Success by domain, %", _within(section.domains, section)),
        ("Success by what a repair needs beyond the answer, %", _within(section.needs, section)),
        *((title, _grid(section, getattr(section, figures), text)) for title, figures, text in _CELLS),
        (f"Calls to resolution, {section.primary[0]} over {section.primary[1]}", _ratios(section)),
        *((title, _grid(section, getattr(section, figures), text)) for title, figures, text in _MORE_CELLS),
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
    _list(console, "Registered before the run", section.goals)
    _list(
        console,
        "Harm",
        [
            f"{h.what}: {h.agent} {h.task} {h.arm} seed {h.seed}: {h.text}"
            + (" (the arm is wrong on purpose)" if h.on_purpose else "")
            for h in section.harms
        ],
    )
    warned = sum(repeated.warned for repeated in section.circles)
    if warned:
        stopped = sum(repeated.stopped for repeated in section.circles)
        stuck = sum(repeated.stuck for repeated in section.circles)
        console.print(
            f"\nLoop breaker acted in {warned} episodes; {stopped} ended because of it; {stuck} were stuck to the end."
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
    label = "declared before the run" if section.declared else "chosen AFTER the run: for a look only"
    return f"{first} less {second}, in points, over tasks ({label})"


def _table(*heads: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(heads[0], overflow="fold", min_width=15, max_width=18 if len(heads) > 6 else 34)
    for head in heads[1:]:
        table.add_column(head, justify="right", overflow="fold")
    return table


def _agent_text(agent: str) -> Text:
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
            table.add_row(_agent_text(agent), *cells)
    return table if table.row_count else None


def _success(rate: Rate) -> str | None:
    if rate.success.value is None:
        return None
    return f"{percent(rate.success.value)}\n{interval(rate.success)}\n{rate.successes}/{rate.success.n}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def interval(estimate: Estimate, digits: int = 0, scale: float = 100) -> str:
    """Return `low-high`, nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (f"{scale * value:.{digits}f}" for value in (estimate.low, estimate.high))
    return f"{low}..{high}"


def _comparison(comparisons: Sequence[Comparison]) -> Table | None:
    if not comparisons:
        return None
    table = _table("agent", "difference", "95 % (tasks)", "tasks", "sign-flip p", "Holm", "ICC", "eff. n", "tie p")
    for comparison in comparisons:
        estimate = comparison.difference.estimate
        icc = [c for c in comparison.clusterings if c is not None]
        table.add_row(
            _agent_text(comparison.agent),
            points_of(estimate.value),
            f"{points_of(estimate.low)}..{points_of(estimate.high)}" if estimate.low is not None else "-",
            str(estimate.n),
            p_text(comparison.difference.p)
            + ("" if comparison.difference.exact or comparison.difference.p is None else "~"),
            "-" if comparison.adjusted is None else p_text(comparison.adjusted),
            "/".join(f"{c.icc:.2f}" for c in icc) or "-",
            "/".join(f"{c.effective_n:.0f}" for c in icc) or "-",
            "-" if comparison.tie is None else p_text(comparison.tie),
        )
    return table


def _as_papers(comparisons: Sequence[Comparison]) -> Table | None:
    if not comparisons:
        return None
    table = _table("agent", "pairs", "both/1st/2nd/none", "McNemar p", "Newcombe 95 %", "Fisher p", "odds ratio")
    for comparison in comparisons:
        table.add_row(
            _agent_text(comparison.agent),
            str(comparison.table.n),
            "/".join(map(str, comparison.table)),
            p_text(comparison.mcnemar),
            interval(comparison.newcombe),
            p_text(comparison.fisher),
            "-" if comparison.odds_ratio is None else f"{comparison.odds_ratio:.1f}",
        )
    return table


def _within(rates: Iterable[Rate], section: Section) -> Table | None:
    cells = {(rate.within, rate.agent, rate.arm): rate for rate in rates}
    table = _table("agent", "of", *(SHORT.get(arm, one_line(arm, 8)) for arm in section.arms))
    for within, agent in dict.fromkeys((rate.within, rate.agent) for rate in rates):
        if section.kind == "scripted" and agent not in FAITHFUL and set(FAITHFUL) & set(section.agents):
            continue
        row = [cells.get((within, agent, arm)) for arm in section.arms]
        shown = ["-" if o is None or o.success.value is None else f"{100 * o.success.value:.0f}" for o in row]
        n = next((rate.tasks for rate in row if rate is not None), 0)
        table.add_row(_agent_text(agent), f"{one_line(within, 12)} ({n})", *shown)
    return table if 0 < table.row_count <= 60 else None


def _deaths(section: Section) -> Table | None:
    if not section.deaths:
        return None
    table = _table("agent", "arm", "episodes", "death loops", "repeated", "lifted", "unreadable", "first diagnosed")
    for loop in section.deaths:
        loops = "-" if loop.loops.value is None else f"{percent(loop.loops.value)} of {loop.loops.n}"
        first = ", ".join(f"{one_line(name, 24)} {n}" for name, n in list(loop.first.items())[:2])
        counts = (str(n) for n in (loop.repeated, loop.lifted, loop.unreadable))
        table.add_row(_agent_text(loop.agent), SHORT.get(loop.arm, loop.arm), str(loop.episodes), loops, *counts, first)
    return table


def _strategies(section: Section) -> Table | None:
    if not section.flips:
        return None
    table = _table("model", "strategy", "pairs", "++/-+/+-/--", "points", "McNemar p", "pool A", "pool B")
    for comparison in section.flips:
        a, b = ("-" if e.value is None else f"{e.value:.1f}" for e in comparison.result.pool_a_attempts)
        result = comparison.result
        solved = "-" if result.pool_b_solved.value is None else percent(result.pool_b_solved.value)
        table.add_row(
            Text(one_line(comparison.model, 40)),
            f"{comparison.baseline} > {comparison.strategy}",
            str(result.table.n),
            "/".join(map(str, result.table)),
            points_of(result.difference.value),
            p_text(result.test.exact),
            f"{a} > {b}",
            f"{solved}/{result.pool_b}",
        )
    return table


def _share(share: Estimate, n: int) -> str | None:
    return None if share.value is None else f"{percent(share.value)}\nof {n}"


def _number(value: float | None, form: str) -> str | None:
    return None if value is None else format(value, form)


def _calls(way: Way) -> str | None:
    return None if way.calls.value is None else f"{way.calls.value:.1f}\n{interval(way.calls, 1, 1)}"


def _reads(way: Way) -> str | None:
    if way.reads.value is None or way.refused.value is None:
        return None
    return f"{way.reads.value:.1f} + {way.refused.value:.1f}"


def _tokens(effort: Effort) -> str | None:
    return None if effort.tokens is None else _number(effort.tokens_per_success, ",.0f")


_CELLS: Final[tuple[tuple[str, str, Callable[[Any], str | None]], ...]] = (
    ("Succeeded after a first refusal", "efforts", lambda one: _share(one.recovered, one.refused)),
    ("Attempts to success, mean over tasks", "efforts", lambda one: _number(one.attempts.value, ".1f")),
    ("Calls to resolution (reads and failed ones too), mean over tasks", "ways", _calls),
    ("Of these, reads + refused writes", "ways", _reads),
    ("Seconds of an episode that succeeded, mean over tasks", "ways", lambda one: _number(one.seconds.value, ".2g")),
    (
        "Wrong turns: writes that the prompt did not ask for, an episode",
        "ways",
        lambda one: _number(one.wrong_turns.value, ".2f"),
    ),
    ("Possible tasks that the agent gave up on", "ways", lambda one: _share(one.false_stops, one.false_stops.n)),
    ("Said to be done, and not so", "ways", lambda one: _share(one.false_done, one.false_done.n)),
    ("Questions at the right place: a person had to act", "ways", lambda one: _share(one.asked, one.asked.n)),
)
"""Tables of agents and arms: the title, where the section has their figures, and what a cell says of one."""
_MORE_CELLS: Final[tuple[tuple[str, str, Callable[[Any], str | None]], ...]] = (
    (
        "Suggestions followed, of those that another call came after",
        "uptakes",
        lambda one: _share(one.followed, one.offered),
    ),
    (
        "Tokens of a refused answer (estimated), mean over tasks",
        "efforts",
        lambda one: _number(one.answer_tokens, ",.0f"),
    ),
    ("Tokens per success", "efforts", _tokens),
)


def _ratios(section: Section) -> Table | None:
    if not section.ratios:
        return None
    table = _table("agent", "ratio", "95 % (tasks)", "solved in both", "sign-flip p")
    for one in section.ratios:
        value = "-" if one.ratio.value is None else f"{one.ratio.value:.2f}"
        p = p_text(one.p) + ("" if one.exact or one.p is None else "~")
        table.add_row(_agent_text(one.agent), value, interval(one.ratio, 2, 1) or "-", str(one.ratio.n), p)
    return table


def _list(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(Text(f"\n{title} ({len(lines)})", style="bold cyan"))
    for line in lines[:_MOST]:
        console.print(Padding(Text(one_line(line)), (0, 0, 0, 2)))
    if len(lines) > _MOST:
        console.print(f"  and {len(lines) - _MOST} more: --html and --json have them all")
