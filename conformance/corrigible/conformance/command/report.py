"""`conformance report`: write reports of an earlier run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.report import terminal
from corrigible.conformance.report.write import RENDER, wanted, write
from corrigible.conformance.suite.record import read

from .check import coloured

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "report",
        help="write reports of an earlier run from its record",
        description="Write reports from a record (`check --report json=FILE`). Without --report: print the terminal's "
        "output. The exit status is that of the run.",
    )
    parser.add_argument("record", metavar="RECORD.json", type=Path)
    parser.add_argument("--report", metavar="KIND=FILE,...", action="append", default=[], help=", ".join(RENDER))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write, and return the exit status of the run."""
    reports = wanted(args.report)
    record = read(args.record)
    if reports:
        write(record, reports)
    else:
        sys.stdout.write(terminal.render(record, coloured=coloured()))
    return record.foot.verdict.status
