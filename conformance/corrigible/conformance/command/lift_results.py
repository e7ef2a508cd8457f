"""The commands that show finished runs and published figures: report, export, compare, reproduce, paper, power."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.conformance.command import Subparsers, subcommand
from corrigible.conformance.command.lift_options import extra
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import Episode, compare, read
from corrigible.conformance.lift.plan import read_plan
from corrigible.conformance.model.outcome import UsageError, did_you_mean, usable
from corrigible.schema.extra import install_line

if TYPE_CHECKING:
    from corrigible.conformance.lift.report.summary import Summary


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The figures of a log, and the episodes that they are of."""

    summary: Summary
    episodes: Sequence[Episode]


def finished_run(path: Path, primary: tuple[str, str] | None = None) -> FinishedRun:
    """Read the log of a folder, or a file. Raises UsageError where there is none, or nothing to compute with."""
    with extra():
        from corrigible.conformance.lift.report.summary import summarise
        from corrigible.conformance.lift.stats.group import latest
    log = read(path)
    if not log.episodes:
        raise UsageError(f"{path}: no episode has ended yet")
    return FinishedRun(summarise(log, primary), latest(log.episodes))


def claims_of(folder: Path) -> list[str]:
    """Return the result of a run as its report begins, and the command that shows the rest."""
    log = read(folder)
    more = f"conformance lift report {folder}"
    try:
        from corrigible.conformance.lift.report.summary import claims
    except ModuleNotFoundError as problem:
        return [f"{more} ({problem.name} is not installed: {install_line('conformance,lift')})"]
    return [*(claims(log) if log.episodes else ()), *([more] if log.episodes else ())]


def add_report(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "report",
        run_report,
        "show the results of a run",
        "Compute every figure from the log of a run, and print it; write it as JSON or as one page with all"
        " episodes step by step. Nothing but the log is read. Exit status: 0 reported, 2 the log cannot be read.",
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder of `conformance lift run --out DIR`, or a log.jsonl"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures; -: print them, and no table")
    parser.add_argument(
        "--primary",
        metavar="A:B",
        help="compare these arms instead of those declared before the run; the report says so",
    )


def run_report(args: argparse.Namespace) -> int:
    """Print the report and write the files."""
    finished = finished_run(args.folder, _primary(args.primary))
    from corrigible.conformance.lift.report import page, terminal
    from corrigible.conformance.lift.report import summary as document

    summary = finished.summary
    if args.json is not None and str(args.json) == "-":
        sys.stdout.write(document.render(summary))
    else:
        coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        sys.stdout.write(terminal.render(summary, coloured=coloured))
    if args.json is not None and str(args.json) != "-":
        _write(args.json, document.render(summary))
    if args.html is not None:
        _write(args.html, page.render(summary, finished.episodes))
    return 0


def _primary(option: str | None) -> tuple[str, str] | None:
    if option is None:
        return None
    first, colon, second = option.partition(":")
    if not colon or first == second:
        raise UsageError(f"--primary {option}: name two arms, first less second: reflective:verbose")
    for arm in (first, second):
        if arm not in set(Arm):
            raise UsageError(
                f"--primary {option}: {arm!r} is no arm{did_you_mean(arm, list(Arm))} (there are {', '.join(Arm)})"
            )
    return first, second


def _write(path: Path, text: str) -> None:
    with usable(path):
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


INSPECT: Final = "inspect"
"""The folder of the logs for Inspect AI."""


def add_export(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "export",
        run_export,
        "write the figures of a run as CSV, LaTeX, SVG and PDF, or a log for Inspect AI",
        "Write the figures of a run for a publication: CSV of episodes, rates, comparisons and ways,"
        " LaTeX tables (booktabs), figures as SVG, and as PDF where svglib is installed (extra `pdf`). Nothing but"
        " the log is read. Exit status: 0 written, 2 not.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of a run, or a log.jsonl")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where to; default: DIR/export")
    parser.add_argument(
        "--inspect",
        action="store_true",
        help=f"also write each agent's episodes of each arm as a log of Inspect AI, to FOLDER/{INSPECT}:"
        f" `inspect view --log-dir FOLDER/{INSPECT}` shows them",
    )


