"""`conformance serve-reference`: run the reference API, to try requests by hand."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import threading
from contextlib import ExitStack
from importlib import import_module
from typing import Final, NamedTuple

from corrigible.conformance.command import Subparsers, subcommand
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.transport.http1 import HttpRequest, curl
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line


class Scenario(NamedTuple):
    """One request to the shop that shows something."""

    about: str
    method: str
    target: str
    body: Json = None


_LINE: Final[dict[str, Json]] = {"sku": "tea", "quantity": 1}
SCENARIOS: Final = (
    Scenario("a success", "GET", "/v1/items"),
    Scenario("a value that is not listed", "GET", "/v1/items?category=drinks"),
    Scenario("a wrong path", "GET", "/v1/item"),
    Scenario("a missing member", "POST", "/v1/orders", {"lines": [_LINE]}),
    Scenario(
        "more than is in stock", "POST", "/v1/orders", {"customer": "cus_ada", "lines": [{**_LINE, "quantity": 90}]}
    ),
    Scenario("an unknown item", "POST", "/v1/orders", {"customer": "cus_ada", "lines": [{**_LINE, "sku": "te"}]}),
    Scenario("a refund that is too large", "POST", "/v1/refunds", {"order": "ord_1", "amount": 500}),
    Scenario("nothing left to refund", "POST", "/v1/refunds", {"order": "ord_2", "amount": 500}),
    Scenario("what only a person may do", "POST", "/v1/refunds", {"order": "ord_6", "amount": 60_000}),
    Scenario("a version that is stale", "PATCH", "/v1/orders/ord_1", {"version": 1, "note": "hello"}),
    Scenario("a goal that holds already", "POST", "/v1/orders/ord_4/cancel"),
    Scenario("the same, as a problem document", "POST", "/problem/v1/refunds", {"order": "ord_1", "amount": 500}),
)


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
    lines = [f"The shop serves {url}, described by {SUITE / 'reference' / 'openapi.yaml'}", ""]
    for scenario in SCENARIOS:
        sent = request(scenario)
        status, body, _ = shop.respond(sent)
        lines += [f"{scenario.about}: {status}{_code(body)}", f"  {_shortened(curl(url, sent))}"]
    return "\n".join(lines)


def request(scenario: Scenario) -> HttpRequest:
    body = b"" if scenario.body is None else json.dumps(scenario.body).encode()
    headers = [("Authorization", "Bearer me")] + [("Content-Type", "application/json")] * bool(body)
    return HttpRequest(scenario.method, scenario.target, tuple(headers), body)


def _code(body: Json) -> str:
    if not isinstance(body, dict):
        return ""
    error = body.get("error", body)
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    return f" {code}" if isinstance(code, str) else ""


def _shortened(line: str) -> str:
    return shlex.join(word for word in shlex.split(line) if word != "-i")
