"""The job of a corrector, from its options: `corrigible corrector` and `corrigible proxy --engine envoy` share it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.proxy.admin.reload import Part, reload_all
from corrigible.proxy.build import build_engine, build_loops
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.http.api_routes import ApiRoute
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.runtime.fork_server import Served
from corrigible.proxy.tls_files import Trust
from corrigible.schema.extra import install_line

from . import map_option, tls
from .addresses import TLS_BY_SCHEME, parse_grpc_upstream
from .api_plan import ApiPlan, files_of
from .usage_error import UsageError

if TYPE_CHECKING:
    from corrigible.adapters.protobuf.descriptors import Descriptors
    from corrigible.proxy.envoy.corrector_process import Job

    from .plans import RunningPlans

HTTP_ONLY: Final[Mapping[str, object]] = {"upstream": None, "spec": [], "base": "", "engine_mode": "reverse"}
"""Options for HTTP only, with their defaults."""


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
        return (
            plans.files()
            if plans is not None
            else files_of([profile.pack.path for profile in profiles()], [*plan.specs, *plan.maps])
        )

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


def grpc_job(
    args: argparse.Namespace,
    mode: Mode,
    limits: Limits,
    complain: Callable[[str], None],
    load_engine: Callable[[], Engine] | None = None,
) -> Prepared:
    """Load a gRPC API. Raises CorrigibleError, OSError and ValueError. `load_engine` makes the engine anew later."""
    for option, default in HTTP_ONLY.items():
        if getattr(args, option, default) != default:
            raise UsageError(f"--{option.replace('_', '-')} cannot be used with --grpc-upstream")
    scheme, upstream = parse_grpc_upstream(args.grpc_upstream)
    is_plain = not TLS_BY_SCHEME.get(scheme, True)
    trust = tls.read_trust(args, plaintext=f"--grpc-upstream {args.grpc_upstream}" if is_plain else None)
    is_secure = TLS_BY_SCHEME.get(scheme, trust != Trust())
    try:
        from corrigible.adapters.protobuf.descriptors import load
        from corrigible.proxy.envoy.grpc_job import GrpcJob
        from corrigible.proxy.grpc.channel import NoCertificate, secured
        from corrigible.proxy.grpc.corrector import GrpcCorrector
        from corrigible.proxy.grpc.server import shipped_descriptors
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise UsageError(f"grpcio is not installed: {install_line('grpc')}") from None

    maps = map_option.map_files(args.map, args.map_origin, f"{'https' if is_secure else 'http'}://{upstream}")

    def descriptors_of(engine: Engine) -> Descriptors | None:
        return load(args.descriptors) if args.descriptors is not None else shipped_descriptors(engine)

    def build() -> Engine:
        return build_engine(args.pack, limits=limits, rpc=True, maps=maps)

    def load_anew() -> tuple[tuple[Engine, Descriptors | None], tuple[str, ...]]:
        engine = (load_engine or build)()
        engine.warm_up()
        return (engine, descriptors_of(engine)), ()

    engine = build()
    engine.warm_up()
    descriptors = descriptors_of(engine)
    loops = build_loops()
    corrector = GrpcCorrector(engine, descriptors, mode=mode, loops=loops)
    parts = [Part(load_anew, corrector.use)]
    work: Served = {"correct": corrector.correct, "read": corrector.read, "reload": lambda: reload_all(parts)}
    try:
        how = secured(upstream, trust) if is_secure else None
    except NoCertificate as problem:
        raise UsageError(f"--upstream-insecure: {problem}") from None
    target = f"{'grpcs' if is_secure else 'grpc'}://{upstream}"
    described = [*([args.descriptors] if args.descriptors is not None else []), *args.map]
    return Prepared(
        GrpcJob(corrector, upstream, loops, work, how, descriptors is not None, complain),
        f"-> {target} ({engine.packs}; {mode.value})",
        lambda: parts,
        lambda: files_of([profile.pack.path for profile in corrector.engine.profiles], described),
        lambda: corrector.engine.profiles,
        name=engine.packs,
    )
