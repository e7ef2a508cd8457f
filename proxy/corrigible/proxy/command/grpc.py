"""`corrigible proxy --grpc-upstream`: the same in front of a gRPC API."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from corrigible.proxy.access_log.entry import AccessLog
from corrigible.proxy.build import build_engine, build_loops
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.tls_files import Identity, Trust

from .usage_error import Address, UsageError

_HTTP_ONLY: Final = {"upstream": None, "spec": None, "engine_mode": "reverse", "addons": "lean"}
"""Options that are about HTTP, with their defaults."""
_SCHEMES: Final = {"https": True, "grpcs": True, "http": False, "grpc": False}
_PORTS: Final = {"https": 443, "http": 80}
_TARGET: Final = re.compile(
    r"(?:(?P<scheme>[a-z]+)://)?(?P<host>[^\[\]/@:?#\s]+|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d+))?/?"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of `corrigible proxy` that are about gRPC."""
    parser.add_argument(
        "--grpc-upstream",
        metavar="HOST:PORT",
        help="a gRPC API instead of an HTTP one; https://HOST:PORT or any --upstream-... option makes it TLS",
    )
    parser.add_argument(
        "--descriptors",
        metavar="PATH",
        type=Path,
        help="the gRPC API's own: a FileDescriptorSet, a .proto file or a folder of them; "
        "default: what the upstream's reflection says",
    )


def run(args: argparse.Namespace, mode: Mode, listen: Address, limits: Limits) -> int:
    """Serve. Raises UsageError, CorrigibleError and OSError for what is wrong with the arguments."""
    for option, default in _HTTP_ONLY.items():
        if getattr(args, option, default) != default:
            raise UsageError(f"--{option.replace('_', '-')} has no meaning with --grpc-upstream")
    scheme, upstream = parse_target(args.grpc_upstream)
    if upstream == f"{listen.host}:{listen.port}":
        raise UsageError(f"--grpc-upstream {upstream}: that is where this proxy listens")
    trust, identity = _trust(args, scheme), _identity(args)
    try:
        from corrigible.proxy.grpc.channel import NoCertificate
        from corrigible.proxy.grpc.server import GrpcSettings
        from corrigible.proxy.grpc.server import run as serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise UsageError("grpcio is not installed: pip install 'corrigible[grpc]'") from None
    engine = build_engine(args.pack, limits=limits, rpc=True)
    try:
        access_log = AccessLog(args.log) if args.log is not None else None
    except OSError as problem:
        raise UsageError(f"cannot write the log {args.log}: {(problem.strerror or str(problem)).lower()}") from None
    settings = GrpcSettings(
        upstream=upstream,
        listen=f"{f'[{listen.host}]' if ':' in listen.host else listen.host}:{listen.port}",
        descriptors=args.descriptors,
        mode=mode,
        tls=_SCHEMES.get(scheme, trust != Trust()),
        trust=trust,
        identity=identity,
    )
    label = f"{', '.join(known.pack.name for known in engine.profiles)}; {mode.value}"
    target = f"{'grpcs' if settings.tls else 'grpc'}://{upstream}"
    try:
        return serve(
            settings,
            engine,
            access_log=access_log,
            line=lambda at: f"corrigible: {at} -> {target} ({label})",
            loops=build_loops(),
        )
    except NoCertificate as problem:
        raise UsageError(f"--upstream-insecure: {problem}") from None


def parse_target(text: str) -> tuple[str, str]:
    """Read `[SCHEME://]HOST:PORT`: the scheme, empty where there is none, and `HOST:PORT`."""
    found = _TARGET.fullmatch(text)
    scheme = (found["scheme"] or "") if found is not None else ""
    if found is None or (scheme and scheme not in _SCHEMES):
        raise UsageError(f"--grpc-upstream {text}: not HOST:PORT or https://HOST:PORT")
    port = int(found["port"] or _PORTS.get(scheme, 0))
    if not 0 < port <= 65535:
        raise UsageError(f"--grpc-upstream {text}: not HOST:PORT or https://HOST:PORT")
    return scheme, f"{found['host']}:{port}"


def _trust(args: argparse.Namespace, scheme: str) -> Trust:
    trust = Trust(args.upstream_ca, args.upstream_insecure, args.upstream_cert)
    if trust.ca is not None and trust.insecure:
        raise UsageError("--upstream-ca and --upstream-insecure: give one of the two")
    if trust != Trust() and not _SCHEMES.get(scheme, True):
        given = "ca" if trust.ca is not None else "insecure" if trust.insecure else "cert"
        raise UsageError(f"--upstream-{given} has no meaning with --grpc-upstream {args.grpc_upstream}")
    trust.check()
    return trust


def _identity(args: argparse.Namespace) -> Identity | None:
    if args.tls_cert is None:
        if args.tls_key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    identity = Identity(args.tls_cert, args.tls_key)
    identity.check()
    return identity
