"""`corrigible descriptors`: what a gRPC API that ships with an adapter looks like, for clients that need it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from corrigible.adapters.registry import ADAPTERS

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_KNOWN = {adapter.name: adapter.descriptors for adapter in ADAPTERS if adapter.descriptors is not None}


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "descriptors",
        help="print the FileDescriptorSet of a gRPC API",
        description="Print the FileDescriptorSet of a gRPC API, as `grpcurl -protoset` reads it.",
    )
    parser.add_argument("api", choices=sorted(_KNOWN))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write it to standard output."""
    sys.stdout.buffer.write(_KNOWN[arguments.api]())
    return 0
