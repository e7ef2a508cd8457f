"""`corrigible corrector`: corrections as a service, for a gateway that carries the traffic itself.

`corrigible proxy --engine envoy` has the same job, and brings the gateway.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.own_location import Rewritten
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.extra import install_line

from . import options
from .plans import ApiPlan, GrpcPlan, RunningPlans, files_of

if TYPE_CHECKING:
    import asyncio
    from contextlib import AbstractAsyncContextManager

    from corrigible.adapters.protobuf.descriptors import Descriptors
    from corrigible.proxy.admin.reload import Part
    from corrigible.proxy.core.api_profile import ApiProfile
    from corrigible.proxy.core.engine import Engine
    from corrigible.proxy.core.relayed_feedback import Relay
    from corrigible.proxy.envoy.corrector_process import Job, Listening
    from corrigible.proxy.envoy.http_server import Answering
    from corrigible.proxy.http.api_routes import ApiRoute
    from corrigible.proxy.runtime.dispatcher import Dispatcher
    from corrigible.proxy.runtime.fork_server import Served
    from corrigible.proxy.tls_files import Trust

_UNIX: Final = "unix:"


def add(commands: options.Subparsers) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "corrector",
        description="Serve corrections to a gateway that carries the traffic itself. It sends each refused exchange, "
        "and gets the edits of the answer. corrigible envoy config prints the configuration of Envoy for this.",
    )
    groups = options.Groups(parser)
    options.add_api(groups, listen="127.0.0.1:9090")
    options.add(groups, "corrector")
    parser.set_defaults(run=run)


@dataclass(slots=True)
class Prepared:
    """A job, and what there is to say about it."""

    job: Job
    label: str
    """What is in front of what."""
    parts: Callable[[], Sequence[Part]]
    """Returns what can be loaded anew, or raises what is wrong."""
    files: Callable[[], Iterator[Path]]
    """Yields the files that are loaded."""
    profiles: Callable[[], Sequence[ApiProfile]]
    route: ApiRoute | None = None
    """None for a gRPC API."""
    lines: Sequence[str] = field(default=())
    """For the operator."""
    name: str = ""
    """What the log and the metrics call the API."""
    pending: Callable[[], str] = str
    """Says what has changed and needs a restart."""


def http_job(
    plan: ApiPlan,
    relay: Relay | None,
    trust: Trust,
    rewritten: Rewritten,
    running: Callable[[ApiRoute], RunningPlans] | None = None,
) -> Prepared:
    """Load an HTTP API. Raises CorrigibleError, OSError and ValueError.

    `running` says what the configuration says of it later; without it nothing of it changes but files.
    """
    from corrigible.proxy.admin.reload import reload_all
    from corrigible.proxy.build import build_loops
    from corrigible.proxy.envoy.corrector_process import HttpJob

    engine, lines = plan.load(relay)
    loops = build_loops()
    route = plan.route(engine, loops, rewritten)
    plans = running(route) if running is not None else None

    def profiles() -> Sequence[ApiProfile]:
        return route.corrector.engine.profiles

    def parts() -> Sequence[Part]:
        return plans.parts() if plans is not None else [plan.part(relay, route)]

    def files() -> Iterator[Path]:
        if plans is not None:
            return plans.files()
        return files_of([profile.pack.path for profile in profiles()], [*plan.specs, *plan.maps])

    work: Served = {route.task: route.corrector.correct, "reload": lambda: reload_all(parts())}
    return Prepared(
        HttpJob(route, loops, work, trust),
        plan.described(engine).strip(),
        parts,
        files,
        profiles,
        route,
        lines,
        route.label,
        plans.pending if plans is not None else str,
    )


def grpc_job(plan: GrpcPlan, mode: Mode, complain: Callable[[str], None]) -> Prepared:
    """Load a gRPC API. Raises CorrigibleError, OSError and ValueError."""
    with options.needing_grpc():
        from corrigible.adapters.protobuf.descriptors import load
        from corrigible.proxy.envoy.grpc_service import GrpcJob
        from corrigible.proxy.grpc.channel import NoCertificate, secured
        from corrigible.proxy.grpc.corrector import GrpcCorrector
        from corrigible.proxy.grpc.server import shipped_descriptors
    from corrigible.proxy.admin.reload import Part, reload_all
    from corrigible.proxy.build import build_loops

    def with_descriptors(engine: Engine) -> tuple[Engine, Descriptors | None]:
        file = plan.args.descriptors
        return engine, load(file) if file is not None else shipped_descriptors(engine)

    engine, descriptors = with_descriptors(plan.load())
    loops = build_loops()
    corrector = GrpcCorrector(engine, descriptors, mode=mode, loops=loops)
    parts = [Part(lambda: (with_descriptors(plan.load_anew()), ()), corrector.use)]
    work: Served = {"correct": corrector.correct, "read": corrector.read, "reload": lambda: reload_all(parts)}
    try:
        how = secured(plan.address, plan.trust) if plan.is_secure else None
    except NoCertificate as problem:
        raise options.UsageError(f"--upstream-insecure: {problem}") from None
    return Prepared(
        GrpcJob(corrector, plan.address, loops, work, how, descriptors is not None, complain),
        f"-> {plan.target} ({engine.packs}; {mode.value})",
        lambda: parts,
        lambda: plan.files(corrector.engine),
        lambda: corrector.engine.profiles,
        name=engine.packs,
        pending=plan.pending,
    )


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Exit status: 0 stopped, 1 cannot listen, 2 an argument is wrong."""
    from corrigible.proxy.access_log.statistics import Recorder, on_hangup
    from corrigible.proxy.access_log.terminal import standard_error
    from corrigible.proxy.admin.reload import Reloader

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
    from corrigible.proxy.core.relayed_feedback import Relay

    mode = Mode(options.one_of("--mode", args.mode, [mode.value for mode in Mode]))
    limits = options.limits_of(args.time_limit, args.body_limit, is_looking_up=not args.no_lookups)
    relay = Relay(options.read_key(args.relay_key)) if args.relay_key is not None else None
    if args.grpc_upstream is not None:
        return grpc_job(GrpcPlan(args, limits), mode, _say)
    if args.descriptors is not None:
        raise options.UsageError("--descriptors needs --grpc-upstream")
    if args.upstream is None:
        raise options.UsageError("--upstream URL is required: look-ups go there")
    upstream = options.parse_upstream(args.upstream)
    if not args.pack and not args.spec:
        raise options.UsageError("--pack or --spec is required")
    trust = options.read_trust(args, plaintext=None if upstream.startswith("https:") else f"--upstream {upstream}")
    more = {"maps": args.map, "map_origins": args.map_origin, "query_mode": args.query_mode}
    plan = ApiPlan(args.pack, args.spec, options.base_path(args.base), mode, limits, upstream, **more)
    return http_job(plan, relay, trust, Rewritten.NONE)


