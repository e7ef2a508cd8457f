"""The `corrigible` command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Final

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.command_line import CommandParser
from corrigible.schema.extra import MissingExtra, needs
from corrigible.schema.printable import shown_on

COMMANDS: Final = (
    "proxy",
    "corrector",
    "envoy",
    "translate",
    "pack",
    "sandbox",
    "demo",
    "descriptors",
    "description",
    "spec",
    "map",
    "status",
    "mcp",
    "completion",
)
"""Each is also the name of its module."""
_EXTRAS: Final = {
    "proxy": "mitmproxy",
    "corrector": "envoy",
    "sandbox": "sandboxes",
    "demo": "demo",
    "status": "prometheus",
    "mcp": "mcp",
}
"""What a command needs where it is not the extra `proxy`, which all of these include."""

_RELOADING: Final = frozenset({"proxy", "corrector"})
"""Commands to which SIGHUP says that files have changed. It would end one that is not ready yet."""
_INTERRUPTED: Final = 130
"""As shells say: ended by SIGINT."""


def parser(*names: str) -> argparse.ArgumentParser:
    """Return the parser of these commands; without names, of all: those that lack their extra are listed, too."""
    top = CommandParser(
        prog="corrigible", description="Add machine-readable corrections to the errors of APIs that you do not own."
    )
    top.add_argument("--version", action="version", version=f"corrigible {version('corrigible')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names or COMMANDS:
        try:
            module = import_module(f".command.{name}", __package__)
        except MissingExtra as missing:
            if names:
                raise
            lacking = commands.add_parser(name, help=needs("it", _EXTRAS.get(name, "proxy")), add_help=False)
            lacking.add_argument("words", nargs=argparse.REMAINDER)
            lacking.set_defaults(run=_raising(missing))
        else:
            module.add(commands)
    return top


def _raising(missing: MissingExtra) -> Callable[[argparse.Namespace], int]:
    def run(_: argparse.Namespace) -> int:
        raise missing

    return run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0 success, 1 it found a problem, 2 its arguments are wrong, 130 interrupted."""
    _open_standard_streams()
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] and words[0] in _RELOADING and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # who sends it wants the newest files: they are about to be read
    # To import the others takes longer than most commands; completion is about all of them.
    names = [name for name in words[:1] if name in COMMANDS and name != "completion"]
    with shown_on("stdout", "stderr", colours=True):
        try:
            top = parser(*names)
            return _run(top.parse_args(words, argparse.Namespace(top=top)))
        except MissingExtra as missing:
            is_grpc = any(word.partition("=")[0] == "--grpc-upstream" for word in words)
            extra = "grpc" if is_grpc else _EXTRAS.get(words[0], missing.extra)
            print(needs(f"corrigible {words[0]}", extra), file=sys.stderr)
            return 1
        except KeyboardInterrupt:  # a second one, while servers end
            return _INTERRUPTED


def _open_standard_streams() -> None:
    """Open what was closed by whoever started this: sockets must not get the numbers that text is written to."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR if number else os.O_RDONLY)  # the lowest number free
            setattr(sys, name, os.fdopen(descriptor, "w" if number else "r", encoding="utf-8"))


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
