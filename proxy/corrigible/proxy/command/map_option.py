"""`--map` and `--map-origin` of the proxy: maps of operations, and the servers that they may name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from corrigible.adapters.mapping.map_index import origin_of
from corrigible.proxy.build import MapFiles

from .usage_error import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--map",
        metavar="FILE",
        action="append",
        default=[],
        help="a map of operations that do the same (corrigible map build): where the API does not have one, forbids it "
        "or takes no more calls of it, another one is suggested; repeatable, beside the maps of the packs",
    )
    parser.add_argument(
        "--map-origin",
        metavar="URL",
        action="append",
        default=[],
        help="another server that --map may name: callers are told of it, and never sent there with their credentials; "
        "repeatable",
    )


def map_files(maps: Sequence[str], origins: Sequence[str], upstream: str | None) -> MapFiles:
    """Return what to load. Raises UsageError for what is no origin."""
    for one in origins:
        if "://" not in one or not origin_of(one):
            raise UsageError(f"--map-origin {one}: not an address such as https://api.example.com")
    return MapFiles([Path(one) for one in maps], upstream or "", origins)
