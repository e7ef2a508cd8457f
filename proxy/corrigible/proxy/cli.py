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
        prog="corrigible", description="Make the errors of APIs you do not own correctable by machines."
    )
    top.add_argument("--version", action="version", version=f"corrigible {version('corrigible')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0 fine, 1 it found something wrong, 2 it was called wrongly."""
    with shown_on("stdout", "stderr", colours=True):
        return _run(parser().parse_args(arguments))


def _run(args: argparse.Namespace) -> int:
    try:
        status: int = args.run(args)
    except CorrigibleError as problem:
        print(problem, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
