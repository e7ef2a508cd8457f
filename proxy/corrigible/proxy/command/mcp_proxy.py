"""`corrigible mcp-proxy`: in front of a server of the Model Context Protocol that speaks on pipes, or over HTTP."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, Timer
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from corrigible.schema.command_line import several

from . import options, proxy

if TYPE_CHECKING:
    from corrigible.proxy.mcp.relay import Relay

_PROGRAM: Final = "corrigible mcp-proxy"
_PACK: Final = files("corrigible.proxy.mcp").joinpath("pack", "pack.yaml")
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
    several(
        parser,
        "--lookup-tool",
        metavar="NAME",
        help="a tool with readOnlyHint that the proxy may call itself, to find the name of what a refused call says is "
        "not there; repeatable; default: none",
    )
    parser.add_argument("--quiet", action="store_true", help="no line for each refusal, and no summary")
    options.add_command(parser, "server")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the server until it ends. Exit status: its own."""
    from corrigible.proxy.mcp.relay import path_of

    with TemporaryDirectory(prefix="corrigible-") as folder:
        lookups = json.dumps([path_of(name) for name in given.lookup_tool])
        Path(folder, _PACK.name).write_text(f"{_PACK.read_text('utf-8')}lookups: {lookups}\n", "utf-8")
        return (_on_pipes if given.upstream is None else _over_http)(given, folder)


def _on_pipes(given: argparse.Namespace, own: str) -> int:
    """Start the server. `own` is the folder of the pack of a server that nothing is known of."""
    words = options.words_of(given, _PROGRAM)
    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.access_log.terminal import standard_error
    from corrigible.proxy.build import build_tools_corrector
    from corrigible.proxy.core.limits import Limits
    from corrigible.proxy.mcp.relay import Relay, Tools
    from corrigible.rules.pack.load import load_pack

    recorder = Recorder(None, standard_error(quiet=given.quiet, program=_PROGRAM))
    tools = Tools(partial(build_tools_corrector, given.pack), map(load_pack, [*given.pack, own]))
    relay = Relay(tools, recorder, changes_calls=True)
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
            _write(sys.stdout.buffer, relay.of_server(message))
            while relay.wanted:
                call, wanted = relay.wanted.pop()
                # Who waits for a server that does not read must not keep it from writing.
                _soon(0, lambda one: _write(server.stdin, one), wanted)
                _soon(Limits().seconds_with_lookups, lambda one: _write(sys.stdout.buffer, relay.released(one)), call)
        status = server.wait()
    recorder.close()
    return options.exit_status(status)


def _soon(seconds: float, act: Callable[[Any], None], argument: Any) -> None:
    timer = Timer(seconds, act, (argument,))
    timer.daemon = True
    timer.start()


def _write(to: IO[bytes] | None, message: bytes) -> None:
    with suppress(OSError, ValueError):  # who reads has ended
        if to is not None and message:
            to.write(message)
            to.flush()


def _over_http(given: argparse.Namespace, own: str) -> int:
    """Serve as `corrigible proxy` with a pack of `dialect: mcp`."""
    if given.command:
        raise options.UsageError("--upstream cannot be used with a command")
    at = urlsplit(given.upstream)
    if at.scheme not in ("http", "https") or not at.hostname:
        raise options.UsageError(f"--upstream {given.upstream}: not a URL such as https://mcp.example.com/mcp")
    parser = argparse.ArgumentParser()
    proxy.add(parser.add_subparsers())
    packs = [word for pack in given.pack for word in ("--pack", pack)]
    words = ["--upstream", f"{at.scheme}://{at.netloc}", "--listen", given.listen, *packs, "--pack", own]
    if at.path.strip("/") and not given.quiet:
        print(f"{_PROGRAM}: clients keep the path: http://{given.listen}{at.path}", file=sys.stderr)
    return proxy.run(parser.parse_args(["proxy", *words, *(["--quiet"] if given.quiet else [])]))


def _forward(relay: Relay, client: int, server: IO[bytes]) -> None:
    """Send the client's messages on, until there are no more. A read by the descriptor holds no lock at the end."""
    begun: list[bytes] = []
    try:
        while data := os.read(client, 1 << 16):
            *ended, rest = data.split(b"\n")
            for message in ended:
                passed = relay.of_client(b"".join([*begun, message, b"\n"]))
                begun = []
                server.write(passed.on)
                _write(sys.stdout.buffer, passed.back)
            begun.append(rest)
            server.flush()
        server.write(b"".join(begun))
        server.close()
    except OSError:  # the server has ended
        return