def run_export(args: argparse.Namespace) -> int:
    """Write the files, and name them."""
    finished = finished_run(args.folder)
    base = args.folder if args.folder.is_dir() else args.folder.parent
    folder: Path = args.to or base / "export"
    files = exported(finished)
    logs = _inspect_logs(finished) if args.inspect else {}
    _write_files(folder, files)
    print(f"{len(files)} files in {folder}: {', '.join(files)}")
    if logs:
        _write_files(folder / INSPECT, logs)
        print(f"{len(logs)} logs of Inspect AI in {folder / INSPECT}: inspect view --log-dir {folder / INSPECT}")
    return 0


def exported(finished: FinishedRun) -> dict[str, bytes]:
    """Return the files by name. Where no PDF can be made, that is said on standard error."""
    from corrigible.conformance.lift.report.export import export

    texts = export(finished.summary, finished.episodes)
    files = {name: _encoded(text) for name, text in texts.items()}
    try:
        from corrigible.conformance.lift.report.export import pdf

        files |= {f"{name[:-4]}.pdf": pdf(text) for name, text in texts.items() if name.endswith(".svg")}
    except ModuleNotFoundError as problem:
        print(f"no PDF: {problem.name} is not installed ({install_line('pdf')})", file=sys.stderr)
    return files


def _inspect_logs(finished: FinishedRun) -> dict[str, bytes]:
    from corrigible.conformance.lift.report.export import inspect_logs

    logs = inspect_logs(finished.summary.manifest, finished.episodes)
    return {name: _encoded(text) for name, text in logs.items()}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    with usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)


def add_compare(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "compare",
        run_compare,
        "show where two logs differ",
        "Compare two logs in everything but times. Exit status: 0 they agree, 1 they differ, "
        "2 one of them cannot be read.",
    )
    parser.add_argument("first", metavar="DIR", type=Path)
    parser.add_argument("second", metavar="DIR", type=Path)
    parser.add_argument(
        "--most", type=int, default=50, metavar="N", help="maximum number of differences shown; default: 50"
    )


def run_compare(args: argparse.Namespace) -> int:
    first, second = read(args.first), read(args.second)
    differences = compare(first, second)
    for difference in differences[: args.most]:
        print(difference)
    if len(differences) > args.most:
        print(f"... and {len(differences) - args.most} more")
    if not differences:
        print(f"{len(first.episodes)} episodes agree in everything but times")
    return 1 if differences else 0


PAPERS: Final = ("structure-beats-verbosity", "structure-snowballing")
ALL: Final = "papers"
REPORT: Final = "report.txt"
_PLAN: Final = frozenset({".yaml", ".yml"})


def add_reproduce(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "reproduce",
        run_reproduce,
        "compute a paper's figures, or a committed run's report, again, and compare",
        "A paper: compute its tables and figures from the counts that it prints. A plan, or the folder of a"
        f" run: compute the report from its log, and compare it with {REPORT} beside the log; with --play, play the"
        " plan again, and compare how the episodes end. Exit status: 0 all match, 1 something does not, 2 nothing to"
        " compare.",
    )
    parser.add_argument(
        "what",
        metavar="PAPER_OR_PLAN",
        help=f"{', '.join(PAPERS)}, or {ALL} for both; a plan, whose run lies in the folder of its name; or a folder",
    )
    parser.add_argument(
        "--play", type=Path, metavar="DIR", help="play the plan again into DIR; a local model is started"
    )


def run_reproduce(args: argparse.Namespace) -> int:
    if args.what in (*PAPERS, ALL):
        if args.play is not None:
            raise UsageError("--play belongs to a plan: a paper's episodes are not here")
        with extra():
            from corrigible.conformance.lift.reproduction import paper_lines
        lines = list(paper_lines(PAPERS if args.what == ALL else (args.what,)))
        print("\n".join(lines))
        return 1 if lines[-1].startswith("mismatch") else 0
    path = Path(args.what)
    if not path.exists():
        known = (*PAPERS, ALL)
        raise UsageError(f"{path}: neither a file nor a paper{did_you_mean(args.what, known)} ({', '.join(known)})")
    plan = path if path.suffix in _PLAN else None
    folder = path.with_suffix("") if plan is not None else path
    differences = [*_committed(folder, plan), *(_played(folder, plan, args.play) if args.play is not None else ())]
    print("\n".join([*differences, "mismatch" if differences else "match"]))
    return 1 if differences else 0


def add_paper(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "paper",
        run_reproduce,
        "compute two papers' figures from their counts",
        f"The same as `reproduce {ALL}`.",
    )
    parser.set_defaults(what=ALL, play=None)


