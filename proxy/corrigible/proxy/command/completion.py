"""`corrigible completion SHELL`: the script by which a shell completes commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from corrigible.rules.pack.load import built_in
from corrigible.schema.extra import needs

from .options import Subparsers, UsageError

SHELLS: Final = ("bash", "zsh", "fish")


def add(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "completion",
        description="Print a script that completes commands and options. "
        'bash: eval "$(corrigible completion bash)"; '
        "zsh: corrigible completion zsh > _corrigible, in a folder of fpath; "
        "fish: corrigible completion fish > ~/.config/fish/completions/corrigible.fish",
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print it. `args.top` is the parser of all commands."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise UsageError(needs("corrigible completion", "proxy")) from None
    for action in _actions(args.top):
        _complete(action, shtab.FILE)
    print(shtab.complete(args.top, shell=args.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)


def _complete(action: Any, file: object) -> None:
    """Say what stands after an option: a file, one of some words, or a pack."""
    if isinstance(action.metavar, str) and "|" in action.metavar:
        action.choices = action.metavar.split("|")
    elif action.dest in ("pack", "packs") and action.choices is None:
        action.choices = sorted(built_in())
    elif action.type is Path or action.dest == "spec":
        action.complete = file
