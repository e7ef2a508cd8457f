"""`corrigible corrector`: corrections as a service, for a gateway that carries the traffic itself."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from corrigible.proxy.access_log.recorder import Recorder, on_hangup
from corrigible.proxy.access_log.terminal import standard_error
from corrigible.proxy.admin.reload import Reloader
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.runtime.dispatcher import Dispatcher
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.extra import install_line

from . import api_options, spec_option, tls
from .addresses import parse_listen, parse_upstream
from .api_plan import ApiPlan
from .correction_job import Prepared, grpc_job, http_job
from .relay_key import read_key
from .time_limit import limits_of
from .usage_error import UsageError, one_of

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from corrigible.proxy.envoy.corrector_process import Job, Listening
    from corrigible.proxy.envoy.http_server import Answering

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_UNIX = "unix:"


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "corrector",
        help="answer the questions of a gateway, such as Envoy, about refused requests",
        description="Serve corrections to a gateway that carries the traffic itself. It sends each refused exchange, "
        "and gets the edits of the answer. corrigible envoy config prints the configuration of Envoy for this.",
    )
    api_options.add(parser, listen="127.0.0.1:9090")
    parser.add_argument(
        "--ext-proc",
        action="store_true",
        help="speak envoy.service.ext_proc.v3 over gRPC, for gateways that know nothing else",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Exit status: 0 stopped, 1 cannot listen, 2 an argument is wrong."""
    recorder = Recorder(terminal=standard_error())
    try:
        address = _address(args.listen)
        prepared = _prepared(args)
        from corrigible.proxy.envoy.corrector_process import run as serve

        listening = _by_ext_proc(prepared, query_mode=args.query_mode) if args.ext_proc else None
    except (CorrigibleError, OSError, ValueError) as problem:
        return _fail(problem, 2)
    except ModuleNotFoundError as missing:
        if missing.name != "httptools":
            raise
        return _fail(f"httptools is not installed: {install_line('envoy')}", 1)
    for line in prepared.lines:
        _say(line)

    def started(loop: asyncio.AbstractEventLoop, dispatcher: Dispatcher) -> None:
        reloader = Reloader(prepared.parts, prepared.files, recorder, dispatcher)
        on_hangup(loop, reloader.ask)
        print(f"corrigible corrector: {address} {prepared.label}", flush=True)

    try:
        serve(prepared.job, address, started, listening=listening)
    except OSError as problem:
        return _fail(f"cannot listen on {args.listen}: {(problem.strerror or str(problem)).lower()}", 1)
    finally:
        recorder.close()
    return 0


def _prepared(args: argparse.Namespace) -> Prepared:
    mode = Mode(one_of("--mode", args.mode, [mode.value for mode in Mode]))
    limits = limits_of(args.time_limit, is_looking_up=not args.no_lookups)
    relay = Relay(read_key(args.relay_key)) if args.relay_key is not None else None
    if args.grpc_upstream is not None:
        return grpc_job(args, mode, limits, _say)
    if args.descriptors is not None:
        raise UsageError("--descriptors needs --grpc-upstream")
    if args.upstream is None:
        raise UsageError("--upstream URL is required: look-ups go there")
    upstream = parse_upstream(args.upstream)
    if not args.pack and not args.spec:
        raise UsageError("--pack or --spec is required")
    trust = tls.read_trust(args, plaintext=None if upstream.startswith("https:") else f"--upstream {upstream}")
    more = {"maps": args.map, "map_origins": args.map_origin, "query_mode": args.query_mode}
    plan = ApiPlan(args.pack, args.spec, spec_option.base_path(args.base), mode, limits, upstream, **more)
    return http_job(plan, relay, trust, Rewritten.NONE)


def _by_ext_proc(prepared: Prepared, *, query_mode: bool) -> Listening:
    """Return what serves by this protocol. Raises UsageError if its extra is not installed."""
    from corrigible.proxy.envoy.api_hints import is_asking_for_target
    from corrigible.proxy.envoy.processing import Processing

    try:
        from corrigible.proxy.envoy.ext_proc import serving
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("envoy_data_plane", "betterproto2", "grpc"):
            raise
        raise UsageError(f"--ext-proc is not installed: {install_line('ext_proc')}") from None

    def listening(job: Job, answering: Answering, address: str) -> AbstractAsyncContextManager[object]:
        asks = is_asking_for_target(prepared.profiles(), query_mode=query_mode) and prepared.route is not None
        return serving(lambda: Processing(answering, job.wants, job.body_limit, asks_for_target=asks), address)

    return listening


def _address(text: str) -> str:
    """Return `HOST:PORT` or `unix:PATH`."""
    if text.startswith(_UNIX):
        if not text.removeprefix(_UNIX):
            raise UsageError("--listen unix: needs a path")
        return text
    return str(parse_listen(text))


def _say(line: str) -> None:
    print(f"corrigible corrector: {line}", file=sys.stderr)


def _fail(problem: object, status: int) -> int:
    _say(str(problem))
    return status
