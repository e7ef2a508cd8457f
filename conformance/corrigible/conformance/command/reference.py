"""`conformance serve-reference`: run the reference API, to try requests by hand."""

from __future__ import annotations

import argparse
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module

from corrigible.conformance.checks.support.exchange import as_sent, of_reference
from corrigible.conformance.command import Subparsers, subcommand
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.vector import request_of
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference.api import PROBLEM, Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.transport.http1 import HttpRequest, curl
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line


def add(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "serve-reference",
        run,
        "run the reference API",
        "Run the API that the suite puts behind proxies, on 127.0.0.1, and print requests to try.",
    )
    parser.add_argument("--port", metavar="N", type=int, default=0, help="default: a free one")
    parser.add_argument(
        "--grpc-port", metavar="N", type=int, help="also serve the gRPC API, on this port; 0: a free one"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    for option, port in (("--port", args.port), ("--grpc-port", args.grpc_port)):
        if port is not None and not 0 <= port < 1 << 16:
            raise UsageError(f"{option} {port}: no port")
    with ExitStack() as stack:
        try:
            upstream = stack.enter_context(Upstream(Shop(), port=args.port, remembers=False))
        except OSError as problem:
            raise UsageError(f"--port {args.port}: cannot listen there: {problem}") from None
        try:
            print(table(upstream.url))
            if args.grpc_port is not None:
                print(_over_grpc(args.grpc_port, stack))
            sys.stdout.flush()
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
    return 0


def _over_grpc(port: int, stack: ExitStack) -> str:
    try:
        module = import_module("..reference.grpc_upstream", __package__)
        upstream = stack.enter_context(module.GrpcUpstream(port=port))
    except ModuleNotFoundError as problem:
        raise UsageError(f"--grpc-port: {problem.name} is not installed: {install_line('conformance')}") from None
    except (OSError, RuntimeError) as problem:
        raise UsageError(f"--grpc-port {port}: cannot listen there: {problem}") from None
    described = SUITE / "reference" / "shop.proto"
    return f"\ngRPC on 127.0.0.1:{upstream.port}, described by {described} and by reflection"


def table(url: str) -> str:
    """Return what can be tried, with what the shop really answers: it is asked while this is written."""
    shop = Shop()
    lines = [f"The shop serves {url}, described by {SUITE / 'reference' / 'openapi.yaml'}"]
    lines += [f"Below {PROBLEM} it refuses with problem documents.", ""]
    for about, request in scenarios():
        status, body, _ = shop.respond(request)
        lines += [f"{about}: {status}{_code(body)}", f"  {_shortened(curl(url, request))}"]
    return "\n".join(lines)


def scenarios() -> Iterator[tuple[str, HttpRequest]]:
    """Yield a request that is accepted, and those that the suite has refused."""
    me = ("Authorization", "Bearer me")
    yield "a success", HttpRequest("GET", "/v1/items", (me,))
    for entry in of_reference("provocations"):
        yield entry["name"], as_sent(request_of(entry["request"])).adding(me)


def _code(body: Json) -> str:
    if not isinstance(body, dict):
        return ""
    error = body.get("error", body)
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    return f" {code}" if isinstance(code, str) else ""


def _shortened(line: str) -> str:
    return shlex.join(word for word in shlex.split(line) if word != "-i")
