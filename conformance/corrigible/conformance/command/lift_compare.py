"""`conformance lift compare`: whether two runs agree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.lift.log.compare import compare
from corrigible.conformance.lift.log.store import read

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "compare",
        help="show where two logs differ",
        description="Compare two logs in everything but times. Exit status: 0 they agree, 1 they differ, "
        "2 one of them cannot be read.",
    )
    parser.add_argument("first", metavar="DIR", type=Path)
    parser.add_argument("second", metavar="DIR", type=Path)
    parser.add_argument(
        "--most", type=int, default=50, metavar="N", help="maximum number of differences shown; default: 50"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    first, second = read(args.first), read(args.second)
    differences = compare(first, second)
    for difference in differences[: args.most]:
        print(difference)
    if len(differences) > args.most:
        print(f"... and {len(differences) - args.most} more")
    if not differences:
        print(f"{len(first.episodes)} episodes agree in everything but times")
    return 1 if differences else 0
