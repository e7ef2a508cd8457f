"""The `conformance` command."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Final

from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.printable import shown_on

try:
    from .command import check, difference, explain, listing, reference, replay, report
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.partition(".")[0] == "corrigible":
        raise
    raise SystemExit(f"{missing.name} is not installed: pip install 'corrigible[conformance]'") from None

COMMANDS: Final[tuple[ModuleType, ...]] = (
    check,
    listing,
    explain,
    replay,
    difference,
    report,
    reference,
    *(
        import_module(f"{__package__}.command.{name}")
        for name in ("audit", "lift")
        if find_spec(f"{__package__}.command.{name}")
    ),
)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="conformance",
        description="Judge who speaks the Self-Reflective API Schema: proxies, APIs, readers, rule packs.",
    )
    top.add_argument("--version", action="version", version=f"conformance {version('corrigible')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0 conforms, 1 does not, 2 could not tell."""
    args = parser().parse_args(arguments)
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
