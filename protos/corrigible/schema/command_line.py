"""A command line that helps with misspelt words: one line says what is wrong, and which word was meant.

Knows: argparse. Does not know: any command.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn

from .error import did_you_mean

_CHOICE: Final = re.compile(
    r"(?:argument [^:]*: )?invalid choice: (?P<word>.+?) \(choose from (?P<choices>.*)\)", re.DOTALL
)
_UNKNOWN: Final = "unrecognized arguments: "
_REQUIRED: Final = "the following arguments are required: "


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line. Parsers of its commands are of this class, too."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Remember what is parsed: an error may be about an option of a command of a command."""
        self._words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line."""
        parser = self._innermost() if message.startswith(_UNKNOWN) else self
        self.exit(2, f"{parser.prog}: {_reworded(message, parser)} ({parser.prog} --help)\n")

    def _innermost(self) -> CommandParser:
        """Return the parser of the command that the words name."""
        for word in self._words:
            for action in self._actions:
                if isinstance(action, argparse._SubParsersAction) and word in action.choices:
                    inner: CommandParser = action.choices[word]
                    return inner._innermost()
        return self

    def options(self) -> Iterator[str]:
        """Yield the names of its options."""
        yield from (name for name in self._option_string_actions if name.startswith("--"))


def _reworded(message: str, parser: CommandParser) -> str:
    if message.startswith(_UNKNOWN):
        words = message.removeprefix(_UNKNOWN).split()
        option = next((word for word in words if word.startswith("-")), None)
        if option is None:
            return f"unexpected argument {words[0]}" if words else message
        name = option.partition("=")[0]
        return f"unknown option {name}{did_you_mean(name, parser.options())}"
    if (match := _CHOICE.fullmatch(message)) is not None:
        choices = [one.strip().strip("'") for one in match["choices"].split(",")]
        word = match["word"].strip("'\"")
        return f'"{word}" is none of {", ".join(choices)}{did_you_mean(word, choices)}'
    if message.startswith(_REQUIRED):
        return f"missing: {message.removeprefix(_REQUIRED)}"
    return message


def several(parser: argparse._ActionsContainer, *names: str, **options: Any) -> None:
    """Add an option that may be given several times."""
    parser.add_argument(*names, action="append", default=[], **options)
