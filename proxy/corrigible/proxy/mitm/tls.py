"""TLS of the mitmproxy front end: verification of upstreams, own certificates, and the choice of HTTP/1 or HTTP/2.

Knows: mitmproxy's TLS hooks, OpenSSL. Does not know: rules, flows.
"""

from __future__ import annotations

from typing import Any

from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.net import tls as net_tls
from mitmproxy.proxy.layers.tls import HTTP1_ALPNS, HTTP_ALPNS
from mitmproxy.tls import ClientHelloData, TlsData
from OpenSSL import SSL, crypto

from corrigible.proxy.tls_files import Identity, Trust


def trust_options(trust: Trust) -> dict[str, Any]:
    """Return mitmproxy's options for the upstream side."""
    return {
        "ssl_insecure": trust.insecure,
        "ssl_verify_upstream_trusted_ca": str(trust.ca) if trust.ca is not None else None,
        "client_certs": str(trust.certificate) if trust.certificate is not None else None,
    }


class Certificates(TlsConfig):
    """mitmproxy's TLS addon, with the configured certificate if there is one.

    A client is offered HTTP/2 only if the upstream supports it: in front of HTTP/1, each request has a connection of
    its own. Where there are several APIs, it is offered if one of them may support it.
    """

    name = "tlsconfig"

    def __init__(self, identity: Identity | None, *, is_routed: bool = False, is_secure: bool = False) -> None:
        """`is_routed`: each request, not the connection, says which upstream is meant. `is_secure`: one uses TLS."""
        self._is_routed, self._is_secure = is_routed, is_secure
        self._server = _server_context(identity) if identity is not None else None

    def tls_clienthello(self, tls_clienthello: ClientHelloData) -> None:
        """Connect to the upstream first. Open or create the certificate store only if it is needed."""
        tls_clienthello.establish_server_tls_first = tls_clienthello.context.server.tls and not self._is_routed
        if self._server is None and self.certstore is None:
            self.configure({"confdir"})

    def request(self, flow: Any) -> None:
        """Serve the revocation list of mitmproxy's certificates, if this version (12 or later) has one."""
        request = getattr(super(), "request", None)
        if request is not None and self.certstore is not None:
            request(flow)

    def tls_start_client(self, tls_start: TlsData) -> None:
        """Use the configured certificate, or one that mitmproxy makes for the requested name."""
        if self._server is not None and not tls_start.is_dtls:
            upstream = tls_start.context.server
            tls_start.ssl_conn = SSL.Connection(self._server)
            known = (None, self._is_secure) if self._is_routed else (upstream.alpn, upstream.tls)
            tls_start.ssl_conn.set_app_data(known)
            tls_start.ssl_conn.set_accept_state()
        super().tls_start_client(tls_start)

    def tls_start_server(self, tls_start: TlsData) -> None:
        """Accept any certificate in the CA file as an anchor, as most clients do; OpenSSL wants a self-signed one."""
        super().tls_start_server(tls_start)
        store = tls_start.ssl_conn.get_context().get_cert_store() if tls_start.ssl_conn is not None else None
        if store is not None:
            store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)


def _server_context(identity: Identity) -> SSL.Context:
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_options(net_tls.DEFAULT_OPTIONS)
    context.use_certificate_chain_file(str(identity.certificate))
    context.use_privatekey_file(str(identity.key or identity.certificate))
    choose: Any = _choose_protocol  # the stub declares no return value
    context.set_alpn_select_callback(choose)
    return context


def _choose_protocol(connection: SSL.Connection, offers: list[bytes]) -> Any:
    """Choose the protocol that the upstream chose, else the newest that can be forwarded to it."""
    upstream, secure = connection.get_app_data()
    if upstream and upstream in offers:
        return upstream
    protocols = HTTP_ALPNS if secure and upstream is None else HTTP1_ALPNS
    return next((protocol for protocol in protocols if protocol in offers), SSL.NO_OVERLAPPING_PROTOCOLS)
