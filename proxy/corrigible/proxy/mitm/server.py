"""The mitmproxy front end: an embedded mitmproxy that carries exchanges and lets the corrector speak.

Knows: how to set mitmproxy up, when it is ready, when it is over. Does not know: rules, what an error means.
Needs the extra `corrigible[mitmproxy]`; nothing outside the `mitm*` modules imports mitmproxy.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import mitmproxy

if "mitmproxy.addons" not in sys.modules:
    # The package's own __init__ imports all 34 addons, with flask, ldap3 and passlib: 16 MB, half a second. We need
    # four of its modules, so they are found without running it; `default_addons` runs it where all are wanted.
    _addons = ModuleType("mitmproxy.addons")
    _addons.__path__ = [str(Path(mitmproxy.__path__[0]) / "addons")]
    sys.modules["mitmproxy.addons"] = _addons

from mitmproxy import options
from mitmproxy.addonmanager import traverse
from mitmproxy.addons import block, core, next_layer, proxyserver, tlsconfig
from mitmproxy.master import Master
from mitmproxy.proxy import layer

from corrigible.proxy.access_log.entry import AccessLog, on_hangup, redact
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.runtime.dispatcher import Dispatcher
from corrigible.proxy.tls_files import USUAL, Identity, Trust

from .addon import Correcting, Exchanges
from .connection import HookTable, frozen
from .file_descriptors import raise_limit
from .http_layer import use_own_http
from .listener import Listener
from .lookup_client import LookupClient
from .tls import Certificates, trust_options

EngineMode = Literal["reverse", "regular", "transparent"]
DRAIN_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one running proxy is told."""

    host: str
    port: int
    """0 lets the system choose."""
    upstream: str | None = None
    """`scheme://host:port`; None in the regular and transparent modes."""
    engine_mode: EngineMode = "reverse"
    all_addons: bool = False
    """Keep mitmproxy's whole default addon set."""
    body_limit: int = Limits().body
    """Bodies longer than this are never held back."""
    trust: Trust = USUAL
    """Whom to believe upstream."""
    identity: Identity | None = None
    """The certificate for clients that come with TLS; None has mitmproxy make one up."""

    @property
    def spec(self) -> str:
        """The mode as mitmproxy spells it."""
        return f"reverse:{self.upstream}" if self.engine_mode == "reverse" else self.engine_mode


class CannotListen(Exception):
    """The address is taken, or not ours."""


class OwnHttp:
    """The small addon that has HTTP spoken our way."""

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        """Put our HTTP where mitmproxy's would be."""
        use_own_http(nextlayer)


async def serve(
    settings: Settings,
    corrector: Correcting,
    *,
    access_log: AccessLog | None = None,
    ready: Callable[[str], None],
    stop: asyncio.Event,
    hurry: asyncio.Event | None = None,
    dispatcher: Dispatcher | None = None,
) -> None:
    """Carry exchanges until `stop` is set, then drain; `hurry` cuts the draining short.

    `ready` is called once with the address. Raises CannotListen before that.
    """
    lookups = LookupClient(settings.trust)
    exchanges = Exchanges(corrector, lookups, access_log, dispatcher)
    master = _master(settings, exchanges)
    listener = Listener(
        settings.spec,
        frozen(master.options),
        HookTable(traverse(master.addons.chain)),  # type: ignore[no-untyped-call]  # theirs
    )
    try:
        try:
            exchanges.own_addresses = await listener.listen(settings.host, settings.port)
        except OSError as problem:
            raise CannotListen(f"cannot listen on {settings.host}:{settings.port}: {_reason(problem)}") from problem
        if settings.all_addons:
            await master.running()
        gc.collect()
        gc.freeze()  # what exists by now stays: no need to walk it again and again under load
        host, port = exchanges.own_addresses[0]
        scheme = "https" if settings.identity is not None else "http"
        ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
        await stop.wait()
        await _drain(listener, hurry)
    finally:
        gc.unfreeze()
        await lookups.close()
        await master.done()


async def _drain(listener: Listener, hurry: asyncio.Event | None) -> None:
    draining = asyncio.create_task(listener.drain(DRAIN_SECONDS))
    waiting = [draining]
    if hurry is not None:
        waiting.append(asyncio.create_task(_set(hurry)))
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    finished = draining.result() if draining.done() else await listener.drain(0)
    if not finished:
        logger.error("exchanges were still under way and have been cut off")


