"""The mitmproxy front end: sets up an embedded mitmproxy, serves until it is stopped, then drains.

Knows: how to set mitmproxy up, when it is ready, when it ends. Does not know: rules, what an error means.
Needs the extra `mitmproxy`; only this folder and `recording/flow_file.py` import mitmproxy.

The way of one exchange: `listener` accepts a socket -> `connection` runs mitmproxy's protocol layers over it ->
`http_layer` is the HTTP layer, with `http1` or `http2` on each side and one `stream` for the exchange -> `addon` gets
mitmproxy's hooks, and calls the corrector with what `messages` converts.

TLS of the mitmproxy front end: verification of upstreams, own certificates, and the choice of HTTP/1 or HTTP/2.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import mitmproxy

if "mitmproxy.addons" not in sys.modules:
    # The package's own __init__ imports all 34 addons, with flask, ldap3 and passlib: 16 MB, half a second. We need
    # five of its modules, so the package is replaced by one that only finds them.
    _addons = ModuleType("mitmproxy.addons")
    _addons.__path__ = [str(Path(mitmproxy.__path__[0]) / "addons")]
    sys.modules["mitmproxy.addons"] = _addons

from mitmproxy import options
from mitmproxy.addonmanager import traverse
from mitmproxy.addons import block, core, next_layer, proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.certs import CertStore
from mitmproxy.master import Master
from mitmproxy.net import tls as net_tls
from mitmproxy.proxy import layer
from mitmproxy.proxy.layers.tls import HTTP1_ALPNS, HTTP_ALPNS
from mitmproxy.tls import ClientHelloData, TlsData
from OpenSSL import SSL, crypto

from corrigible.proxy.access_log.entry import redact
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.core.limits import Limits, Timeouts
from corrigible.proxy.http.api_routes import ApiRoutes
from corrigible.proxy.http.lookup_client import LookupClient
from corrigible.proxy.runtime.dispatcher import Dispatcher
from corrigible.proxy.runtime.fork_server import keep_what_exists, raise_limit
from corrigible.proxy.tls_files import USUAL, Identity, Trust
from corrigible.rules.errors import CorrigibleError

from .addon import CorrectionAddon
from .connection import HookTable, freeze_options
from .http_layer import replace_http_layer
from .listener import Listener


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


def authority(folder: Path) -> Path:
    """Return the certificate of an authority that is kept in a folder of its owner's, made where there is none."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    if not (folder / "mitmproxy-ca.pem").exists():
        CertStore.create_store(folder, "mitmproxy", 2048, organization="Corrigible", cn="Corrigible on this machine")
    return folder / "mitmproxy-ca-cert.pem"


EngineMode = Literal["reverse", "regular", "transparent"]
DRAIN_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one running proxy."""

    host: str
    port: int
    """0: the system chooses a free one."""
    upstream: str | None = None
    """`scheme://host:port`; None in the regular and transparent modes."""
    engine_mode: EngineMode = "reverse"
    body_limit: int = Limits().body
    """Bodies longer than this are never buffered."""
    trust: Trust = USUAL
    """How to verify the upstream's certificate."""
    identity: Identity | None = None
    """The certificate for clients that use TLS; if None, mitmproxy makes one."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    unmatched: Callable[[str], None] | None = None
    """Is told the target of each refused request that names no operation."""
    is_routed: bool = False
    """Whether there are several APIs: `upstream` is one of them, and each request names its own."""
    is_secure: bool = False
    """Whether one of several APIs uses TLS, so that it may speak HTTP/2."""
    only_hosts: Sequence[str] = ()
    """`host[:port]` of what the regular mode looks at; it tunnels every other connection. Empty: it looks at all."""
    authority: Path | None = None
    """Folder of the certificate authority; None: mitmproxy's own."""
    credentials: Path | None = None
    """Folder of `HOST.pem`, the client certificate for each host that gets one. Look-ups have none."""

    @property
    def spec(self) -> str:
        """mitmproxy's mode specification."""
        return f"reverse:{self.upstream}" if self.engine_mode == "reverse" else self.engine_mode


class CannotListen(CorrigibleError):
    """The address is in use, or not one of this machine's."""


class HttpLayerAddon:
    """Replaces mitmproxy's HTTP layer by ours."""

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        """Put our HTTP layer in the place of mitmproxy's."""
        replace_http_layer(nextlayer)


async def serve(
    settings: Settings,
    apis: ApiRoutes,
    *,
    recorder: Recorder | None = None,
    ready: Callable[[str], None],
    stop: asyncio.Event,
    force_stop: asyncio.Event | None = None,
    dispatcher: Dispatcher | None = None,
) -> None:
    """Serve until `stop` is set, then drain; `force_stop` ends the draining.

    `ready` is called once with the address. Raises CannotListen before that.
    """
    lookups = LookupClient(settings.trust)
    addon = CorrectionAddon(apis, lookups, recorder or Recorder(), dispatcher, settings.unmatched)
    master = _master(settings, addon)
    listener = Listener(
        settings.spec,
        freeze_options(master.options, settings.timeouts),
        HookTable(traverse(master.addons.chain)),  # type: ignore[no-untyped-call]  # theirs
    )
    try:
        try:
            addon.own_addresses = await listener.listen(settings.host, settings.port)
        except OSError as problem:
            raise CannotListen(f"cannot listen on {settings.host}:{settings.port}: {_reason(problem)}") from problem
        asking = [route.upstream for route in apis if route.corrector.limits.lookups]
        if any(upstream is None or upstream.scheme == "https" for upstream in asking):
            lookups.prepare()
        host, port = addon.own_addresses[0]
        scheme = "https" if settings.identity is not None else "http"
        ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
        await stop.wait()
        if recorder is not None:
            recorder.is_draining = True
        await _drain(listener, force_stop, recorder)
        if recorder is not None and recorder.drift is not None:
            await recorder.drift.finish()
    finally:
        lookups.close()
        await master.done()


