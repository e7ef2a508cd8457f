"""The pieces of `raw_proxy` with Envoy in the place of mitmproxy: the same tests run on both."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from corrigible.proxy.core.limits import Timeouts
from tests._support.raw_proxy import PATIENCE, Bench, Proxy, dechunked


@contextmanager
def envoy_at(
    corrector: Any, *, upstream: str, log: Path | None = None, recorder: Any = None, **settings: Any
) -> Iterator[Proxy]:
    """Run Envoy with one corrector in this process."""
    from corrigible.proxy.access_log.entry import AccessLog
    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.envoy.bootstrap import bootstrap
    from corrigible.proxy.envoy.corrector_process import UNIX, listen
    from corrigible.proxy.envoy.gateway import Gateway
    from corrigible.proxy.envoy.http_server import Call, Reply
    from corrigible.proxy.envoy.http_service import HttpService
    from corrigible.proxy.envoy.log_line import entry_of, fields_of
    from corrigible.proxy.envoy.process import ADMIN, EnvoyProcess, SuccessWatch, configure
    from corrigible.proxy.http.api_routes import ApiRoute
    from corrigible.proxy.http.api_routes import Upstream as At
    from corrigible.proxy.http.lookup_client import LookupClient
    from corrigible.proxy.runtime.dispatcher import Dispatcher
    from corrigible.proxy.tls_files import USUAL

    ready, ended = threading.Event(), threading.Event()
    running: dict[str, Any] = {}
    journal = AccessLog(log) if log is not None else None
    recorder = recorder or Recorder(journal)

    async def main(folder: Path) -> None:
        running.update(loop=asyncio.get_running_loop(), stop=asyncio.Event())
        lookups, watch = LookupClient(settings.get("trust", USUAL)), SuccessWatch(folder / ADMIN)
        dispatcher = Dispatcher(largest_here=None)
        api = At.parse(upstream)
        service = HttpService(ApiRoute(corrector, upstream=api), lookups, dispatcher, watch_successes=watch.begin)
        address = f"{UNIX}{folder / 'corrector.sock'}"

        async def answer(call: Call) -> Reply:
            getattr(corrector, "asked", []).append(call.path)
            return await service.answer(call)

        server = await listen(answer, address, 16 << 20)
        gateway = Gateway(
            "127.0.0.1",
            0,
            api,
            [address],
            seconds=PATIENCE,
            body_limit=corrector.limits.body,
            admin=str(folder / ADMIN),
            logs_all=journal is not None,
            **settings,
        )
        configure(bootstrap(gateway), folder)
        envoy = await EnvoyProcess.start(folder, lambda line: recorder.write(entry_of(fields_of(line))), threads=2)
        try:
            running["port"] = await envoy.port()
            ready.set()
            await running["stop"].wait()
        finally:
            await envoy.stop()
            server.close()
            lookups.close()
            watch.close()

    def runs() -> None:
        try:
            with TemporaryDirectory() as folder:
                asyncio.run(main(Path(folder)))
        finally:
            ended.set()
            ready.set()

    thread = threading.Thread(target=runs)
    thread.start()

    def stop() -> None:
        running["loop"].call_soon_threadsafe(running["stop"].set)

    assert ready.wait(PATIENCE)
    assert "port" in running, "Envoy did not start"
    try:
        yield Proxy(running["port"], stop, stop, ended, lambda seconds: None)
    finally:
        with suppress(RuntimeError):  # its loop may be closed by now
            stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        if journal is not None:
            journal.close()


@contextmanager
def configured_envoy(config: dict[str, Any], on_line: Callable[[bytes], object] = lambda line: None) -> Iterator[int]:
    """Run Envoy as a configuration says; yield its port."""
    from corrigible.proxy.envoy.process import ADMIN, EnvoyProcess, configure

    ready, running = threading.Event(), dict[str, Any]()

    async def serve(folder: Path) -> None:
        running.update(loop=asyncio.get_running_loop(), stop=asyncio.Event())
        config["admin"] = {"address": {"pipe": {"path": str(folder / ADMIN)}}}
        configure(config, folder)
        envoy = await EnvoyProcess.start(folder, on_line, threads=1)
        try:
            running["port"] = await envoy.port()
            ready.set()
            await running["stop"].wait()
        finally:
            await envoy.stop()

    def run() -> None:
        try:
            with TemporaryDirectory() as folder:
                asyncio.run(serve(Path(folder)))
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(PATIENCE) and "port" in running
    try:
        yield running["port"]
    finally:
        running["loop"].call_soon_threadsafe(running["stop"].set)
        thread.join(PATIENCE)


_OF_EACH_HOP = frozenset((b"connection", b"content-length", b"date", b"transfer-encoding"))
"""What every HTTP hop writes anew."""


class Seen(NamedTuple):
    """A message as RFC 9110 has it: what is the same however it is framed."""

    start: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class EnvoyBench(Bench):
    """What tests get where Envoy carries the traffic."""

    proxy = staticmethod(envoy_at)
    is_strict = True

    @staticmethod
    def dechunked(response: bytes) -> bytes:
        """Return an answer with its chunks put together, and without the field that says that it has some."""
        if b"\r\ntransfer-encoding: chunked" not in response.partition(b"\r\n\r\n")[0].lower():
            return response
        head, mark, body = dechunked(response).partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"transfer-encoding:")]
        return b"\r\n".join(lines) + mark + body

    @staticmethod
    def seen(message: bytes) -> Seen:
        """Return what of a message has to be the same on both sides of Envoy: all but framing and spelling of names."""
        head = message.partition(b"\r\n\r\n")[0]
        start, *lines = head.split(b"\r\n")
        if start.startswith(b"HTTP/1."):  # the version is each hop's own; a reason that is missing may be filled in
            start = start.partition(b" ")[2]
            start = start[:3] if start in (b"200 ", b"200 OK") else start
        elif start.endswith(b" HTTP/1.1"):
            start = start.removesuffix(b" HTTP/1.1")
        body = EnvoyBench.dechunked(message).partition(b"\r\n\r\n")[2]
        fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        return Seen(start, [field for field in fields if field[0] not in _OF_EACH_HOP], body)


@pytest.fixture(scope="session", params=["mitmproxy", "envoy"])
def each_engine(request: pytest.FixtureRequest, bench: type[Bench]) -> type[Bench]:
    """The pieces on each engine."""
    return bench if request.param == "mitmproxy" else EnvoyBench


@pytest.fixture(params=["mitmproxy", pytest.param("envoy", marks=pytest.mark.nightly)])
def limited(request: pytest.FixtureRequest, bench: Any) -> Any:
    """An engine, limits for it, and what lets more time pass than they give: at once, or for real."""
    if request.param == "mitmproxy":
        return bench, Timeouts(head=600.0, idle=600.0, answer=600.0), lambda proxy: proxy.later(700)
    return EnvoyBench, Timeouts(head=3.0, idle=3.0, answer=3.0), lambda proxy: time.sleep(7)
