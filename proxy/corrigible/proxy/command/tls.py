"""The options of `corrigible proxy` about certificates, on both sides. HTTP and gRPC share them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from corrigible.proxy.tls_files import Identity, Trust

from .addresses import Address, is_beyond_loopback
from .usage_error import UsageError


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the options about the API's side."""
    parser.add_argument("--upstream-ca", metavar="FILE", type=Path, help="trust only these CA certificates (PEM)")
    parser.add_argument(
        "--upstream-insecure", action="store_true", help="do not verify the API's certificate (for tests)"
    )
    parser.add_argument(
        "--upstream-cert",
        metavar="FILE",
        type=Path,
        help="client certificate and key (PEM) that the proxy presents to the API, for all callers",
    )


def add_identity(parser: argparse.ArgumentParser) -> None:
    """Add the options about the callers' side."""
    parser.add_argument("--tls-cert", metavar="FILE", type=Path, help="certificate that callers see (PEM)")
    parser.add_argument(
        "--tls-key", metavar="FILE", type=Path, help="key of --tls-cert, if it is in a separate file (PEM)"
    )


def read_trust(args: argparse.Namespace, *, plaintext: str | None) -> Trust:
    """Return how to verify the API. `plaintext` is the option that rules TLS out, None if TLS is possible."""
    trust = Trust(args.upstream_ca, args.upstream_insecure, args.upstream_cert)
    if trust.ca is not None and trust.insecure:
        raise UsageError("--upstream-ca and --upstream-insecure: use only one of them")
    options = {"--upstream-ca": trust.ca, "--upstream-insecure": trust.insecure, "--upstream-cert": trust.certificate}
    for option, value in options.items():
        if value and plaintext is not None:
            raise UsageError(f"{option} cannot be used with {plaintext}: it needs TLS")
    trust.check()
    return trust


def read_identity(args: argparse.Namespace) -> Identity | None:
    """Return the certificate that callers see, None if they come without TLS."""
    if args.tls_cert is None:
        if args.tls_key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    identity = Identity(args.tls_cert, args.tls_key)
    identity.check()
    return identity


def warn_of_plaintext(listen: Address, args: argparse.Namespace) -> None:
    """Say so where callers from other machines come in the clear."""
    if args.tls_cert is None and is_beyond_loopback(listen.host):
        print(
            f"corrigible proxy: --listen {listen} is reached from other machines, without TLS: whoever is on the way "
            "reads credentials and data, and can change both. Give --tls-cert FILE, or let a proxy with TLS stand "
            "before this one and listen on 127.0.0.1",
            file=sys.stderr,
        )
