"""The `corrigible` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.printable import shown_on

from .command import demo, description, descriptors, pack, proxy, sandbox, translate

COMMANDS = (proxy, translate, pack, sandbox, demo, descriptors, description)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="corrigible", description="Add machine-readable corrections to the errors of APIs that you do not own."
    )
    top.add_argument("--version", action="version", version=f"corrigible {version('corrigible')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0 success, 1 it found a problem, 2 its arguments are wrong."""
    with shown_on("stdout", "stderr", colours=True):
        return _run(parser().parse_args(arguments))


def _run(args: argparse.Namespace) -> int:
    try:
        status: int = args.run(args)
    except CorrigibleError as problem:
        print(problem, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`
        sys.stderr.close()
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
