"""The `conformance` command."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from types import FrameType, ModuleType
from typing import Final

from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.command_line import CommandParser
from corrigible.schema.extra import MissingExtra, needs
from corrigible.schema.printable import shown_on

COMMANDS: Final[Mapping[str, str]] = {
    "check": "check",
    "init": "init",
    "list": "listing",
    "explain": "explain",
    "replay": "replay",
    "diff": "difference",
    "report": "report",
    "serve-reference": "reference",
    "audit": "audit",
    "lift": "lift",
}
"""Names of commands, and of their modules."""


def parser(*names: str) -> argparse.ArgumentParser:
    """Return the parser of these commands; without names, of all."""
    top = CommandParser(
        prog="conformance",
        description="Test whether a proxy, an API, a reader or a rule pack implements the Self-Reflective API Schema.",
    )
    top.add_argument("--version", action="version", version=f"conformance {version('corrigible')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names or COMMANDS:
        _command(name, user=f"conformance {names[0]}" if names else "conformance").add(commands)
    return top


def _command(name: str, user: str) -> ModuleType:
    try:
        return import_module(f".command.{COMMANDS[name]}", __package__)
    except ModuleNotFoundError as missing:
        ours = missing.name is None or missing.name.partition(".")[0] == "corrigible"
        if ours and not isinstance(missing, MissingExtra):
            raise
        raise SystemExit(needs(user, "conformance")) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0 conforms, 1 does not, 2 could not tell."""
    words = sys.argv[1:] if arguments is None else arguments
    names = [name for name in words[:1] if name in COMMANDS]  # to import the others takes longer than most commands
    args = parser(*names).parse_args(words)
    try:
        with _leaving_in_order(), shown_on(*_SHOWN, colours=True):
            status: int = args.run(args)
    except UsageError as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        return 2
    return status


_SHOWN = ("stdout",)
"""What servers, readers and agents say stands in reports; progress, on the other stream, is our own."""


@contextmanager
def _leaving_in_order() -> Iterator[None]:
    """Let SIGTERM end us as an exception does, so that a subject that was started is stopped, too."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(2)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not in the main thread: whoever runs us there ends us in some other way
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
