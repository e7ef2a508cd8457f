"""The upstream of a gRPC proxy: in the clear or with TLS, over one connection or several.

Knows: grpc.aio, TLS. Does not know: calls, what becomes of them.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import grpc
from grpc import aio

from corrigible.proxy.tls_files import USUAL, Identity, Trust

LARGEST: Final = 16 << 20
"""Bytes of a message once it is decompressed; gRPC itself takes 4 MiB where nobody says more. What is more ends its
call with RESOURCE_EXHAUSTED, as it would there."""
OPTIONS: Final = (
    ("grpc.max_receive_message_length", LARGEST),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.absolute_max_metadata_size", 1 << 20),
    ("grpc.enable_retries", 0),  # a call is carried once, whatever becomes of it
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.max_ping_strikes", 0),  # how often callers may ping is the upstream's business
)
_TO_THE_UPSTREAM: Final = (
    *OPTIONS,
    ("grpc.use_local_subchannel_pool", 1),  # else all channels share one connection
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),  # callers' calls fail meanwhile: by default for up to two minutes
)
_CALLS: Final = 90
"""On one connection. Many servers take 100 at once, and let further ones wait, be it behind a watch that never ends."""
_CONNECTIONS: Final = 64
_SECONDS: Final = 10.0


class NoCertificate(Exception):
    """An upstream shows none. The message is one line."""


@dataclass(slots=True)
class _Line:
    channel: aio.Channel
    calls: int = 0


class Upstream:
    """Where calls go. A further connection is opened where many are under way."""

    def __init__(self, open: Callable[[], aio.Channel]) -> None:
        self._open = open
        self._lines = [_Line(open())]

    @contextlib.contextmanager
    def channel(self) -> Iterator[aio.Channel]:
        """Lend a channel for one call."""
        line = next((line for line in self._lines if line.calls < _CALLS), None) or self._further()
        line.calls += 1
        try:
            yield line.channel
        finally:
            line.calls -= 1

    def _further(self) -> _Line:
        if len(self._lines) >= _CONNECTIONS:
            return min(self._lines, key=lambda line: line.calls)
        self._lines.append(_Line(self._open()))
        return self._lines[-1]

    async def close(self) -> None:
        for line in self._lines:
            await line.channel.close()


class Secured(NamedTuple):
    """What a channel with TLS needs."""

    credentials: grpc.ChannelCredentials
    options: tuple[tuple[str, str], ...] = ()


def open_upstream(address: str, secured: Secured | None = None) -> Upstream:
    """Return the upstream at `HOST:PORT`, called in the clear where nothing secures it. Nothing connects yet."""
    if secured is None:
        return Upstream(lambda: aio.insecure_channel(address, options=_TO_THE_UPSTREAM))
    options: Any = (*_TO_THE_UPSTREAM, *secured.options)
    return Upstream(lambda: aio.secure_channel(address, secured.credentials, options=options))


def secured(address: str, trust: Trust = USUAL) -> Secured:
    """Return what makes a channel to `HOST:PORT` trust as it is told.

    gRPC checks certificates whatever one says. To believe anybody is to believe in what is shown now, under the name
    in it. Raises NoCertificate.
    """
    own = trust.certificate.read_bytes() if trust.certificate is not None else None
    if not trust.insecure:
        roots = trust.ca.read_bytes() if trust.ca is not None else None
        return Secured(grpc.ssl_channel_credentials(roots, own, own))
    certificate = fetch_certificate(address)
    credentials = grpc.ssl_channel_credentials(certificate.pem.encode(), own, own)
    # The upstream is also called by this name: gRPC wants the two to agree.
    return Secured(credentials, (("grpc.ssl_target_name_override", certificate.name),) if certificate.name else ())


class Shown(NamedTuple):
    """The certificate that a server shows."""

    pem: str
    name: str
    """The first that it is for, empty where there is none."""


def fetch_certificate(address: str) -> Shown:
    """Fetch a server's certificate, unchecked. Raises NoCertificate."""
    host, _, port = address.rpartition(":")
    endpoint = (host.removeprefix("[").removesuffix("]"), int(port))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    try:
        context.verify_mode = ssl.CERT_NONE
        with _connected(context, endpoint) as connection:
            pem = ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"")
        # Python reads a certificate for us only where it has checked it.
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=pem)
        with _connected(context, endpoint) as connection:
            read: Any = connection.getpeercert() or {}
    except ssl.SSLCertVerificationError as problem:
        raise NoCertificate(f"the certificate of {address} is not valid: {problem.verify_message}") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)
        raise NoCertificate(f"{address} shows no certificate: {str(reason).lower()}") from None
    names = [name for _, name in read.get("subjectAltName", ())]
    names += [value for part in read.get("subject", ()) for kind, value in part if kind == "commonName"]
    return Shown(pem, names[0].replace("*", "any") if names else "")


@contextlib.contextmanager
def _connected(context: ssl.SSLContext, address: tuple[str, int]) -> Iterator[ssl.SSLSocket]:
    with (
        socket.create_connection(address, _SECONDS) as sock,
        context.wrap_socket(sock, server_hostname=address[0]) as connection,
    ):
        yield connection


def fetch_identity(identity: Identity) -> grpc.ServerCredentials:
    """Return what a server shows to its callers."""
    chain = identity.certificate.read_bytes()
    key = identity.key.read_bytes() if identity.key is not None else chain
    return grpc.ssl_server_credentials([(key, chain)])
