"""`--index` and `--annotations` of the `corrigible map` verbs: the index that is compared, and people's judgements."""

from __future__ import annotations

import argparse
from pathlib import Path

from corrigible.adapters.mapping.annotation import read_annotations
from corrigible.adapters.mapping.consensus import Consensus, OperationPair, consensus


def add_index(parser: argparse.ArgumentParser, content: str = "as `corrigible map index` wrote it") -> None:
    parser.add_argument("--index", required=True, type=Path, metavar="FILE", help=content)


def add_annotations(parser: argparse.ArgumentParser, effect: str) -> None:
    parser.add_argument(
        "--annotations",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help=f"people's judgements, as `corrigible map annotate` wrote them: {effect}",
    )


def agreed(args: argparse.Namespace) -> dict[OperationPair, Consensus]:
    """Return what most people said of each pair. Raises CorrigibleError for a file that cannot be read."""
    return consensus(one for file in args.annotations for one in read_annotations(file))
