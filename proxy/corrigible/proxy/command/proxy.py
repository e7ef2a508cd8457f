"""`corrigible proxy`: the proxy between callers and an API."""

from __future__ import annotations

import argparse
import select
import sys
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.extra import install_line

from . import envoy_engine, options
from .plans import GrpcPlan, Resolved, RunningPlans, resolve

if TYPE_CHECKING:
    from corrigible.proxy.core.engine import Engine
    from corrigible.proxy.core.relayed_feedback import Relay
    from corrigible.proxy.runtime.fork_server import Served
    from corrigible.proxy.tls_files import Identity, Trust


def add(commands: options.Subparsers) -> None:
    """Add the command's options. `run` checks their values, so that each error is one line."""
    parser = commands.add_parser(
        "proxy",
        description="Forward requests to an API. If the API rejects a request and a rule or the API's description "
        "gives a fix, add recovery_feedback to the error. Everything else passes unchanged.",
    )
    groups = options.Groups(parser)
    options.add_api(groups, listen="127.0.0.1:8080")
    options.add_callers_side(groups)
    options.add_proxy(groups)
    parser.set_defaults(run=run, settings=options.settings_of(parser))


def run(given: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Exit status: 0 stopped, 1 cannot listen, 2 an argument is wrong."""
    try:
        started = resolve(given)
        args, plans, engine_mode = started.args, started.plans, started.engine_mode
        key = options.read_key(Path(args.relay_key)) if args.relay_key is not None else None
        taken = envoy_engine.taken(started)
        if engine_mode == "reverse":
            options.warn_of_plaintext(started.listen, args)
        grpc = GrpcPlan(args, started.limits, given, started) if args.grpc_upstream is not None else None
        if grpc is None:
            upstreams = [plan.upstream for plan in plans]
            secure = any(url is None or url.startswith("https:") for url in upstreams)
            trust = options.read_trust(args, plaintext=None if secure else f"--upstream {upstreams[0]}")
            if engine_mode != "reverse" and args.tls_cert is not None:
                raise options.UsageError(f"--tls-cert cannot be used with --engine-mode {engine_mode}")
        identity = options.read_identity(args)
        if grpc is None and not taken.is_envoy and find_spec("mitmproxy") is None:
            return _fail(f"mitmproxy is not installed: {install_line('mitmproxy')}", 1)
        if not args.quiet:
            _say_starting()
        # Slow to import: only once the arguments are checked.
        from corrigible.proxy.core.relayed_feedback import Relay

        relay = Relay(key) if key is not None else None
        if grpc is not None:
            if taken.is_envoy:
                return envoy_engine.run_grpc(grpc, started, identity, taken)
            return _run_grpc(grpc, started, identity, taken.said)
        if taken.is_envoy:
            return envoy_engine.run_http(given, started, relay, trust, identity, taken)
        return _run_http(given, started, relay, trust, identity, taken.said)
    except (CorrigibleError, OSError, ValueError) as problem:
        return _fail(problem, 2)


def _run_http(
    given: argparse.Namespace,
    started: Resolved,
    relay: Relay | None,
    trust: Trust,
    identity: Identity | None,
    said: str,
) -> int:
    """Serve HTTP by mitmproxy. `said` is said of the engine. Raises CorrigibleError, OSError and ValueError."""
    from corrigible.proxy.admin.reload import Reloader, reload_all
    from corrigible.proxy.build import build_dispatcher, build_loops
    from corrigible.proxy.http.api_routes import ApiRoutes
    from corrigible.proxy.runtime.fork_server import keep_what_exists

    from . import spec_option, supervision

    args, plans = started.args, started.plans
    loops = build_loops()
    routes = []
    label = ""
    for plan in plans:
        engine, lines = plan.load(relay)
        routes.append(plan.route(engine, loops, started.rewritten))
        label = plan.described(engine)
        for line in lines:
            _say(line)
        if len(plans) > 1:
            _say(f"{plan.name}: {label}")
    if len(plans) > 1:
        label = f"-> {len(plans)} APIs ({', '.join(plan.name for plan in plans)})"
    elif plans[0].upstream is None:
        label = f"as a {started.engine_mode} proxy {label.partition(' None ')[2]}"
    at = {
        plan.name: (route.upstream.host, route.upstream.port)
        for plan, route in zip(plans, routes, strict=True)
        if route.upstream is not None
    }
    running = RunningPlans(given, started, relay, routes)
    work: Served = {
        **{route.task: route.corrector.correct for route in routes},
        "reload": lambda: reload_all(running.parts()),
    }
    if trust.insecure:
        _say("--upstream-insecure: the API's certificate is not verified")
    keep_what_exists()
    with (
        closing(supervision.Supervision(args, label.removeprefix("-> "), at)) as watch,
        supervision.reporting(args, watch.recorder, plans),
        closing(build_dispatcher(work, loops)) as dispatcher,
    ):
        # Only now: what forks workers has no use for mitmproxy.
        from corrigible.proxy.mitm.server import Settings
        from corrigible.proxy.mitm.server import run as serve

        apis = ApiRoutes(routes)
        profiles = [profile for route in routes for profile in route.corrector.engine.profiles]
        unmatched = spec_option.UnmatchedPaths(profiles, watch.recorder.say) if args.spec else None
        settings = Settings(
            host=started.listen.host,
            port=started.listen.port,
            upstream=plans[0].upstream,
            engine_mode=started.engine_mode,
            body_limit=started.limits.body,
            trust=trust,
            identity=identity,
            timeouts=started.timeouts,
            unmatched=None if unmatched is None else unmatched.refused,
            is_routed=apis.only is None,
            is_secure=any(plan.upstream is None or plan.upstream.startswith("https:") for plan in plans),
        )
        return serve(
            settings,
            apis,
            recorder=watch.recorder,
            started=lambda loop: watch.started(
                loop,
                Reloader(running.parts, running.files, watch.recorder, dispatcher, running.pending),
                dispatcher.unready,
            ),
            line=lambda at: f"corrigible: {at} {label}{said}",
            dispatcher=dispatcher,
        )


def _run_grpc(plan: GrpcPlan, started: Resolved, identity: Identity | None, said: str) -> int:
    """Serve a gRPC API by grpc.aio. `said` is said of the engine. Raises CorrigibleError and OSError."""
    with options.needing_grpc():
        from corrigible.proxy.grpc.channel import NoCertificate
        from corrigible.proxy.grpc.server import GrpcSettings
        from corrigible.proxy.grpc.server import run as serve
    from corrigible.proxy.admin.reload import Reloader
    from corrigible.proxy.build import build_loops

    from . import supervision

    engine: Engine = plan.load()
    settings = GrpcSettings(
        upstream=plan.address,
        listen=str(started.listen),
        descriptors=started.args.descriptors,
        mode=started.mode,
        tls=plan.is_secure,
        trust=plan.trust,
        identity=identity,
    )
    label = f"{engine.packs}; {started.mode.value}"
    at = urlsplit(plan.target)
    upstreams = {"": (at.hostname or "", at.port or 443)}
    with (
        closing(supervision.Supervision(started.args, f"{plan.target} ({label})", upstreams)) as watch,
        supervision.reporting(started.args, watch.recorder),
    ):
        try:
            return serve(
                settings,
                engine,
                recorder=watch.recorder,
                started=lambda loop, dispatcher, parts: watch.started(
                    loop,
                    Reloader(lambda: parts, lambda: plan.files(engine), watch.recorder, dispatcher, plan.pending),
                    dispatcher.unready,
                ),
                load_engine=plan.load_anew,
                line=lambda at: f"corrigible: {at} -> {plan.target} ({label}){said}",
                loops=build_loops(),
            )
        except NoCertificate as problem:
            raise options.UsageError(f"--upstream-insecure: {problem}") from None


def _say_starting() -> None:
    """Say so where somebody reads it: a pipe that takes nothing keeps nothing from starting."""
    with suppress(OSError, ValueError):
        if select.select([], [sys.stderr], [], 0)[1]:
            _say("starting")


def _say(line: str) -> None:
    print(f"corrigible proxy: {line}", file=sys.stderr, flush=True)


def _fail(problem: object, status: int) -> int:
    _say(str(problem))
    return status
