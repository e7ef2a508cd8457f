"""The commands of the suite: each adds its options to the parser, and runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeAlias

from corrigible.schema.command_line import several as several

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def subcommand(
    subparsers: Subparsers, name: str, run: Callable[[argparse.Namespace], int], help: str, description: str
) -> argparse.ArgumentParser:
    """Add a command, which `run` carries out, and return its parser."""
    parser = subparsers.add_parser(name, help=help, description=description)
    parser.set_defaults(run=run)
    return parser
