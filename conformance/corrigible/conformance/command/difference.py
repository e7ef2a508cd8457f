"""`conformance diff`: compare two runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.report.compare import compare, render
from corrigible.conformance.suite.record import read

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "diff",
        help="compare two runs",
        description="Compare two records. Exit status: 0 no new failure, 1 new failures, 2 a record is unreadable or "
        "incomplete.",
    )
    parser.add_argument("before", metavar="A.json", type=Path)
    parser.add_argument("after", metavar="B.json", type=Path)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    before, after = read(args.before), read(args.after)
    comparison = compare(before, after)
    sys.stdout.write(render(comparison, before, after))
    return 1 if comparison.worse else 0
