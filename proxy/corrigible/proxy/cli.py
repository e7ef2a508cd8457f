"""The `corrigible` command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.command_line import CommandParser
from corrigible.schema.extra import MissingExtra, missing_module, needs
from corrigible.schema.printable import shown_on

COMMANDS: Final = {
    "run": "run a command whose calls of known APIs go through a proxy",
    "doctor": "try `corrigible run` with the HTTP clients of this machine",
    "proxy": "run the proxy in front of an API",
    "corrector": "correct refused requests for a gateway, such as Envoy",
    "envoy": "print the configuration of an Envoy that asks correctors",
    "translate": "show offline what the proxy would send for recorded exchanges",
    "explain": "show what is read of a sentence of a server",
    "pack": "create, check and explain rule packs",
    "sandbox": "run a local server that behaves like an API",
    "demo": "show a rejected call, the same call through the proxy, and the corrected retry",
    "descriptors": "print the descriptors of a gRPC API",
    "description": "print the OpenAPI description of an example API",
    "spec": "show the parts of requests that the proxy can check by an API's description",
    "map": "find operations that do the same, and map their fields",
    "status": "show the numbers of a running proxy, and its health",
    "mcp-proxy": "run the proxy in front of a server of the Model Context Protocol",
    "mcp": "offer an API's operations as tools of the Model Context Protocol",
}
"""What each does. Each is also the name of its module, but for those of `_MODULES`."""
_MODULES: Final = {
    "explain": ("translate", "add_explain"),
    "mcp-proxy": ("mcp_proxy", "add"),
    **{"descriptors": ("spec", "add_descriptors"), "description": ("spec", "add_description")},
}
_EXTRAS: Final = {
    "run": "mitmproxy",
    "doctor": "mitmproxy",
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


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]  # generic for type checkers only
    """Lists each command with what it does."""

    def add_parser(self, name: str, **options: Any) -> Any:
        return super().add_parser(name, **{"help": COMMANDS[name], **options})


class _Version(argparse.Action):
    """Looks for the version only when it is asked for: that takes as long as to start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"corrigible {version('corrigible')}")
        parser.exit()


def parser(*names: str) -> argparse.ArgumentParser:
    """Return the parser of these commands; without names, of all."""
    top, commands = _top()
    for name in names or COMMANDS:
        module, function = _MODULES.get(name, (name, "add"))
        getattr(import_module(f".command.{module}", __package__), function)(commands)
    return top


def _listing() -> argparse.ArgumentParser:
    """Return what lists all commands, those that lack their extra, too. To import them all would take a second."""
    top, commands = _top()
    is_whole = missing_module("proxy") is None
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text if is_whole else needs("it", _EXTRAS.get(name, "proxy")))
    return top


def _top() -> tuple[CommandParser, argparse._SubParsersAction[CommandParser]]:
    top = CommandParser(
        prog="corrigible", description="Add machine-readable corrections to the errors of APIs that you do not own."
    )
    top.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    return top, top.add_subparsers(action=_Commands, title="commands", metavar="COMMAND", required=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0 success, 1 it found a problem, 2 its arguments are wrong, 130 interrupted."""
    _open_standard_streams()
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # its own command, with rich: 5 MB
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] and words[0] in _RELOADING and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # who sends it wants the newest files: they are about to be read
    names = [name for name in words[:1] if name in COMMANDS]  # to import the others takes longer than most commands
    with shown_on("stdout", "stderr", colours=True):
        try:
            top = parser(*names) if names else _listing()
            return _run(top.parse_args(words))
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