async def _drain(listener: Listener, force_stop: asyncio.Event | None, recorder: Recorder | None) -> None:
    def cutting() -> None:
        if recorder is not None:
            recorder.is_cutting = True

    draining = asyncio.create_task(listener.drain(DRAIN_SECONDS, cutting))
    waiting = [draining]
    if force_stop is not None:
        waiting.append(asyncio.create_task(_wait_for(force_stop)))
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    finished = draining.result() if draining.done() else await listener.drain(0, cutting)
    if not finished:
        logger.error("unfinished exchanges were cut off")


async def _wait_for(event: asyncio.Event) -> bool:
    return await event.wait()


def run(
    settings: Settings,
    apis: ApiRoutes,
    *,
    recorder: Recorder,
    line: Callable[[str], str],
    started: Callable[[asyncio.AbstractEventLoop], None],
    dispatcher: Dispatcher | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; a second one stops without draining. `line` makes the ready line.

    `started` is called before it is printed, with the loop that carries the traffic.
    """
    _log_errors_to(recorder)
    raise_limit()
    try:
        asyncio.run(_until_signalled(settings, apis, recorder, line, started, dispatcher))
    except CannotListen as problem:
        print(f"corrigible proxy: {problem}", file=sys.stderr)
        return 1
    recorder.close([*(dispatcher.summary() if dispatcher is not None else ())])
    return 0


async def _until_signalled(
    settings: Settings,
    apis: ApiRoutes,
    recorder: Recorder,
    line: Callable[[str], str],
    started: Callable[[asyncio.AbstractEventLoop], None],
    dispatcher: Dispatcher | None,
) -> None:
    stop, force_stop = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (force_stop if stop.is_set() else stop).set()

    def ready(address: str) -> None:
        keep_what_exists()
        started(loop)
        print(line(address), flush=True)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    await serve(
        settings,
        apis,
        recorder=recorder,
        ready=ready,
        stop=stop,
        force_stop=force_stop,
        dispatcher=dispatcher,
    )


def _master(settings: Settings, addon: CorrectionAddon) -> Master:
    opts = options.Options()
    master = Master(opts)
    addons: Any = master.addons  # mitmproxy leaves these parts untyped
    update: Callable[..., None] = opts.update
    proxy: Any = proxyserver.Proxyserver
    tls = Certificates(settings.identity, is_routed=settings.is_routed, is_secure=settings.is_secure)
    addons.add(core.Core(), proxy(), next_layer.NextLayer(), HttpLayerAddon(), tls, addon)
    if settings.engine_mode != "reverse":
        addons.add(block.Block())  # a client from a public address gets no way to everywhere
    update(
        server=False,  # the listener is ours
        mode=[settings.spec],
        # lazy: a dead upstream is a readable 502, not a closed connection; eager: its ALPN is needed early
        connection_strategy="lazy" if settings.engine_mode == "reverse" else "eager",
        stream_large_bodies=str(settings.body_limit),
        validate_inbound_headers=False,  # odd headers concern client and upstream only; `http1` refuses unsafe framing
        websocket=False,  # an upgraded connection is passed on as bytes
        # See Certificates.
        http2=settings.is_secure if settings.is_routed else not (settings.upstream or "").startswith("http:"),
        keep_host_header=settings.is_routed,  # the addon needs it, and writes the API's own
        **trust_options(settings.trust),
    )
    if settings.only_hosts:
        update(allow_hosts=[rf"^{re.escape(one)}(:\d+)?$" for one in settings.only_hosts])
    if settings.authority is not None:
        update(confdir=str(settings.authority))
    if settings.credentials is not None:
        update(client_certs=str(settings.credentials))
    return master


def _reason(problem: OSError) -> str:
    has_code = isinstance(problem.errno, int) and problem.errno in errno.errorcode  # asyncio's own text is long
    return (os.strerror(problem.errno or 0) if has_code else problem.strerror or str(problem)).lower()


class _RecorderHandler(logging.Handler):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        try:
            cause = record.exc_info[1] if record.exc_info else None
            text = record.getMessage() + (f" ({type(cause).__name__}: {cause})" if cause else "")
            self._recorder.say(redact(text)[:500])
        except Exception:  # as every logging handler does
            self.handleError(record)


def _log_errors_to(recorder: Recorder) -> None:
    """Tell errors of mitmproxy and ours, one line each, and nothing below that level."""
    for name in ("mitmproxy", "corrigible.proxy"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.ERROR)
        logger.addHandler(_RecorderHandler(recorder))
