"""`conformance lift export`: a log's figures for a publication."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.lift.log.store import read
from corrigible.conformance.model.usage_error import UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "export",
        help="write the figures of a run as CSV, LaTeX and SVG",
        description="Write the figures of a run for a publication: CSV of episodes, rates, comparisons and ways,"
        " LaTeX tables (booktabs), SVG figures. Nothing but the log is read. Exit status: 0 written, 2 not.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of a run, or a log.jsonl")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where to; default: DIR/export")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files, and name them."""
    try:
        from corrigible.conformance.lift.report.export import export
        from corrigible.conformance.lift.report.summary import summarise
        from corrigible.conformance.lift.stats.group import latest
    except ModuleNotFoundError as problem:
        raise UsageError(f"this needs corrigible[conformance,lift]: {problem.name} is not installed") from None
    log = read(args.folder)
    if not log.episodes:
        raise UsageError(f"{args.folder}: no episode has ended yet")
    base = args.folder if args.folder.is_dir() else args.folder.parent
    folder: Path = args.to or base / "export"
    files = export(summarise(log), latest(log.episodes))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror}") from None
    print(f"{len(files)} files in {folder}: {', '.join(files)}")
    return 0