def _committed(folder: Path, plan: Path | None) -> list[str]:
    """Return where the report and the plan of a run are not what its log says; print what was compared."""
    computed, ran = _computed(folder)
    with usable(folder / REPORT, ": no report to compare with"):
        committed = (folder / REPORT).read_text("utf-8")
    from corrigible.conformance.lift.reproduction import plan_differences, report_differences

    found = report_differences(committed, computed)
    print(f"{folder / REPORT}: {'is not' if found else 'is'} what its log comes to ({ran})")
    if plan is not None:
        others = plan_differences(read_plan(plan), read(folder).manifest)
        print(f"{plan}: {'is not' if others else 'is'} the plan that ran")
        found += others
    return found


def _computed(folder: Path) -> tuple[str, str]:
    """Return the report of a folder's log, computed now, and what it is of."""
    finished = finished_run(folder)
    from corrigible.conformance.lift.report import terminal

    return terminal.render(finished.summary), f"{len(finished.episodes)} episodes"


def _played(folder: Path, plan: Path | None, out: Path) -> list[str]:
    """Play a plan again, and return which episodes end otherwise. Raises UsageError where it cannot be played whole."""
    if plan is None:
        raise UsageError("--play needs the plan, not the folder of a run")
    from corrigible.conformance.lift.reproduction import by_arm, outcome_differences

    before = finished_run(folder).episodes
    local = {one.agent.partition(":")[2] for one in before if one.agent.startswith("local:")}
    options = [word for name in sorted(local) for word in ("--local-model", name)]
    if _lift("run", str(plan), "--out", str(out), *options) == 2:
        raise UsageError(f"{plan}: was not played to its end")
    now = finished_run(out).episodes
    before_arms, now_arms = by_arm(before), by_arm(now)
    for name in dict.fromkeys((*before_arms, *now_arms)):
        print(f"  {name:<40} {before_arms.get(name, '-'):>10}, and now {now_arms.get(name, '-'):>10}")
    found = list(outcome_differences(before, now))
    print(f"{len(found)} of {len(before)} episodes end otherwise", file=sys.stderr)
    return found


def _lift(*words: str) -> int:
    """Run a subcommand as a user would, and return its exit status. Raises UsageError."""
    from corrigible.conformance.command.lift import add as add_lift

    parser = argparse.ArgumentParser()
    add_lift(parser.add_subparsers())
    args = parser.parse_args(["lift", *words])
    return int(args.run(args))


def add_power(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "power",
        run_power,
        "compute how many tasks a comparison needs",
        "Compute how many tasks are needed to show a difference between two arms; with --tasks, also which"
        " difference that many tasks can show. Repeats of a task do not count. McNemar's test, one pair per task.",
    )
    parser.add_argument(
        "--difference",
        type=float,
        action="append",
        metavar="SHARE",
        help="difference of the success rates; default: 0.1 0.15 0.2 0.3; repeatable",
    )
    parser.add_argument(
        "--discordance",
        type=float,
        action="append",
        metavar="SHARE",
        help="share of tasks that succeed in one arm only; default: 0.3 0.4; repeatable",
    )
    parser.add_argument("--tasks", type=int, metavar="N", help="also compute what this number of tasks can show")
    parser.add_argument("--alpha", type=float, default=0.05, help="level of significance; default: %(default)s")
    parser.add_argument(
        "--power", type=float, default=0.8, help="probability that the difference is found; default: %(default)s"
    )


def run_power(args: argparse.Namespace) -> int:
    from corrigible.conformance.lift.stats.estimate import detectable, power_of, tasks_needed

    shares: list[float] = args.discordance or [0.3, 0.4]
    gains: list[float] = args.difference or [0.1, 0.15, 0.2, 0.3]
    lines = [f"two-sided alpha {args.alpha:g}, power {args.power:g}, one pair per task"]
    try:
        for share in shares:
            for gain in gains:
                needed = tasks_needed(gain, share, alpha=args.alpha, power=args.power)
                line = f"  {gain:+.0%} where {share:.0%} of tasks differ: {needed} tasks"
                if args.tasks:
                    line += f"; {args.tasks} show it with {power_of(args.tasks, gain, share, alpha=args.alpha):.0%}"
                lines.append(line)
            if args.tasks:
                least = detectable(args.tasks, share, alpha=args.alpha, power=args.power)
                label = f"{least:+.0%}" if least is not None else "no difference"
                lines.append(f"  {args.tasks} tasks, where {share:.0%} differ, show {label} or more")
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    print("\n".join(lines))
    return 0
