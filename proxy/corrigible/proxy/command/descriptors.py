"""`corrigible descriptors`: print the descriptors of a gRPC API that has an adapter, for its clients."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from corrigible.adapters.registry import ADAPTERS, adapter_for

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTORS = {
    adapter.name: adapter.descriptors for adapter in map(adapter_for, ADAPTERS) if adapter.descriptors is not None
}


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "descriptors",
        help="print the descriptors of a gRPC API",
        description="Print the FileDescriptorSet of a gRPC API, in the format that `grpcurl -protoset` reads.",
    )
    parser.add_argument("api", choices=sorted(_DESCRIPTORS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write it to standard output."""
    sys.stdout.buffer.write(_DESCRIPTORS[arguments.api]())
    return 0
