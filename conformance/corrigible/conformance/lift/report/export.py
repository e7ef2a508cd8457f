"""A log's figures for a publication, and its episodes as logs of Inspect AI. Pure: texts by file name.

CSV, LaTeX tables (booktabs), SVG figures that stand alone, and the same as PDF. Nothing is computed here. A log of
Inspect is one for each start, agent and arm, in the form of its JSON logs, version 2: a sample is a task, an epoch a
seed; an episode that crashed is a sample with an error, and no score.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from corrigible.conformance.lift.log import Episode, Manifest, Turn
from corrigible.conformance.lift.report.page import COLOURS, curves_of, forest_of
from corrigible.conformance.lift.report.summary import Section, Summary, p_text, points_of
from corrigible.conformance.lift.stats.conduct import own, wrong_turns
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED, name_of
from corrigible.schema.exchange import Json

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


VERSION: Final = 2
"""Of the form of Inspect's logs."""
SCORER: Final = "end_state"
_VALUES: Final[Mapping[str, str]] = {"success": "C", "failure": "I"}


def inspect_logs(manifest: Manifest, episodes: Sequence[Episode]) -> dict[str, str]:
    """Return logs by file name."""
    groups: dict[tuple[str, str, str], list[Episode]] = {}
    for one in episodes:
        groups.setdefault((one.start, one.agent, one.arm), []).append(one)
    return {_file_name(inside): json.dumps(_log(manifest, inside), indent=1) + "\n" for inside in groups.values()}


def _file_name(episodes: Sequence[Episode]) -> str:
    """Return a name as Inspect gives it, time first: its lists leave out any other."""
    first = episodes[0]
    began = _time(min(one.at for one in episodes)).partition(".")[0].partition("+")[0].replace(":", "-")
    name = re.sub(r"[^\w.]+", "-", f"{first.start}-{first.agent}-{first.arm}", flags=re.ASCII)
    return f"{began}_{name}_{_digest(episodes)[:8]}.json"


def _digest(episodes: Sequence[Episode]) -> str:
    return hashlib.sha256("".join(one.key for one in episodes).encode()).hexdigest()


def _log(manifest: Manifest, episodes: Sequence[Episode]) -> dict[str, Json]:
    first = episodes[0]
    seeds = sorted({one.seed for one in episodes})
    digest = _digest(episodes)
    judged = [one for one in episodes if one.outcome in _VALUES]
    names = list(dict.fromkeys(map(name_of, episodes)))
    began = min(one.at for one in episodes)
    ended = max(one.at + one.seconds for one in episodes)
    return {
        "version": VERSION,
        "status": "success",
        "eval": {
            "eval_id": digest[:22],
            "run_id": hashlib.sha256(manifest.model_dump_json().encode()).hexdigest()[:22],
            "created": _time(began),
            "task": f"lift {first.arm}, from the {first.start} on",
            "task_id": digest[22:44],
            "task_version": 0,
            "dataset": {"name": "corrigible lift", "samples": len(names), "sample_ids": names, "shuffled": False},
            "model": first.agent,
            "config": {"epochs": len(seeds)},
            "packages": dict(manifest.versions),
            "metadata": {"arm": first.arm, "kind": first.kind, "start": first.start, "seeds": seeds},
            "scorers": [{"name": SCORER, "metrics": [{"name": "accuracy"}]}],
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(episodes),
            "completed_samples": len(judged),
            "scores": [_accuracy(judged)] if judged else [],
        },
        "stats": {"started_at": _time(began), "completed_at": _time(ended), "model_usage": _usage(episodes)},
        "samples": [_sample(manifest, one, seeds.index(one.seed) + 1) for one in episodes],
    }


def _accuracy(judged: Sequence[Episode]) -> dict[str, Json]:
    value = sum(one.outcome == "success" for one in judged) / len(judged)
    return {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": len(judged),
        "unscored_samples": 0,
        "metrics": {"accuracy": {"name": "accuracy", "value": value}},
    }


def _sample(manifest: Manifest, one: Episode, epoch: int) -> dict[str, Json]:
    prompt = manifest.tasks.get(name_of(one), {}).get("prompt", "")
    messages = [{"role": "user", "content": prompt}, *_messages(one)]
    document: dict[str, Json] = {
        "id": name_of(one),
        "epoch": epoch,
        "input": prompt,
        "target": "the end state that the task asks for",
        "messages": messages,
        "output": {"model": one.agent, "choices": [], "completion": one.ending},
        "scores": {},
        "metadata": {
            "domain": one.domain, "needs": one.needs, "arm": one.arm, "seed": one.seed, "attempts": one.attempts,
            "harm": list(one.harm), "loops": one.loops, "strategy": one.strategy,
        },
        "started_at": _time(one.at),
        "completed_at": _time(one.at + one.seconds),
        "total_time": one.seconds,
        "model_usage": _usage([one]),
        "uuid": one.key[:22],
    }  # fmt: skip
    if one.outcome in _VALUES:
        score = {"value": _VALUES[one.outcome], "answer": one.ending, "explanation": one.why}
        document["scores"] = {SCORER: score}
    else:
        document["error"] = {"message": one.why, "traceback": "", "traceback_ansi": ""}
    return document


def _messages(one: Episode) -> Iterator[dict[str, Json]]:
    for number, turn in enumerate(one.turns, start=1):
        call = f"{one.key[:12]}-{number}"
        said = "The call that the episode starts with; it is none of the agent's." if turn.given else turn.note
        yield {
            "role": "assistant",
            "content": said,
            "model": one.agent,
            "tool_calls": [{"id": call, "function": "call_api", "arguments": dict(turn.request), "type": "function"}],
        }
        yield {"role": "tool", "content": _shown(turn), "tool_call_id": call, "function": "call_api"}
    if one.ending:
        yield {"role": "assistant", "content": one.ending, "model": one.agent}


def _shown(turn: Turn) -> str:
    if turn.accepted and turn.shown is None:
        return f"{turn.status}: accepted"
    text = turn.shown if isinstance(turn.shown, str) else json.dumps(turn.shown, ensure_ascii=False, indent=1)
    return f"{turn.status}\n{text}"


def _usage(episodes: Sequence[Episode]) -> dict[str, Json]:
    """Return tokens by model, as billed; nothing where an episode has no bill."""
    bills = [one.spent for one in episodes]
    known = [bill for bill in bills if bill is not None]
    if not known or len(known) < len(bills):
        return {}
    total_input, total_output = sum(bill.input for bill in known), sum(bill.output for bill in known)
    usage = {
        "input_tokens": total_input,
        "output_tokens": total_output,
        "total_tokens": total_input + total_output,
        "input_tokens_cache_read": sum(bill.cached for bill in known),
    }
    return {episodes[0].agent: usage}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def pdf(figure: str) -> bytes:
    """Return an SVG that stands alone as one page of PDF. Raises ModuleNotFoundError where svglib is not installed."""
    from reportlab.graphics import renderPDF
    from reportlab.pdfgen.canvas import Canvas
    from svglib.svglib import svg2rlg

    # A font that every reader of PDF has: none is embedded.
    drawing = svg2rlg(io.BytesIO(figure.replace("system-ui,sans-serif", "Helvetica").encode()))
    if drawing is None:
        raise ValueError("no SVG")
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(drawing.width, drawing.height), invariant=1)
    renderPDF.draw(drawing, canvas, 0, 0)
    canvas.showPage()
    canvas.save()
    return out.getvalue()
