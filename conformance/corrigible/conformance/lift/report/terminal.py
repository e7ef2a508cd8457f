"""What a person at a terminal sees: what may be claimed, then the tables that it rests on, within 100 columns."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corrigible.conformance.lift.log import FAITHFUL
from corrigible.conformance.lift.report.summary import Section, Summary, p_text, points_of
from corrigible.conformance.lift.stats.comparison import Strategies
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
        (_family(section), _listed(section.comparisons, _COMPARISON)),
        ("the same, as papers do: repeats of a task count as independent", _listed(section.comparisons, _AS_PAPERS)),
        ("Success by domain, %", _within(section.domains, section)),
        ("Success by what a repair needs beyond the answer, %", _within(section.needs, section)),
        *((title, _grid(section, getattr(section, figures), text)) for title, figures, text in _CELLS),
        (f"Calls to resolution, {section.primary[0]} over {section.primary[1]}", _listed(section.ratios, _RATIOS)),
        *((title, _grid(section, getattr(section, figures), text)) for title, figures, text in _MORE_CELLS),
        ("Reflections", _listed(section.deaths, _DEATHS)),
        (
            "Strategies of one model; pool A: attempts where the first got there late; B: solved where it never did",
            _listed(section.flips, _STRATEGIES),
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


_Columns = Mapping[str, Callable[[Any], str | Text]]


def _listed(rows: Sequence[Any], columns: _Columns) -> Table | None:
    """Return a table with a row for each figure, None without any. `columns`: the head, and what a cell says."""
    table = _table(*columns)
    for row in rows:
        table.add_row(*(text(row) for text in columns.values()))
    return table if rows else None


def _each(values: Iterable[Any], text: Callable[[Any], str]) -> str:
    return "/".join(text(value) for value in values if value is not None) or "-"


def _p(p: float | None, exact: bool) -> str:
    """Return a p; `~`: by drawn flips, not by all."""
    return p_text(p) + ("" if exact or p is None else "~")


def _pools(result: Strategies) -> str:
    solved = result.pool_b_solved.value
    return f"{'-' if solved is None else percent(solved)}/{result.pool_b}"


_COMPARISON: Final[_Columns] = {
    "agent": lambda one: _agent_text(one.agent),
    "difference": lambda one: points_of(one.difference.estimate.value),
    "95 % (tasks)": lambda one: "-" if (e := one.difference.estimate).low is None else _span(e),
    "tasks": lambda one: str(one.difference.estimate.n),
    "sign-flip p": lambda one: _p(one.difference.p, one.difference.exact),
    "Holm": lambda one: "-" if one.adjusted is None else p_text(one.adjusted),
    "ICC": lambda one: _each(one.clusterings, lambda c: f"{c.icc:.2f}"),
    "eff. n": lambda one: _each(one.clusterings, lambda c: f"{c.effective_n:.0f}"),
    "tie p": lambda one: "-" if one.tie is None else p_text(one.tie),
}
_AS_PAPERS: Final[_Columns] = {
    "agent": lambda one: _agent_text(one.agent),
    "pairs": lambda one: str(one.table.n),
    "both/1st/2nd/none": lambda one: _each(one.table, str),
    "McNemar p": lambda one: p_text(one.mcnemar),
    "Newcombe 95 %": lambda one: interval(one.newcombe),
    "Fisher p": lambda one: p_text(one.fisher),
    "odds ratio": lambda one: _number(one.odds_ratio, ".1f") or "-",
}
_DEATHS: Final[_Columns] = {
    "agent": lambda one: _agent_text(one.agent),
    "arm": lambda one: SHORT.get(one.arm, one.arm),
    "episodes": lambda one: str(one.episodes),
    "death loops": lambda one: "-" if one.loops.value is None else f"{percent(one.loops.value)} of {one.loops.n}",
    "repeated": lambda one: str(one.repeated),
    "lifted": lambda one: str(one.lifted),
    "unreadable": lambda one: str(one.unreadable),
    "first diagnosed": lambda one: ", ".join(f"{one_line(name, 24)} {n}" for name, n in list(one.first.items())[:2]),
}
_STRATEGIES: Final[_Columns] = {
    "model": lambda one: Text(one_line(one.model, 40)),
    "strategy": lambda one: f"{one.baseline} > {one.strategy}",
    "pairs": lambda one: str(one.result.table.n),
    "++/-+/+-/--": lambda one: _each(one.result.table, str),
    "points": lambda one: points_of(one.result.difference.value),
    "McNemar p": lambda one: p_text(one.result.test.exact),
    "pool A": lambda one: " > ".join(_number(e.value, ".1f") or "-" for e in one.result.pool_a_attempts),
    "pool B": lambda one: _pools(one.result),
}
_RATIOS: Final[_Columns] = {
    "agent": lambda one: _agent_text(one.agent),
    "ratio": lambda one: _number(one.ratio.value, ".2f") or "-",
    "95 % (tasks)": lambda one: interval(one.ratio, 2, 1) or "-",
    "solved in both": lambda one: str(one.ratio.n),
    "sign-flip p": lambda one: _p(one.p, one.exact),
}


def _span(estimate: Estimate) -> str:
    return f"{points_of(estimate.low)}..{points_of(estimate.high)}"


def _list(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(Text(f"\n{title} ({len(lines)})", style="bold cyan"))
    for line in lines[:_MOST]:
        console.print(Padding(Text(one_line(line)), (0, 0, 0, 2)))
    if len(lines) > _MOST:
        console.print(f"  and {len(lines) - _MOST} more: --html and --json have them all")
