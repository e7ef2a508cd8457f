"""`corrigible proxy --engine envoy`: which proxies Envoy can carry, and how one is put together."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from corrigible.proxy.core.mode import Mode
from corrigible.proxy.tls_files import Identity, Trust
from corrigible.schema.extra import install_line

from .options import ENGINES, UsageError, one_of
from .plans import GrpcPlan, Resolved, RunningPlans

if TYPE_CHECKING:
    from collections.abc import Callable

    from corrigible.proxy.core.relayed_feedback import Relay
    from corrigible.proxy.envoy.gateway import Gateway

    from .corrector import Prepared

_MOST_CORRECTORS: Final = 64
GRACE: Final = 0.1
"""Seconds that the gateway waits for a corrector beyond the time limit, which the corrector heeds itself."""


def reason_against(started: Resolved) -> str | None:
    """Return why Envoy cannot carry this proxy; None if it can."""
    args, config = started.args, started.config
    if args.engine_mode != "reverse":
        return f"--engine-mode {args.engine_mode} needs mitmproxy"
    if config is not None and config.text.apis:
        return "several APIs in one proxy need mitmproxy"
    if args.drift:
        return "--drift needs mitmproxy: Envoy shows successes to nobody"
    if find_spec("httptools") is None:
        return f"its correctors are not installed: {install_line('envoy')}"
    from corrigible.proxy.envoy import CannotStart, envoy_path

    try:
        envoy_path()
    except CannotStart as problem:
        return str(problem)
    return None


class Taken(NamedTuple):
    """What carries a proxy."""

    is_envoy: bool
    said: str = ""
    """What the line about the start says of it: nothing if the user chose."""
    correctors: int = 0


def taken(started: Resolved) -> Taken:
    """Return what carries a proxy. Raises UsageError if it has to be Envoy, which cannot."""
    args = started.args
    engine = one_of("--engine", args.engine, ENGINES)
    reason = reason_against(started) if engine != "mitmproxy" else "--engine mitmproxy"
    if reason is None:
        return Taken(True, ", on Envoy" if engine == "auto" else "", _correctors(args.correctors))
    if engine == "envoy":
        raise UsageError(f"--engine envoy: {reason}")
    if args.correctors is not None:
        raise UsageError(f"--correctors needs Envoy: {reason}")
    other = "mitmproxy" if args.grpc_upstream is None else "grpc.aio"
    return Taken(False, f", on {other} ({reason})" if engine == "auto" else "")


def _correctors(text: str | int | None) -> int:
    """Return how many correctors there are. Raises UsageError."""
    if text is None:
        return max(1, len(os.sched_getaffinity(0)) - 1)
    try:
        count = int(text)
    except ValueError:
        count = 0
    if not 0 < count <= _MOST_CORRECTORS:
        raise UsageError(f"--correctors {text}: not a number from 1 to {_MOST_CORRECTORS}")
    return count


def run_http(
    given: argparse.Namespace,
    started: Resolved,
    relay: Relay | None,
    trust: Trust,
    identity: Identity | None,
    taken: Taken,
) -> int:
    """Serve an HTTP API.

    Raises CorrigibleError, OSError and ValueError if an argument is wrong.
    """
    from corrigible.proxy.envoy.gateway import Gateway, is_asking_for_target, media_types, refusing_operations
    from corrigible.proxy.http.api_routes import Upstream

    from .corrector import http_job

    (plan,), listen = started.plans, started.listen
    prepared = http_job(
        plan, relay, trust, started.rewritten, lambda route: RunningPlans(given, started, relay, [route])
    )
    profiles = prepared.profiles()
    assert plan.upstream is not None, "reverse mode has an upstream"
    gateway = Gateway(
        listen.host,
        listen.port,
        Upstream.parse(plan.upstream),
        (),
        body_limit=plan.limits.body,
        seconds=plan.limits.seconds_with_lookups + GRACE,
        is_none=plan.mode is Mode.NONE and started.config is None,  # a configuration may say another one later
        asks_for_target=is_asking_for_target(profiles, query_mode=plan.query_mode),
        refusing=refusing_operations(profiles),
        media_types=media_types(profiles),
        rewritten=started.rewritten,
        trust=trust,
        identity=identity,
        timeouts=started.timeouts,
    )
    if trust.insecure:
        _say("--upstream-insecure: the API's certificate is not verified")
    # What a seal was used for is known to one corrector only.
    return _run(started.args, prepared, gateway, taken if relay is None else taken._replace(correctors=1))


def run_grpc(plan: GrpcPlan, started: Resolved, identity: Identity | None, taken: Taken) -> int:
    """Serve a gRPC API.

    Raises CorrigibleError, OSError and ValueError if an argument is wrong.
    """
    from corrigible.proxy.envoy.gateway import Gateway
    from corrigible.proxy.http.api_routes import Upstream

    from .corrector import grpc_job

    listen, limits = started.listen, started.limits
    prepared = grpc_job(plan, started.mode, _say)
    gateway = Gateway(
        listen.host,
        listen.port,
        Upstream.parse(plan.origin),
        (),
        is_grpc=True,
        body_limit=prepared.job.body_limit,
        seconds=limits.seconds_with_lookups + GRACE,
        is_none=started.mode is Mode.NONE,
        trust=plan.trust,
        identity=identity,
        timeouts=started.timeouts,
    )
    return _run(started.args, prepared, gateway, taken)


def _run(args: argparse.Namespace, prepared: Prepared, gateway: Gateway, taken: Taken) -> int:
    from corrigible.proxy.admin.reload import Reloader
    from corrigible.proxy.envoy.engine import EnvoyEngine
    from corrigible.proxy.envoy.engine import run as serve

    from . import spec_option, supervision

    for line in prepared.lines:
        _say(line)
    upstreams = {"": (gateway.upstream.host, gateway.upstream.port)}
    watch = supervision.Supervision(args, prepared.label.removeprefix("-> "), upstreams)
    unmatched: Callable[[str], None] | None = None
    if prepared.route is not None and args.spec:
        unmatched = spec_option.UnmatchedPaths(list(prepared.profiles()), watch.recorder.say).refused
    engine = EnvoyEngine(
        gateway=replace(gateway, logs_all=args.log is not None or args.otel),
        job=prepared.job,
        correctors=taken.correctors,
        threads=len(os.sched_getaffinity(0)),
        corrector=prepared.route.corrector if prepared.route is not None else None,
        label=prepared.name,
        unmatched=unmatched,
    )
    try:
        return serve(
            engine,
            watch.recorder,
            lambda at: f"corrigible: {at} {prepared.label}{taken.said}",
            lambda loop, all_correctors: watch.started(
                loop,
                Reloader(prepared.parts, prepared.files, watch.recorder, all_correctors, prepared.pending),
                all_correctors.unready,
            ),
        )
    finally:
        watch.close()


def _say(line: str) -> None:
    print(f"corrigible proxy: {line}", file=sys.stderr)
