"""A log's figures for a publication: CSV, LaTeX tables (booktabs), and SVG figures that stand alone.

Pure: returns texts by file name. The same figures as in the report; nothing is computed here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.conformance.lift.log.record import Episode
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED
from corrigible.conformance.lift.stats.way import own, wrong_turns

from .figure import COLOURS
from .page import curves_of, forest_of
from .summary import Section, Summary, p_text, points_of

_HUES: Final = ("#9aa0a6", "#7a8088", "#b26a00", "#1a73b8", "#0b7a5a", "#8d5fb0", "#b3261e", "#5b6b2f")
"""Of the arms, in the order of `COLOURS`."""
_STYLE: Final = (
    "svg{font:12px system-ui,sans-serif}text{fill:#1d2125}.key{fill:#646b73;font-size:11.5px}"
    ".axis{fill:#646b73;font-size:13px}.head{font-weight:600}.grid{stroke:#e2dfda}.frame{fill:none;stroke:#e2dfda}"
    ".diagonal{stroke:#646b73;stroke-dasharray:4 4}.whisker{stroke-width:2}.curve{fill:none;stroke-width:2}"
)
_TEX: Final[Mapping[str, str]] = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip

EPISODES: Final = (
    "kind", "start", "domain", "task", "needs", "arm", "agent", "seed", "outcome", "attempts", "calls", "reads",
    "refused_writes", "wrong_turns", "harms", "input_tokens", "output_tokens", "seconds", "ending", "why",
)  # fmt: skip


def export(summary: Summary, episodes: Sequence[Episode]) -> dict[str, str]:
    """Return all files: `episodes.csv`, and for each kind and start its tables and figures."""
    files = {"episodes.csv": _csv(EPISODES, map(_episode, episodes))}
    for section in summary.sections:
        name = f"{section.kind}-{section.start}"
        files[f"success-{name}.csv"] = _csv(_RATES, _rates(section))
        files[f"comparison-{name}.csv"] = _csv(_COMPARISONS, _comparisons(section))
        files[f"way-{name}.csv"] = _csv(_WAYS, _ways(section))
        files[f"success-{name}.tex"] = _success_table(section)
        if section.comparisons:
            files[f"comparison-{name}.tex"] = _comparison_table(section)
        for figure, drawn in (("attempts", curves_of(section)), ("comparison", forest_of(section))):
            if drawn:
                files[f"{figure}-{name}.svg"] = alone(str(drawn))
    return files


def alone(figure: str) -> str:
    """Return an SVG of the page as a file of its own: with its name space, its size and its colours."""
    for name, hue in zip(COLOURS.values(), _HUES, strict=True):
        figure = figure.replace(f"var({name})", hue)
    figure = figure.replace("var(--soft)", "#646b73").replace("var(--ink)", "#1d2125")
    return figure.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(
        ">", f"><style>{_STYLE}</style>", 1
    )


def tex(text: object) -> str:
    """Return a text that LaTeX prints as it is."""
    return "".join(_TEX.get(char, char) for char in str(text))


def _csv(head: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([["" if value is None else _plain(value) for value in row] for row in rows])
    return out.getvalue()


def _plain(value: object) -> object:
    """Return a value that no spreadsheet takes for a formula: texts come from APIs and models."""
    return f"'{value}" if isinstance(value, str) and re.match(r"[=+\-@\t\r]", value) else value


def _episode(one: Episode) -> Sequence[object]:
    turns = own(one)
    judged = all(turn.astray is not None for turn in turns if not turn.read)
    spent = one.spent
    return (
        *(one.kind, one.start, one.domain, one.task, one.needs, one.arm, one.agent, one.seed, one.outcome),
        *(one.attempts, len(turns), sum(turn.read for turn in turns)),
        sum(not turn.accepted and not turn.read for turn in turns),
        wrong_turns(one) if judged else None,
        len(one.harm),
        *((spent.input, spent.output) if spent is not None else (None, None)),
        *(one.seconds, one.ending, one.why),
    )


_RATES: Final = ("agent", "arm", "successes", "n", "rate", "low", "high", "tasks", "errors")


def _rates(section: Section) -> Iterator[Sequence[object]]:
    for one in section.rates:
        rate = one.success
        yield (
            _agent(one.agent),
            one.arm,
            one.successes,
            rate.n,
            rate.value,
            rate.low,
            rate.high,
            one.tasks,
            one.errors,
        )


_COMPARISONS: Final = (
    "agent", "first", "second", "declared", "difference", "low", "high", "tasks", "sign_flip_p", "holm_p", "tost_p",
    "calls_ratio", "calls_ratio_low", "calls_ratio_high", "calls_tasks",
)  # fmt: skip


def _comparisons(section: Section) -> Iterator[Sequence[object]]:
    ratios = {(ratio.agent, ratio.first, ratio.second): ratio.ratio for ratio in section.ratios}
    for declared, inside in ((True, section.comparisons), (False, section.secondary)):
        for one in inside:
            ratio = ratios.get((one.agent, one.first, one.second), Estimate(None, None, None, 0))
            yield (
                *(_agent(one.agent), one.first, one.second, declared and section.declared),
                *_values(one.difference.estimate),
                *(one.difference.p, one.adjusted, one.tie),
                *_values(ratio),
            )


_FIGURES: Final = (
    *("calls", "reads", "refused", "seconds", "tokens", "wrong_turns"),
    *("clean", "false_stops", "false_done", "asked"),
)
_WAYS: Final = ("agent", "arm", "n", *(f"{name}{part}" for name in _FIGURES for part in ("", "_low", "_high", "_n")))


def _ways(section: Section) -> Iterator[Sequence[object]]:
    for one in section.ways:
        yield (one.agent, one.arm, one.n, *(value for name in _FIGURES for value in _values(getattr(one, name))))


def _values(estimate: Estimate) -> tuple[object, ...]:
    return estimate.value, estimate.low, estimate.high, estimate.n


def _agent(name: str) -> str:
    return name if name != POOLED else "all together"


def _success_table(section: Section) -> str:
    rates = {(rate.agent, rate.arm): rate for rate in section.rates}
    rows = []
    for agent in dict.fromkeys(rate.agent for rate in section.rates):
        cells = [tex(_agent(agent))]
        for arm in section.arms:
            rate = rates.get((agent, arm))
            value = rate.success.value if rate is not None else None
            cells.append("--" if rate is None or value is None else f"{100 * value:.0f}\\,\\%{_span(rate.success)}")
        rows.append(cells)
    caption = f"Success with Wilson's 95\\,\\% interval, from the {section.start} on, {section.tasks} tasks."
    return _table(section, ("Agent", *section.arms), rows, caption)


def _comparison_table(section: Section) -> str:
    first, second = section.primary
    rows = [
        [
            tex(_agent(one.agent)),
            points_of(one.difference.estimate.value) + _span(one.difference.estimate),
            str(one.difference.estimate.n),
            tex(p_text(one.difference.p)),
            tex(p_text(one.tie)) if one.tie is not None else "--",
        ]
        for one in section.comparisons
    ]
    told = "declared before the run" if section.declared else "chosen after the run"
    caption = f"{tex(first)} less {tex(second)} in points over tasks ({told}), from the {section.start} on."
    return _table(section, ("Agent", "difference", "tasks", "sign-flip p", "TOST p"), rows, caption)


def _span(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


def _table(section: Section, head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
    ]
    lines += [" & ".join(map(tex, head)) + r" \\", r"\midrule"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if section.kind == "scripted":
        lines.append(r"\par Scripted agents, no models: no figure of theirs is LLM lift.")
    if section.fake:
        lines.append(rf"\par {tex(', '.join(section.fake))}: fake providers, no models.")
    return "\n".join([*lines, r"\end{table}", ""])