async def _set(event: asyncio.Event) -> bool:
    return await event.wait()


def run(
    settings: Settings,
    corrector: Correcting,
    *,
    access_log: AccessLog | None,
    line: Callable[[str], str],
    dispatcher: Dispatcher | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT (the second one hurries). `line` makes the line that says it is ready."""
    _send_complaints_to_stderr()
    raise_limit()
    try:
        asyncio.run(_until_signalled(settings, corrector, access_log, line, dispatcher))
    except CannotListen as problem:
        print(f"corrigible proxy: {problem}", file=sys.stderr)
        return 1
    for summary in dispatcher.summary() if dispatcher is not None else ():
        print(f"corrigible proxy: {summary}", file=sys.stderr)
    if access_log is not None:
        access_log.close()
    if access_log is not None and access_log.dropped:
        print(f"corrigible proxy: {access_log.dropped} log lines could not be written", file=sys.stderr)
    return 0


async def _until_signalled(
    settings: Settings,
    corrector: Correcting,
    access_log: AccessLog | None,
    line: Callable[[str], str],
    dispatcher: Dispatcher | None,
) -> None:
    stop, hurry = asyncio.Event(), asyncio.Event()

    def end() -> None:
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    on_hangup(loop, access_log)
    await serve(
        settings,
        corrector,
        access_log=access_log,
        ready=lambda address: print(line(address), flush=True),
        stop=stop,
        hurry=hurry,
        dispatcher=dispatcher,
    )


def default_addons() -> list[Any]:
    """Return mitmproxy's whole default addon set, importing it where that was put off."""
    package: Any = sys.modules["mitmproxy.addons"]
    if not hasattr(package, "default_addons"):
        spec = importlib.util.spec_from_file_location("mitmproxy.addons", Path(package.__path__[0]) / "__init__.py")
        assert spec is not None and spec.loader is not None
        package.__spec__ = spec
        spec.loader.exec_module(package)
    found: list[Any] = package.default_addons()
    return found


def _master(settings: Settings, exchanges: Exchanges) -> Master:
    opts = options.Options()
    master = Master(opts)
    addons: Any = master.addons  # mitmproxy leaves these parts untyped
    update: Callable[..., None] = opts.update
    tls = Certificates(settings.identity)
    if settings.all_addons:
        theirs = [addon for addon in default_addons() if not isinstance(addon, tlsconfig.TlsConfig)]
        addons.add(*theirs, OwnHttp(), tls, exchanges)
        update(keep_alt_svc_header=True)
    else:
        proxy: Any = proxyserver.Proxyserver
        addons.add(core.Core(), proxy(), next_layer.NextLayer(), OwnHttp(), tls, exchanges)
        if settings.engine_mode != "reverse":
            addons.add(block.Block())  # whoever comes from a public address gets no way to everywhere
    update(
        server=False,  # the listener is ours
        mode=[settings.spec],
        # a dead upstream is a 502 to be read, not a closed connection; elsewhere its ALPN is wanted early
        connection_strategy="lazy" if settings.engine_mode == "reverse" else "eager",
        stream_large_bodies=str(settings.body_limit),
        validate_inbound_headers=False,  # odd headers are the two ends' business; we refuse unsafe framing
        websocket=False,  # an upgraded connection is bytes
        http2=not (settings.upstream or "").startswith("http:"),  # see Certificates
        **trust_options(settings.trust),
    )
    return master


def _reason(problem: OSError) -> str:
    known = isinstance(problem.errno, int) and problem.errno in errno.errorcode  # asyncio words it at length
    return (os.strerror(problem.errno or 0) if known else problem.strerror or str(problem)).lower()


class _Complaint(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            cause = record.exc_info[1] if record.exc_info else None
            text = record.getMessage() + (f" ({type(cause).__name__}: {cause})" if cause else "")
            print(f"corrigible proxy: {redact(text)[:500]}", file=sys.stderr)
        except Exception:  # as every logging handler does
            self.handleError(record)


def _send_complaints_to_stderr() -> None:
    """Show errors of the engine, one line each; everything less stays silent."""
    for name in ("mitmproxy", "corrigible.proxy"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.ERROR)
        logger.addHandler(_Complaint())
