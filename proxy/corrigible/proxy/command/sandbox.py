"""`corrigible sandbox`: a local server to try things on, in the foreground until it is told to stop."""

from __future__ import annotations

import argparse
import signal
import sys
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from corrigible.adapters.demo.acme.sandbox import acme
from corrigible.adapters.sandbox.error import SandboxError
from corrigible.proxy.demo.servers import SANDBOXES, find_server

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "sandbox",
        help="run a local server that behaves like an API",
        description="Run a local server on 127.0.0.1 that behaves like an API. It is installed on first use.",
    )
    parser.add_argument("api", choices=sorted(SANDBOXES))
    parser.add_argument("--server", help="another server than the default: " + _choices("stripe"))
    parser.add_argument("--port", type=int, default=0, help="default: a free one, see the ready line")
    parser.add_argument("--seed", type=Path, metavar="FILE", help="what the server has when it starts (github)")
    parser.add_argument("--stripe", metavar="URL", help="a Stripe-compatible server that runs already (acme)")
    parser.add_argument("--now", metavar="TIME", help="where the clock stands, in ISO 8601 with its zone (acme)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT (status 0) or until the server dies (status 1)."""
    server = find_server(arguments.api, arguments.server)
    if server is None:
        known = _choices(arguments.api)
        raise SandboxError(f"no server {arguments.server!r} for {arguments.api}, only {known}")
    if arguments.seed is not None:
        if server.seeded is None:
            raise SandboxError(f"{server.title} starts empty: it takes no --seed")
        if not arguments.seed.is_file():
            raise SandboxError(f"--seed {arguments.seed}: no such file")
        server = server.seeded(arguments.seed)
    if arguments.stripe is not None or arguments.now is not None:
        if arguments.api != "acme":
            raise SandboxError(f"--stripe and --now are for acme, not for {server.title}")
        server = acme(arguments.stripe or "", _moment(arguments.now))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        with server.start(arguments.port) as running:
            access = f"\n{server.access(running.port)}" if server.access is not None else ""
            print(f"{server.title} listening on {running.url}; it {server.deviation}{access}", flush=True)
            running.process.wait()
            raise SandboxError(running.obituary())
    except SandboxError as error:
        print(f"corrigible sandbox: {error}", file=sys.stderr)
        return 1


def _moment(text: str | None) -> str:
    try:
        if text is not None and datetime.fromisoformat(text).tzinfo is None:
            raise ValueError("it says no zone")
    except ValueError as problem:
        raise SandboxError(f"--now {text}: {problem}") from None
    return text or ""


def _choices(api: str) -> str:
    return ", ".join(server.name for server in SANDBOXES[api])


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
