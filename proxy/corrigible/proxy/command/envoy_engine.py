"""`corrigible proxy --engine envoy`: which proxies Envoy can carry, and how one is put together."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from corrigible.proxy.admin.reload import Reloader
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.tls_files import Identity, Trust
from corrigible.schema.extra import install_line

from . import map_option, spec_option, supervision, tls
from .addresses import parse_grpc_upstream
from .api_plan import files_of
from .correction_job import Prepared, grpc_job, http_job
from .plans import Resolved, RunningPlans, differences, resolve
from .usage_error import UsageError, one_of

ENGINES: Final = ("mitmproxy", "envoy", "auto")
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
    if find_spec("httptools") is None:
        return f"its correctors are not installed: {install_line('envoy')}"
    from corrigible.proxy.envoy.process import CannotStart, envoy_path

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


def taken(started: Resolved) -> Taken:
    """Return what carries a proxy. Raises UsageError if it has to be Envoy, which cannot."""
    args = started.args
    engine = one_of("--engine", args.engine, ENGINES)
    reason = reason_against(started) if engine != "mitmproxy" else "--engine mitmproxy"
    if reason is None:
        return Taken(True, ", on Envoy" if engine == "auto" else "")
    if engine == "envoy":
        raise UsageError(f"--engine envoy: {reason}")
    if args.correctors is not None:
        raise UsageError(f"--correctors needs Envoy: {reason}")
    other = "mitmproxy" if args.grpc_upstream is None else "grpc.aio"
    return Taken(False, f", on {other} ({reason})" if engine == "auto" else "")


def correctors_of(text: str | int | None) -> int:
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
    said: str,
) -> int:
    """Serve an HTTP API. `said` is said of the engine.

    Raises CorrigibleError, OSError and ValueError if an argument is wrong.
    """
    from corrigible.proxy.envoy.api_hints import is_asking_for_target, media_types, refusing_operations
    from corrigible.proxy.envoy.gateway import Gateway

    args, (plan,), listen = started.args, started.plans, started.listen
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
    count = correctors_of(args.correctors) if relay is None else 1
    return _run(args, prepared, gateway, count, said)


def run_grpc(given: argparse.Namespace, started: Resolved, said: str) -> int:
    """Serve a gRPC API. `said` is said of the engine.

    Raises CorrigibleError, OSError and ValueError if an argument is wrong.
    """
    from corrigible.proxy.envoy.gateway import Gateway

    args, mode, listen, limits = started.args, started.mode, started.listen, started.limits
    now = started

    def load_engine() -> Engine:
        nonlocal now
        now = resolve(given, is_first=False)
        maps = map_option.map_files(
            now.args.map, now.args.map_origin, f"{'https' if is_secure else 'http'}://{address}"
        )
        return build_engine(now.args.pack, limits=now.limits, rpc=True, maps=maps)

    _, address = parse_grpc_upstream(args.grpc_upstream)
    if address == str(listen):
        raise UsageError(f"--grpc-upstream {address}: this is the proxy's own address (--listen)")
    identity = tls.read_identity(args)
    prepared = grpc_job(args, mode, limits, _say, load_engine)
    is_secure = "grpcs://" in prepared.label
    loaded = prepared.files

    def files() -> Iterator[Path]:
        yield from [started.config.source.path] if started.config is not None else []
        named = [Path(pack) for pack in now.args.pack if Path(pack).is_dir()]
        yield from dict.fromkeys([*loaded(), *files_of(named, now.args.map)])

    prepared.files = files
    prepared.pending = lambda: ", ".join(differences(started, now, also=("mode",)))
    trust = Trust(args.upstream_ca, args.upstream_insecure, args.upstream_cert)
    gateway = Gateway(
        listen.host,
        listen.port,
        Upstream.parse(f"{'https' if is_secure else 'http'}://{address}"),
        (),
        is_grpc=True,
        body_limit=prepared.job.body_limit,
        seconds=limits.seconds_with_lookups + GRACE,
        is_none=mode is Mode.NONE,
        trust=trust,
        identity=identity,
        timeouts=started.timeouts,
    )
    return _run(args, prepared, gateway, correctors_of(args.correctors), said)


def _run(args: argparse.Namespace, prepared: Prepared, gateway: object, correctors: int, said: str) -> int:
    from corrigible.proxy.envoy.engine import EnvoyEngine
    from corrigible.proxy.envoy.engine import run as serve
    from corrigible.proxy.envoy.gateway import Gateway

    assert isinstance(gateway, Gateway)
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
        correctors=correctors,
        threads=len(os.sched_getaffinity(0)),
        corrector=prepared.route.corrector if prepared.route is not None else None,
        label=prepared.name,
        unmatched=unmatched,
    )
    try:
        return serve(
            engine,
            watch.recorder,
            lambda at: f"corrigible: {at} {prepared.label}{said}",
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
