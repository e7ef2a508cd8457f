"""`corrigible proxy --grpc-upstream`: the proxy in front of a gRPC API."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from corrigible.proxy.admin.reload import Reloader
from corrigible.proxy.build import MapFiles, build_engine, build_loops
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.tls_files import Trust
from corrigible.schema.extra import install_line

from . import map_option, supervision, tls
from .addresses import TLS_BY_SCHEME, parse_grpc_upstream
from .api_plan import files_of
from .plans import Resolved, differences, resolve
from .usage_error import UsageError

_HTTP_ONLY: Final[Mapping[str, object]] = {"upstream": None, "spec": [], "base": "", "engine_mode": "reverse"}
"""Options for HTTP only, with their defaults."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of `corrigible proxy` for gRPC."""
    parser.add_argument(
        "--grpc-upstream",
        metavar="HOST:PORT",
        help="address of a gRPC API, instead of --upstream; https://HOST:PORT or any --upstream-... option selects TLS",
    )
    parser.add_argument(
        "--descriptors",
        metavar="PATH",
        type=Path,
        help="the gRPC API's descriptors: a FileDescriptorSet, a .proto file, or a folder of them; "
        "default: those of the pack, else server reflection",
    )


def run(given: argparse.Namespace, started: Resolved, said: str = "") -> int:
    """Serve. `said` is said of the engine. Raises CorrigibleError and OSError if an argument is wrong."""
    args, mode, listen = started.args, started.mode, started.listen
    now = started
    for option, default in _HTTP_ONLY.items():
        if getattr(args, option) != default:
            raise UsageError(f"--{option.replace('_', '-')} cannot be used with --grpc-upstream")
    scheme, upstream = parse_grpc_upstream(args.grpc_upstream)
    if upstream == f"{listen.host}:{listen.port}":
        raise UsageError(f"--grpc-upstream {upstream}: this is the proxy's own address (--listen)")
    secure = TLS_BY_SCHEME.get(scheme, True)
    trust = tls.read_trust(args, plaintext=None if secure else f"--grpc-upstream {args.grpc_upstream}")
    identity = tls.read_identity(args)
    is_secure = TLS_BY_SCHEME.get(scheme, trust != Trust())
    try:
        from corrigible.proxy.grpc.channel import NoCertificate
        from corrigible.proxy.grpc.server import GrpcSettings
        from corrigible.proxy.grpc.server import run as serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise UsageError(f"grpcio is not installed: {install_line('grpc')}") from None

    def load_engine() -> Engine:
        nonlocal now
        now = resolve(given, is_first=False)
        return build_engine(now.args.pack, limits=now.limits, rpc=True, maps=_maps(now, upstream, is_secure=is_secure))

    maps = _maps(started, upstream, is_secure=is_secure)
    engine = build_engine(args.pack, limits=started.limits, rpc=True, maps=maps)
    settings = GrpcSettings(
        upstream=upstream,
        listen=str(listen),
        descriptors=args.descriptors,
        mode=mode,
        tls=is_secure,
        trust=trust,
        identity=identity,
    )
    label = f"{engine.packs}; {mode.value}"
    target = f"{'grpcs' if settings.tls else 'grpc'}://{upstream}"
    packs = [profile.pack.path for profile in engine.profiles]
    descriptors = [args.descriptors] if args.descriptors is not None else []

    def files() -> Iterator[Path]:
        yield from [started.config.source.path] if started.config is not None else []
        named = [Path(pack) for pack in now.args.pack if Path(pack).is_dir()]
        yield from files_of(list(dict.fromkeys([*packs, *named])), [*descriptors, *now.args.map])

    def pending() -> str:
        return ", ".join(differences(started, now, also=("mode",)))

    at = urlsplit(target)
    upstreams = {"": (at.hostname or "", at.port or 443)}
    watch = supervision.Supervision(args, f"{target} ({label})", upstreams)
    try:
        return serve(
            settings,
            engine,
            recorder=watch.recorder,
            started=lambda loop, dispatcher, parts: watch.started(
                loop, Reloader(lambda: parts, files, watch.recorder, dispatcher, pending), dispatcher.unready
            ),
            load_engine=load_engine,
            line=lambda at: f"corrigible: {at} -> {target} ({label}){said}",
            loops=build_loops(),
        )
    except NoCertificate as problem:
        raise UsageError(f"--upstream-insecure: {problem}") from None
    finally:
        watch.close()


def _maps(now: Resolved, upstream: str, *, is_secure: bool) -> MapFiles:
    return map_option.map_files(now.args.map, now.args.map_origin, f"{'https' if is_secure else 'http'}://{upstream}")
