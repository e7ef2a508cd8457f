"""`corrigible mcp-proxy -- COMMAND`: in front of a server of the Model Context Protocol that speaks on pipes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from corrigible.schema.command_line import several

from . import options

if TYPE_CHECKING:
    from corrigible.proxy.http.corrector import HttpCorrector
    from corrigible.proxy.mcp.relay import Relay

_PROGRAM: Final = "corrigible mcp-proxy"
_NOT_FOUND: Final = 127
_BY_SIGNAL: Final = 128


def add(commands: options.Subparsers) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "mcp-proxy",
        usage="corrigible mcp-proxy [OPTION...] -- COMMAND [ARGUMENT...]",
        description="Run a server of the Model Context Protocol. A refused call of a tool gets a correction by the "
        "tool's schema, as the last content of its result. All other messages pass as they are.",
    )
    several(parser, "--pack", metavar="PATH", help="rule pack for the tools of this server; repeatable")
    parser.add_argument("--quiet", action="store_true", help="no line for each refusal, and no summary")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the server and its arguments")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the server until it ends. Exit status: its own."""
    words = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not words:
        raise options.UsageError("a command is required: corrigible mcp-proxy -- COMMAND")
    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.access_log.terminal import standard_error
    from corrigible.proxy.mcp.relay import Relay

    recorder = Recorder(None, standard_error(quiet=given.quiet, program=_PROGRAM))
    relay = Relay(lambda description: corrector_of(given.pack, description), recorder)
    try:
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as problem:
        print(f"{_PROGRAM}: {words[0]}: {(problem.strerror or str(problem)).lower()}", file=sys.stderr)
        return _NOT_FOUND
    assert server.stdin is not None and server.stdout is not None
    signal.signal(signal.SIGTERM, lambda number, frame: server.terminate())
    Thread(target=_forward, args=(relay, sys.stdin.fileno(), server.stdin), daemon=True).start()
    with server:
        for message in server.stdout:
            sys.stdout.buffer.write(relay.of_server(message))
            sys.stdout.buffer.flush()
        status = server.wait()
    recorder.close()
    return status if status >= 0 else _BY_SIGNAL - status


def _forward(relay: Relay, client: int, server: BinaryIO) -> None:
    """Send the client's messages on, until there are no more. A read by the descriptor holds no lock at the end."""
    begun: list[bytes] = []
    try:
        while data := os.read(client, 1 << 16):
            *ended, rest = data.split(b"\n")
            for message in ended:
                relay.of_client(b"".join([*begun, message]))
                begun = []
            begun.append(rest)
            server.write(data)
            server.flush()
        server.close()
    except OSError:  # the server has ended
        return


def corrector_of(packs: list[str], description: Mapping[str, Any]) -> HttpCorrector:
    """Return what corrects calls of the tools that a description has as operations."""
    from corrigible.proxy.build import build_corrector, build_loops

    with TemporaryDirectory(prefix="corrigible-") as folder:
        file = Path(folder) / "openapi.json"
        file.write_text(json.dumps(description), "utf-8")
        return build_corrector(packs, spec=file, loops=build_loops())
