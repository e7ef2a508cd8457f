"""`conformance lift reproduce`: a paper's figures, or a committed run, computed again and compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.conformance.lift.hotpot import log as hotpot_log
from corrigible.conformance.lift.log.store import read
from corrigible.conformance.lift.plan import read_plan
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.schema.extra import install_line

from .finished_run import finished_run

if TYPE_CHECKING:
    from corrigible.conformance.lift.reproduction.figure import Table

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

PAPERS: Final = ("structure-beats-verbosity", "structure-snowballing")
ALL: Final = "papers"
REPORT: Final = "report.txt"
_PLAN: Final = frozenset({".yaml", ".yml"})


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "reproduce",
        help="compute a paper's figures, or a committed run's report, again, and compare",
        description="A paper: compute its tables and figures from the counts that it prints. A plan, or the folder of a"
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    if args.what in (*PAPERS, ALL):
        if args.play is not None:
            raise UsageError("--play belongs to a plan: a paper's episodes are not here")
        lines = list(_papers(PAPERS if args.what == ALL else (args.what,)))
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


def _papers(names: Sequence[str]) -> Iterator[str]:
    try:
        from corrigible.conformance.lift.reproduction import recipe_paper, snowballing_paper
        from corrigible.conformance.lift.reproduction.figure import rendered
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance,lift')}") from None
    of_paper = dict(zip(PAPERS, (recipe_paper.tables, snowballing_paper.tables), strict=True))
    shown: list[Table] = [table for name in names for table in of_paper[name]()]
    yield from rendered(shown)


def _committed(folder: Path, plan: Path | None) -> list[str]:
    """Return where the report and the plan of a run are not what its log says; print what was compared."""
    computed, ran = _computed(folder)
    try:
        committed = (folder / REPORT).read_text("utf-8")
    except OSError as problem:
        raise UsageError(f"{folder / REPORT}: {problem.strerror}: no report to compare with") from None
    from corrigible.conformance.lift.reproduction.run_again import plan_differences, report_differences

    found = report_differences(committed, computed)
    print(f"{folder / REPORT}: {'is not' if found else 'is'} what its log comes to ({ran})")
    if plan is not None:
        others = plan_differences(read_plan(plan), read(folder).manifest)
        print(f"{plan}: {'is not' if others else 'is'} the plan that ran")
        found += others
    return found


def _computed(folder: Path) -> tuple[str, str]:
    """Return the report of a folder's log, computed now, and what it is of."""
    hotpot = hotpot_log.read(folder) if folder.is_dir() else None
    if hotpot is not None:
        from corrigible.conformance.lift.hotpot.report import render as hotpot_report

        return hotpot_report(hotpot.manifest, hotpot.samples), f"{len(hotpot.samples)} samples"
    finished = finished_run(folder)
    from corrigible.conformance.lift.report import terminal

    return terminal.render(finished.summary), f"{len(finished.episodes)} episodes"


def _played(folder: Path, plan: Path | None, out: Path) -> list[str]:
    """Play a plan again, and return which episodes end otherwise. Raises UsageError where it cannot be played whole."""
    if plan is None:
        raise UsageError("--play needs the plan, not the folder of a run")
    from corrigible.conformance.lift.reproduction.run_again import by_arm, outcome_differences

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
    from .lift import add as add_lift

    parser = argparse.ArgumentParser()
    add_lift(parser.add_subparsers())
    args = parser.parse_args(["lift", *words])
    return int(args.run(args))
