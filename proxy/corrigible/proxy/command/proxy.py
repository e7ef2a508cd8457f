"""`corrigible proxy`: the proxy between callers and an API."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from corrigible.proxy.admin.reload import Reloader, reload_all
from corrigible.proxy.build import build_dispatcher, build_loops
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.http.api_routes import ApiRoutes
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.runtime.fork_server import Served
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.extra import install_line

from . import api_options, envoy_engine, grpc, spec_option, supervision, time_limit, tls
from .plans import EngineMode, RunningPlans, resolve
from .relay_key import read_key
from .settings import settings_of
from .usage_error import UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options. `run` checks their values, so that each error is one line."""
    parser = subparsers.add_parser(
        "proxy",
        help="run the proxy in front of an API",
        description="Forward requests to an API. If the API rejects a request and a rule or the API's description "
        "gives a fix, add recovery_feedback to the error. Everything else passes unchanged.",
    )
    api_options.add(parser, listen="127.0.0.1:8080")
    tls.add_identity(parser)
    parser.add_argument(
        "--rewrite-location",
        metavar="|".join(Rewritten),
        default=Rewritten.REDIRECTS.value,
        help="where the API's own address becomes a relative reference, so that callers who follow it stay with the "
        "proxy: in Location of redirects, in Location, Content-Location and Link of all answers, or nowhere; "
        "default: %(default)s",
    )
    time_limit.add_timeouts(parser)
    supervision.add(parser)
    parser.add_argument(
        "--engine-mode",
        metavar="|".join(get_args(EngineMode)),
        default="reverse",
        help="mitmproxy's mode; regular and transparent take no --upstream; default: %(default)s",
    )
    parser.add_argument(
        "--engine",
        metavar="|".join(envoy_engine.ENGINES),
        default="mitmproxy",
        help="what carries the traffic; auto takes Envoy where it is installed and can, and says what it took; "
        "default: %(default)s",
    )
    parser.add_argument(
        "--correctors",
        metavar="N",
        help="how many processes correct errors behind Envoy; default: the number of cores less one, at least 1",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="a file with these options, and with several APIs behind one proxy; corrigible pack schema config prints "
        "its JSON Schema",
    )
    parser.set_defaults(run=run, settings=settings_of(parser))


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Exit status: 0 stopped, 1 cannot listen, 2 an argument is wrong."""
    given = args
    try:
        started = resolve(given)
        args, plans, engine_mode = started.args, started.plans, started.engine_mode
        relay = Relay(read_key(Path(args.relay_key))) if args.relay_key is not None else None
        taken = envoy_engine.taken(started)
        if engine_mode == "reverse":
            tls.warn_of_plaintext(started.listen, args)
        if args.grpc_upstream is not None:
            run_grpc = envoy_engine.run_grpc if taken.is_envoy else grpc.run
            return run_grpc(given, started, taken.said)
        upstreams = [plan.upstream for plan in plans]
        secure = any(url is None or url.startswith("https:") for url in upstreams)
        trust = tls.read_trust(args, plaintext=None if secure else f"--upstream {upstreams[0]}")
        if engine_mode != "reverse" and args.tls_cert is not None:
            raise UsageError(f"--tls-cert cannot be used with --engine-mode {engine_mode}")
        identity = tls.read_identity(args)
        if taken.is_envoy:
            return envoy_engine.run_http(given, started, relay, trust, identity, taken.said)
    except (CorrigibleError, OSError, ValueError) as problem:
        return _fail(problem, 2)
    try:
        # Slow to import, and an optional dependency: imported only after the arguments are checked.
        from corrigible.proxy.mitm.server import Settings
        from corrigible.proxy.mitm.server import run as serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("mitmproxy", "mitmproxy_rs"):
            raise
        return _fail(f"mitmproxy is not installed: {install_line('mitmproxy')}", 1)
    loops = build_loops()
    routes = []
    label = ""
    try:
        for plan in plans:
            engine, lines = plan.load(relay)
            routes.append(plan.route(engine, loops, started.rewritten))
            label = plan.described(engine)
            for line in lines:
                print(f"corrigible proxy: {line}", file=sys.stderr)
            if len(plans) > 1:
                print(f"corrigible proxy: {plan.name}: {label}", file=sys.stderr)
    except (CorrigibleError, OSError, ValueError) as problem:
        return _fail(problem, 2)
    if len(plans) > 1:
        label = f"-> {len(plans)} APIs ({', '.join(plan.name for plan in plans)})"
    elif plans[0].upstream is None:
        label = f"as a {engine_mode} proxy {label.partition(' None ')[2]}"
    try:
        at = {
            plan.name: (route.upstream.host, route.upstream.port)
            for plan, route in zip(plans, routes, strict=True)
            if route.upstream is not None
        }
        watch = supervision.Supervision(args, label.removeprefix("-> "), at)
    except UsageError as problem:
        return _fail(problem, 2)
    apis = ApiRoutes(routes)
    profiles = [profile for route in routes for profile in route.corrector.engine.profiles]
    unmatched = spec_option.UnmatchedPaths(profiles, watch.recorder.say) if args.spec else None
    settings = Settings(
        host=started.listen.host,
        port=started.listen.port,
        upstream=plans[0].upstream,
        engine_mode=engine_mode,
        body_limit=started.limits.body,
        trust=trust,
        identity=identity,
        timeouts=started.timeouts,
        unmatched=None if unmatched is None else unmatched.refused,
        is_routed=apis.only is None,
        is_secure=secure,
    )
    if trust.insecure:
        print("corrigible proxy: --upstream-insecure: the API's certificate is not verified", file=sys.stderr)
    work: Served = {
        **{route.task: route.corrector.correct for route in routes},
        "reload": lambda: reload_all(running.parts()),
    }
    running = RunningPlans(given, started, relay, routes)
    with closing(watch), closing(build_dispatcher(work, loops)) as dispatcher:
        return serve(
            settings,
            apis,
            recorder=watch.recorder,
            started=lambda loop: watch.started(
                loop,
                Reloader(running.parts, running.files, watch.recorder, dispatcher, running.pending),
                dispatcher.unready,
            ),
            line=lambda at: f"corrigible: {at} {label}{taken.said}",
            dispatcher=dispatcher,
        )


def _fail(problem: object, status: int) -> int:
    print(f"corrigible proxy: {problem}", file=sys.stderr)
    return status
