"""`corrigible mcp-proxy`: in front of a server of the Model Context Protocol that speaks on pipes, or over HTTP."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from functools import partial
from importlib.resources import files
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import urlsplit

from corrigible.schema.command_line import several

from . import options, proxy

if TYPE_CHECKING:
    from corrigible.proxy.mcp.relay import Relay

_PROGRAM: Final = "corrigible mcp-proxy"
_PACK: Final = files("corrigible.proxy.mcp").joinpath("pack")
"""Of a server that nothing is known of."""


def add(commands: options.Subparsers) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "mcp-proxy",
        usage="corrigible mcp-proxy [OPTION...] (-- COMMAND [ARGUMENT...] | --upstream URL)",
        description="Run a server of the Model Context Protocol, or stand before one that is reached over HTTP. A "
        "refused call of a tool gets a correction by the tool's schema, as the last content of its result. All other "
        "messages pass as they are.",
    )
    parser.add_argument("--upstream", metavar="URL", help="a server over streamable HTTP: https://mcp.example.com/mcp")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="with --upstream; default: %(default)s"
    )
    several(parser, "--pack", metavar="PATH", help="rule pack for the tools of this server; repeatable")
    parser.add_argument("--quiet", action="store_true", help="no line for each refusal, and no summary")
    options.add_command(parser, "server")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the server until it ends. Exit status: its own."""
    if given.upstream is not None:
        return _over_http(given)
    words = options.words_of(given, _PROGRAM)
    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.access_log.terminal import standard_error
    from corrigible.proxy.build import build_tools_corrector
    from corrigible.proxy.mcp.relay import Relay, Tools

    recorder = Recorder(None, standard_error(quiet=given.quiet, program=_PROGRAM))
    relay = Relay(Tools(partial(build_tools_corrector, given.pack)), recorder, changes_calls=True)
    try:
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as problem:
        print(f"{_PROGRAM}: {words[0]}: {(problem.strerror or str(problem)).lower()}", file=sys.stderr)
        return options.NOT_FOUND
    assert server.stdin is not None and server.stdout is not None
    signal.signal(signal.SIGTERM, lambda number, frame: server.terminate())
    Thread(target=_forward, args=(relay, sys.stdin.fileno(), server.stdin), daemon=True).start()
    with server:
        for message in server.stdout:
            sys.stdout.buffer.write(relay.of_server(message))
            sys.stdout.buffer.flush()
        status = server.wait()
    recorder.close()
    return options.exit_status(status)


def _over_http(given: argparse.Namespace) -> int:
    """Serve as `corrigible proxy` with a pack of `dialect: mcp`."""
    if given.command:
        raise options.UsageError("--upstream cannot be used with a command")
    at = urlsplit(given.upstream)
    if at.scheme not in ("http", "https") or not at.hostname:
        raise options.UsageError(f"--upstream {given.upstream}: not a URL such as https://mcp.example.com/mcp")
    parser = argparse.ArgumentParser()
    proxy.add(parser.add_subparsers())
    packs = [word for pack in given.pack for word in ("--pack", pack)]
    words = ["--upstream", f"{at.scheme}://{at.netloc}", "--listen", given.listen, *packs, "--pack", str(_PACK)]
    if at.path.strip("/") and not given.quiet:
        print(f"{_PROGRAM}: clients keep the path: http://{given.listen}{at.path}", file=sys.stderr)
    return proxy.run(parser.parse_args(["proxy", *words, *(["--quiet"] if given.quiet else [])]))


def _forward(relay: Relay, client: int, server: BinaryIO) -> None:
    """Send the client's messages on, until there are no more. A read by the descriptor holds no lock at the end."""
    begun: list[bytes] = []
    try:
        while data := os.read(client, 1 << 16):
            *ended, rest = data.split(b"\n")
            for message in ended:
                passed = relay.of_client(b"".join([*begun, message, b"\n"]))
                begun = []
                server.write(passed.on)
                if passed.back:
                    sys.stdout.buffer.write(passed.back)
                    sys.stdout.buffer.flush()
            begun.append(rest)
            server.flush()
        server.write(b"".join(begun))
        server.close()
    except OSError:  # the server has ended
        return