def _by_ext_proc(prepared: Prepared, *, query_mode: bool) -> Listening:
    """Return what serves by this protocol. Raises UsageError if its extra is not installed."""
    from corrigible.proxy.envoy.gateway import is_asking_for_target
    from corrigible.proxy.envoy.processing import Processing

    try:
        from corrigible.proxy.envoy.ext_proc import serving
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("envoy_data_plane", "betterproto2", "grpc"):
            raise
        raise options.UsageError(f"--ext-proc is not installed: {install_line('ext_proc')}") from None

    def listening(job: Job, answering: Answering, address: str) -> AbstractAsyncContextManager[object]:
        asks = is_asking_for_target(prepared.profiles(), query_mode=query_mode) and prepared.route is not None
        return serving(lambda: Processing(answering, job.wants, job.body_limit, asks_for_target=asks), address)

    return listening


def _address(text: str) -> str:
    """Return `HOST:PORT` or `unix:PATH`."""
    if text.startswith(_UNIX):
        if not text.removeprefix(_UNIX):
            raise options.UsageError("--listen unix: needs a path")
        return text
    return str(options.parse_listen(text))


def _say(line: str) -> None:
    print(f"corrigible corrector: {line}", file=sys.stderr)


def _fail(problem: object, status: int) -> int:
    _say(str(problem))
    return status
