"""`corrigible mcp`: an API's operations as tools of the Model Context Protocol, with corrections of refused calls."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from corrigible.client.policy import OnRefusal, Policy
from corrigible.schema.command_line import several
from corrigible.schema.extra import MissingExtra

from . import spec_option
from .options import Subparsers, UsageError

if TYPE_CHECKING:
    from corrigible.client.toolset import Toolset

_SDK: Final = "mcp>=2.3"
_AGAIN: Final = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
_WITH_SDK: Final = "CORRIGIBLE_WITH_SDK"
"""In the environment of the process that has it."""

_INTERRUPTED = 130
_SECONDS = 60
"""Until the API has answered."""


def add(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "mcp",
        description="Offer the operations of an API as tools of the Model Context Protocol, on standard input and "
        "output. The answer to a refused call is a short correction, with the arguments of the call that will work.",
    )
    parser.add_argument("--upstream", required=True, metavar="URL", help="the API: https://api.example.com")
    parser.add_argument(
        "--spec", required=True, metavar="FILE", help="the API's description (OpenAPI 3, Swagger 2.0): a file or a URL"
    )
    several(
        parser, "--pack", metavar="NAME_OR_PATH", help="rule pack: the name of a built-in one, or a folder; repeatable"
    )
    several(
        parser,
        "--header",
        metavar="'NAME: VALUE'",
        help="header of every request, such as the credentials: 'Authorization: Bearer $TOKEN'; $TOKEN is read from "
        "the environment",
    )
    several(
        parser,
        "--query",
        metavar="NAME=VALUE",
        help="parameter of the query of every request, such as a key: 'api_key=$KEY'; no tool has it as an argument",
    )
    several(parser, "--tool", metavar="NAME", help="offer only this operation; repeatable")
    parser.add_argument(
        "--on-refusal",
        choices=[OnRefusal.EXPLAIN.value, OnRefusal.REPAIR.value],
        default=OnRefusal.EXPLAIN.value,
        help="explain: nothing is sent again; repair: a correction that is proved, and that changes nothing of what "
        "was asked for, is sent; default: %(default)s",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        from corrigible.proxy.mcp.server import serve
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "mcp":
            raise
        if find_spec("pip") is None or _WITH_SDK in os.environ:
            raise MissingExtra("corrigible mcp", "mcp", problem.name) from None
        _run_with_sdk()
    (file,) = spec_option.spec_files([args.spec])
    toolset = _toolset(args, file)
    if not toolset.tools:
        raise UsageError(f"--spec {spec_option.shown(args.spec)}: no operation that can be a tool")
    before = signal.signal(signal.SIGINT, _end)
    try:
        print(f"{len(toolset.tools)} tools of {spec_option.shown(args.upstream)}", file=sys.stderr)
        asyncio.run(serve(toolset, "corrigible"))
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def _run_with_sdk() -> None:
    """Go on as a process that has the SDK, too. Raises UsageError.

    The SDK and mitmproxy want different versions of h11 below Python 3.12, so it is installed into a folder of its own,
    on first use. Nothing here needs mitmproxy.
    """
    from corrigible.adapters.sandbox.runtimes import python_packages
    from corrigible.adapters.sandbox.server import SandboxError

    try:
        folder = python_packages(_SDK)
    except (SandboxError, OSError) as problem:
        raise UsageError(str(problem)) from None
    path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), _WITH_SDK: "1"}
    os.execve(sys.executable, [sys.executable, "-c", _AGAIN, *sys.argv[1:]], environment)


def _end(number: int, frame: object) -> None:
    """End at once: a thread waits for the next line of standard input, and nothing can interrupt it."""
    os._exit(_INTERRUPTED)


def _toolset(args: argparse.Namespace, file: Path) -> Toolset:
    from corrigible.adapters.openapi.source_files import SourceFiles
    from corrigible.client.toolset import Toolset
    from corrigible.proxy.asgi import ReflectiveMiddleware
    from corrigible.proxy.build import build_corrector, build_loops
    from corrigible.proxy.mcp.upstream import Upstream

    document = SourceFiles(file).document
    if not isinstance(document, dict):
        raise UsageError(f"--spec {spec_option.shown(args.spec)}: not an OpenAPI description")
    with spec_option.warned() as lines:
        corrector = build_corrector(args.pack, spec=[file], loops=build_loops())
    for line in lines:
        print(f"corrigible mcp: {line}", file=sys.stderr)
    upstream = Upstream(args.upstream, httpx.AsyncClient(timeout=_SECONDS))
    app = ReflectiveMiddleware(upstream, corrector=corrector)
    try:
        return Toolset(
            document,
            args.upstream,
            headers=dict(map(_header, args.header)),
            query=dict(map(_parameter, args.query)),
            policy=Policy(on_refusal=OnRefusal(args.on_refusal)),
            names=args.tool or None,
            async_transport=httpx.ASGITransport(app),
        )
    except ValueError as problem:
        raise UsageError(str(problem)) from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError("--header: not of the form 'Name: value'")  # it may be a secret: it is not repeated
    plain = _expanded(f"--header {name.strip()}", value)
    if not (plain.isascii() and plain.isprintable()):
        raise UsageError(f"--header {name.strip()}: the value has characters that a header cannot have")
    return name.strip(), plain


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError("--query: not of the form NAME=VALUE")
    return name.strip(), _expanded(f"--query {name.strip()}", value)


def _expanded(option: str, value: str) -> str:
    """Return a value with the variables of the environment in it."""
    expanded = os.path.expandvars(value.strip())
    unset = re.search(r"\$\{?(\w+)", expanded)
    if unset is not None and unset[0] in value:
        raise UsageError(f"{option}: the environment has no variable {unset[1]}")
    return expanded.strip()  # a file's last line end
