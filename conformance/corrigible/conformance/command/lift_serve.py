"""`conformance lift serve`: measure an agent that makes HTTP calls, whatever it is made of."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.log.store import opened
from corrigible.conformance.lift.plan import Plan, made, read_plan
from corrigible.conformance.lift.serve.external_agent import ExternalAgent
from corrigible.conformance.lift.serve.server import Server
from corrigible.conformance.lift.serve.service import EpisodeService
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.exchange import Json

from . import lift_options

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ARMS: Final = (Arm.TRADITIONAL, Arm.VERBOSE, Arm.REFLECTIVE, Arm.PATCHES)
"""The default."""


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "serve",
        help="measure an agent of your own",
        description="Hand out episodes over HTTP: POST /episodes answers a prompt and a base URL; the agent calls the"
        " API there, POSTs /episodes/ID/finish, and is scored by the end state. Arms are assigned at random, balanced,"
        " and hidden from the agent. Run it again with the same --out to continue.",
    )
    lift_options.add(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; default: a free one")
    parser.add_argument("--agent", default="external", metavar="NAME", help="the agent's name in the log")
    parser.add_argument(
        "--arm", action="append", default=[], metavar="NAME,...", help=f"arms to assign; default: {', '.join(ARMS)}"
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="maximum time of an episode; default: 600")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 0 <= args.port < 1 << 16:
        raise UsageError(f"--port {args.port}: no port")
    agent = ExternalAgent(args.agent)
    resolved = lift_options.resolve(_plan(args), args, (agent,))
    with opened(args.out) as store:
        service = EpisodeService(resolved, store, agent, lambda line: print(line, file=sys.stderr, flush=True))
        try:
            with _listening(service, args.port) as server:
                print(f"listening on {server.url}: {service.status()['left']} of {service.total} episodes to play")
                print(f"  curl -sX POST {server.url}/episodes")
                print(f"when they are played: conformance lift report {args.out}", flush=True)
                server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            service.close()
    return 0


def _listening(service: EpisodeService, port: int) -> Server:
    try:
        return Server(service, port)
    except OSError as problem:
        raise UsageError(f"--port {port}: cannot listen there: {problem}") from None


def _plan(args: argparse.Namespace) -> Plan:
    document: dict[str, Json] = {"arms": [arm.value for arm in ARMS], "timeout": 600.0}
    if args.plan is not None:
        document = read_plan(args.plan).model_dump(mode="json")
    arms = [name for arm in args.arm for name in arm.split(",") if name]
    settings = {"domains": args.domain, "tasks": args.task, "arms": arms, "seeds": args.seed}
    document |= {name: value for name, value in settings.items() if value}
    document |= {name: value for name in ("start", "attempts", "timeout") if (value := getattr(args, name)) is not None}
    return made({**document, "agents": [args.agent]}, str(args.plan or "options"))
