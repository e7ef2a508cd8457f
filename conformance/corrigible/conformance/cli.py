"""The `conformance` command."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from types import FrameType
from typing import Final

from corrigible.conformance.model.outcome import UsageError
from corrigible.schema.command_line import CommandParser
from corrigible.schema.extra import MissingExtra, needs
from corrigible.schema.printable import shown_on

COMMANDS: Final[Mapping[str, str]] = {
    "check": "check.add",
    "init": "init.add",
    "list": "listing.add",
    "explain": "listing.add_explain",
    "replay": "check.add_replay",
    "diff": "check.add_diff",
    "report": "check.add_report",
    "serve-reference": "reference.add",
    "audit": "audit.add",
    "lift": "lift.add",
}
"""Names of commands, and of what adds them: a module and its function."""


def parser(*names: str) -> argparse.ArgumentParser:
    """Return the parser of these commands; without names, of all."""
    top = CommandParser(
        prog="conformance",
        description="Test whether a proxy, an API, a reader or a rule pack implements the Self-Reflective API Schema.",
    )
    top.add_argument("--version", action="version", version=f"conformance {version('corrigible')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names or COMMANDS:
        _command(name, user=f"conformance {names[0]}" if names else "conformance")(commands)
    return top


def _command(name: str, user: str) -> Callable[[object], None]:
    module, _, function = COMMANDS[name].partition(".")
    try:
        added: Callable[[object], None] = getattr(import_module(f".command.{module}", __package__), function)
        return added
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
