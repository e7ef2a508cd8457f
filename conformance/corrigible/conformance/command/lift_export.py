"""`conformance lift export`: a log's figures for a publication."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.extra import install_line

from .finished_run import FinishedRun, finished_run

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

INSPECT: Final = "inspect"
"""The folder of the logs for Inspect AI."""


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "export",
        help="write the figures of a run as CSV, LaTeX, SVG and PDF, or a log for Inspect AI",
        description="Write the figures of a run for a publication: CSV of episodes, rates, comparisons and ways,"
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files, and name them."""
    finished = finished_run(args.folder)
    base = args.folder if args.folder.is_dir() else args.folder.parent
    folder: Path = args.to or base / "export"
    files = exported(finished)
    logs = _inspect_logs(finished) if args.inspect else {}
    _write(folder, files)
    print(f"{len(files)} files in {folder}: {', '.join(files)}")
    if logs:
        _write(folder / INSPECT, logs)
        print(f"{len(logs)} logs of Inspect AI in {folder / INSPECT}: inspect view --log-dir {folder / INSPECT}")
    return 0


def exported(finished: FinishedRun) -> dict[str, bytes]:
    """Return the files by name. Where no PDF can be made, that is said on standard error."""
    from corrigible.conformance.lift.report.export import export

    texts = export(finished.summary, finished.episodes)
    files = {name: _encoded(text) for name, text in texts.items()}
    try:
        from corrigible.conformance.lift.report.svglib_pdf import pdf

        files |= {f"{name[:-4]}.pdf": pdf(text) for name, text in texts.items() if name.endswith(".svg")}
    except ModuleNotFoundError as problem:
        print(f"no PDF: {problem.name} is not installed ({install_line('pdf')})", file=sys.stderr)
    return files


def _inspect_logs(finished: FinishedRun) -> dict[str, bytes]:
    from corrigible.conformance.lift.report.inspect_log import inspect_logs

    logs = inspect_logs(finished.summary.manifest, finished.episodes)
    return {name: _encoded(text) for name, text in logs.items()}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror}") from None
