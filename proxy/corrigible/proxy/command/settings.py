"""Where an option's value comes from: the command line, else the environment, else the configuration file, else its
default.

Knows: argparse, the environment. Does not know: what options mean.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .options import UsageError

if TYPE_CHECKING:
    from .config_file import Config

_PREFIX: Final = "CORRIGIBLE_"
_OTHERS: Final = ("ADMISSION_PLUGINS", "CACHE")
"""What other commands and the cache of descriptions read."""
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one command that may be given in other ways, too."""

    actions: tuple[argparse.Action, ...]
    defaults: Mapping[str, Any]

    def resolved(self, args: argparse.Namespace, *, is_first: bool = True) -> tuple[argparse.Namespace, Config | None]:
        """Return the arguments with a value for each option, and the file. Raises UsageError and AuthoringError.

        Only the first time it is told which variables are probably misspelt.
        """
        for line in _misspelt(self.actions) if is_first else ():
            print(f"corrigible proxy: {line}", file=sys.stderr)
        told = [action for action in self.actions if os.environ.get(variable(action))]
        environment = {action.dest: _of_environment(action) for action in told}
        given = {**environment, **vars(args)}
        config = None
        if given.get("config"):
            from .config_file import read_config  # slow to import

            config = read_config(Path(given["config"]))
        file = config.options() if config is not None else {}
        return argparse.Namespace(**{**self.defaults, **file, **given}), config


def variable(action: argparse.Action) -> str:
    """Return the environment variable of an option: CORRIGIBLE_TIME_LIMIT of --time-limit."""
    return f"{_PREFIX}{action.dest.upper()}"


def settings_of(parser: argparse.ArgumentParser) -> Settings:
    """Make each option of a command one that is absent unless it is given. Its help tells its environment variable."""
    actions = tuple(action for action in parser._actions if action.option_strings and action.dest != "help")
    defaults = {action.dest: action.default for action in actions}
    for action in actions:
        if action.help:
            action.help = action.help.replace("%(default)s", str(action.default))
        action.default = argparse.SUPPRESS
    names = ", ".join(variable(action) for action in actions)
    parser.epilog = (
        "Options go before environment variables, and these before the file of --config. Environment variables: "
        f"{names}. Lists are separated by commas; a switch is 1 or 0."
    )
    return Settings(actions, defaults)


def _misspelt(actions: Iterable[argparse.Action]) -> Iterator[str]:
    """Yield a line for each variable that is nearly an option's. Kubernetes sets others, named after a service."""
    names = [variable(action).removeprefix(_PREFIX) for action in actions]
    for name in sorted(os.environ):
        word = name.removeprefix(_PREFIX)
        if word != name and word not in names and word not in _OTHERS and (near := get_close_matches(word, names, n=1)):
            yield f'{name} is the environment variable of no option; did you mean "{_PREFIX}{near[0]}"?'


def _of_environment(action: argparse.Action) -> Any:
    text = os.environ[variable(action)]
    if isinstance(action, argparse._StoreTrueAction):
        if text.lower() not in _YES + _NO:
            raise UsageError(f"{variable(action)}={text}: expected 1 or 0")
        return text.lower() in _YES
    if isinstance(action, argparse._AppendAction):
        return [part.strip() for part in text.split(",") if part.strip()]
    return action.type(text) if callable(action.type) else text
