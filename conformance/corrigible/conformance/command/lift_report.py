"""`conformance lift report`: the results of a run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.model.usage_error import UsageError, did_you_mean

from .finished_run import finished_run

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "report",
        help="show the results of a run",
        description="Compute every figure from the log of a run, and print it; write it as JSON or as one page with all"
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the report and write the files."""
    finished = finished_run(args.folder, _primary(args.primary))
    from corrigible.conformance.lift.report import document, page, terminal

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
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from None
