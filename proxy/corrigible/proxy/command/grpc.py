"""`corrigible proxy --grpc-upstream`: the same in front of a gRPC API."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..build import build_translator
from ..journal import Journal
from ..mode import Mode
from .misuse import Address, Misused

_HTTP_ONLY = ("upstream", "spec", "upstream_ca", "upstream_insecure", "upstream_cert", "tls_cert", "tls_key")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of `corrigible proxy` that are about gRPC."""
    parser.add_argument("--grpc-upstream", metavar="HOST:PORT", help="a gRPC API instead of an HTTP one")
    parser.add_argument(
        "--descriptors", metavar="FILE", type=Path, help="the gRPC API's own: a FileDescriptorSet (protoc makes one)"
    )


def run(args: argparse.Namespace, mode: Mode, listen: Address) -> int:
    """Serve. Raises Misused, CorrigibleError and OSError for what is wrong with the arguments."""
    upstream = _target(args.grpc_upstream)
    for option in _HTTP_ONLY:
        if getattr(args, option, None):
            raise Misused(f"--{option.replace('_', '-')} has no meaning with --grpc-upstream")
    try:
        from ..grpc import GrpcSettings
        from ..grpc import run as serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise Misused("grpcio is not installed: pip install 'corrigible[grpc]'") from None
    translator = build_translator(args.pack, rpc=True)
    journal = Journal(args.log) if args.log is not None else None
    label = f"{', '.join(known.pack.name for known in translator.known)}; {mode.value}"
    settings = GrpcSettings(upstream, f"{listen.host}:{listen.port}", args.descriptors, mode)
    return serve(settings, translator, journal=journal, line=lambda at: f"corrigible: {at} -> {upstream} ({label})")


def _target(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) <= 65535) or "/" in text:
        raise Misused(f"--grpc-upstream {text}: not HOST:PORT")
    return text
