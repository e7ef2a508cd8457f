"""`corrigible sandbox`: run a local server that behaves like an API, in the foreground."""

from __future__ import annotations

import argparse
import signal
import sys
from datetime import datetime
from pathlib import Path
from types import FrameType

from corrigible.adapters.demo.acme.sandbox import acme
from corrigible.adapters.sandbox.server import SandboxError
from corrigible.proxy.demo.scene import SANDBOXES, find_server

from .options import Subparsers


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "sandbox",
        description="Run a local server on 127.0.0.1 that behaves like an API. The server is installed on first use.",
    )
    parser.add_argument("api", choices=sorted(SANDBOXES))
    parser.add_argument(
        "--server", metavar="NAME", help=f"which server, if the API has several: {_choices('stripe')} (stripe)"
    )
    parser.add_argument("--port", type=int, default=0, help="default: a free port, printed at the start")
    parser.add_argument("--seed", type=Path, metavar="FILE", help="initial data of the server (github)")
    parser.add_argument("--stripe", metavar="URL", help="a running Stripe-compatible server to use (acme)")
    parser.add_argument(
        "--now", metavar="TIME", help="start time of the server's clock, ISO 8601 with time zone (acme)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT (exit status 0), or until the server dies (1)."""
    server = find_server(arguments.api, arguments.server)
    if server is None:
        raise SandboxError(f"--server {arguments.server}: {arguments.api} has only {_choices(arguments.api)}")
    if arguments.seed is not None:
        if server.seeded is None:
            raise SandboxError(f"--seed cannot be used with {server.title}: it starts empty")
        if not arguments.seed.is_file():
            raise SandboxError(f"--seed {arguments.seed}: no such file")
        server = server.seeded(arguments.seed)
    if arguments.stripe is not None or arguments.now is not None:
        if arguments.api != "acme":
            raise SandboxError(f"--stripe and --now cannot be used with {server.title}, only with acme")
        server = acme(arguments.stripe or "", _moment(arguments.now))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        with server.start(arguments.port) as running:
            access = f"\n{server.access(running.port)}" if server.access is not None else ""
            print(f"{server.title} listening on {running.url}; it {server.deviation}{access}", flush=True)
            running.process.wait()
            raise SandboxError(running.exit_report())
    except SandboxError as error:
        print(f"corrigible sandbox: {error}", file=sys.stderr)
        return 1


def _moment(text: str | None) -> str:
    try:
        if text is not None and datetime.fromisoformat(text).tzinfo is None:
            raise ValueError("the time zone is missing")
    except ValueError as problem:
        raise SandboxError(f"--now {text}: {problem}") from None
    return text or ""


def _choices(api: str) -> str:
    return ", ".join(server.name for server in SANDBOXES[api])


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
