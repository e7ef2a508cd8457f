"""Raw sockets on both sides of an embedded proxy: upstreams that say exactly these bytes, clients that see them."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import socket
import socketserver
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode, ModeChoice
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import DocumentResponse, HttpExchange, RequestHead, ResponseHead, Rewrite
from corrigible.rules.lookup import Lookup, LookupAnswer
from tests._support.command import arguments, start
from tests._support.wire import received

PATIENCE = 60.0
"""Seconds after which a test gives up. Nothing is expected to take so long, on however busy a machine."""
PATIENTLY = f"from corrigible.proxy.mitm import server; server.DRAIN_SECONDS = {PATIENCE}"
LAST_CHUNK = re.compile(rb"(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n\Z")


class Wire:
    """A client connection that shows bytes as they come. It is closed with the test, however that ends."""

    opened: ClassVar[list[Wire]] = []

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.opened.append(self)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def until(self, enough: Callable[[bytes], bool]) -> bytes:
        """Read until there is enough; fails where the connection ends before."""
        while not enough(self.received):
            data = self.socket.recv(1 << 20)
            assert data, f"the connection ended after {self.received[-200:]!r}"
            self.received += data
        return self.received

    def rest(self) -> bytes:
        """Read to the end of the connection."""
        while data := self.socket.recv(1 << 20):
            self.received += data
        return self.received

    def close(self) -> None:
        self.socket.close()


@dataclass
class Upstream:
    """A server on a real socket. `answers` maps a path to bytes, or to a function that writes them."""

    answers: dict[str, bytes | Callable[[socket.socket], None]]
    requests: list[bytes] = field(default_factory=list)
    port: int = 0

    def answer(self, connection: socket.socket, request: bytes) -> bool:
        """Answer a request. Return whether the connection ends with it, as servers end it."""
        self.requests.append(request)
        target = request.split(b" ", 2)[1].decode("latin1")
        scripted = self.answers[target.split("?")[0]]
        if callable(scripted):
            scripted(connection)
            return b"connection: close" in request.lower()
        connection.sendall(scripted)
        return b"connection: close" in request.lower() or ends_with(scripted)


def ends_with(answer: bytes) -> bool:
    """Whether a connection ends with an answer: it says so, or nothing else says where its body ends."""
    head = answer.partition(b"\r\n\r\n")[0].lower()
    is_framed = b"content-length:" in head or b"transfer-encoding:" in head or head.split(b" ")[1] in (b"204", b"304")
    return b"connection: close" in head or not is_framed


@contextmanager
def upstream_at(answers: dict[str, bytes | Callable[[socket.socket], None]]) -> Iterator[Upstream]:
    upstream = Upstream(answers)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                while (request := read_request(self.request)) is not None:
                    if upstream.answer(self.request, request):
                        return
            except OSError:
                return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Connection) as server:
        upstream.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield upstream
        finally:
            server.shutdown()
            thread.join()


def read_request(connection: socket.socket) -> bytes | None:
    """Read one request, byte for byte; None at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 20)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    chunked = b"transfer-encoding: chunked" in lines
    while len(body) < length or (chunked and not LAST_CHUNK.search(body, max(0, len(body) - 4096))):
        body += received(connection)
    return head + b"\r\n\r\n" + body


PATIENT = Limits(seconds=PATIENCE, seconds_with_lookups=PATIENCE)


@dataclass
class Silent:
    """A corrector that wants to see every refusal, and never says anything."""

    seen: list[tuple[RequestHead, bytes, ResponseHead, bytes]] = field(default_factory=list)
    limits: Limits = field(default_factory=lambda: PATIENT)
    loops: None = None
    asked: list[bytes] = field(default_factory=list)
    """What Envoy asked, by path."""

    def upstream_target(self, target: str) -> str:
        return target.replace("?mode=verbose", "")

    def document(self, request: RequestHead, now: float) -> DocumentResponse | None:
        if request.target != "/.well-known/recovery-feedback/1":
            return None
        headers = [("Content-Type", "application/json"), ("Content-Length", "14"), ("Cache-Control", "no-store")]
        return DocumentResponse(headers, b"" if request.method == "HEAD" else b'{"kept": true}')

    def wants_body(self, request: RequestHead, response: ResponseHead) -> ModeChoice | None:
        return ModeChoice(Mode.REFLECTIVE) if response.status >= 400 else None

    def reason_not_read(self, request: RequestHead, response: ResponseHead) -> str:
        return ""

    def caller(self, request: RequestHead) -> str:
        return request.peer

    counted_caller = caller

    def accepted(self, outcome: HttpOutcome) -> HttpOutcome:
        return outcome

    def correct(
        self, native: HttpExchange, *, id: str, started: float, elapsed: float, choice: ModeChoice, caller: str = ""
    ) -> Generator[Lookup, LookupAnswer, HttpOutcome]:
        self.seen.append((native.request, native.request_body, native.response, native.response_body))
        return (yield from self.said(native.response, native.response_body))

    def said(self, response: ResponseHead, body: bytes) -> Generator[Lookup, LookupAnswer, HttpOutcome]:
        yield from ()
        return HttpOutcome(None, "nothing to say", Mode.REFLECTIVE)


@dataclass
class Telling(Silent):
    """A corrector that puts a line after every refusal, and what it has looked up where it is told to."""

    ask: str | None = None

    def said(self, response: ResponseHead, body: bytes) -> Generator[Lookup, LookupAnswer, HttpOutcome]:
        lookup_answer = (yield Lookup(self.ask)) if self.ask is not None else LookupAnswer(0)
        headers = [*response.headers, ("X-Added", "1")]
        body += b" | %d %s" % (lookup_answer.status, lookup_answer.body)
        feedback = {"recovery": "correctable", "suggestions": [{"action": "MODIFY_PARAMS"}]}
        return HttpOutcome(Rewrite(headers, body), "", Mode.REFLECTIVE, "PostX", feedback, ("pack.rule",))


@dataclass
class Proxy:
    """A running one."""

    port: int
    stop: Callable[[], None]
    force_stop: Callable[[], None]
    ended: threading.Event
    later: Callable[[float], None]
    """Have so many seconds pass for it, at once."""


@contextmanager
def proxy_at(
    corrector: Any,
    *,
    log: Path | None = None,
    recorder: Any = None,
    apis: Any = None,
    hold: float = PATIENCE,
    drain: float = PATIENCE,
    **settings: Any,
) -> Iterator[Proxy]:
    from corrigible.proxy.access_log.entry import AccessLog
    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.http.api_routes import ApiRoute, ApiRoutes
    from corrigible.proxy.http.own_location import OwnLocation, Rewritten
    from corrigible.proxy.mitm import http_layer as mitm_http
    from corrigible.proxy.mitm import server as mitm
    from corrigible.proxy.mitm.server import Settings, serve

    upstream, rewritten = settings.get("upstream"), settings.pop("rewrite_location", Rewritten.REDIRECTS)
    own_location = OwnLocation(upstream, rewritten) if upstream is not None else None
    ready, ended = threading.Event(), threading.Event()
    running: dict[str, Any] = {}

    journal = AccessLog(log) if log is not None else None

    async def main() -> None:
        running.update(loop=asyncio.get_running_loop(), stop=asyncio.Event(), force_stop=asyncio.Event())

        def is_ready(address: str) -> None:
            running["port"] = int(address.rpartition(":")[2])
            ready.set()

        await serve(
            Settings(host="127.0.0.1", port=0, **settings),
            ApiRoutes(apis or [ApiRoute(corrector, own_location=own_location)]),
            recorder=recorder or Recorder(journal),
            ready=is_ready,
            stop=running["stop"],
            force_stop=running["force_stop"],
        )

    def runs() -> None:
        try:
            asyncio.run(main())
        finally:
            ended.set()

    thread = threading.Thread(target=runs)
    patched = pytest.MonkeyPatch()
    patched.setattr(mitm_http, "BUFFER_SECONDS", hold)
    patched.setattr(mitm, "DRAIN_SECONDS", drain)
    thread.start()

    def setter(name: str) -> Callable[[], None]:
        return lambda: running["loop"].call_soon_threadsafe(running[name].set)

    def later(seconds: float) -> None:
        loop, passed = running["loop"], threading.Event()
        monotonic, everywhere = time.monotonic, time.time  # the loop's own clock is the first of them

        def shift() -> None:
            patched.setattr(time, "monotonic", lambda: monotonic() + seconds)
            patched.setattr(time, "time", lambda: everywhere() + seconds)
            passed.set()

        loop.call_soon_threadsafe(shift)
        assert passed.wait(PATIENCE)

    assert ready.wait(PATIENCE)
    proxy = Proxy(running["port"], setter("stop"), setter("force_stop"), ended, later)
    try:
        yield proxy
    finally:
        with suppress(RuntimeError):  # its loop may be closed by now
            proxy.stop()
            proxy.force_stop()
        thread.join(PATIENCE)
        patched.undo()
        assert not thread.is_alive()
        if journal is not None:
            journal.close()


@contextmanager
def corrected(
    upstream: str,
    *packs: str | Path,
    engine: str = "mitmproxy",
    mode: Mode = Mode.REFLECTIVE,
    spec: Path | None = None,
    limits: Limits | None = None,
    maps: Any = None,
) -> Iterator[str]:
    """Run our proxy in a thread of this process, where nothing is late, and yield its URL."""
    from corrigible.proxy.build import SpecWarning, build_engine, build_loops

    carried: Any = proxy_at
    if engine == "envoy":
        carried = importlib.import_module("tests._support.envoy_proxy").envoy_at
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        built = build_engine(packs, spec, limits or PATIENT, maps=maps)
    with carried(HttpCorrector(built, mode=mode, loops=build_loops()), upstream=upstream) as proxy:
        yield f"http://127.0.0.1:{proxy.port}"


def message(status: bytes, headers: bytes, body: bytes, *, length: bool = True) -> bytes:
    framing = b"Content-Length: %d\r\n" % len(body) if length else b""
    return b"HTTP/1.1 " + status + b"\r\n" + headers + framing + b"\r\n" + body


def chunks(status: bytes, headers: bytes, *parts: bytes) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    return message(status, headers + b"Transfer-Encoding: chunked\r\n", body, length=False)


def dechunked(response: bytes) -> bytes:
    """Return an answer with its chunks put together: where chunks end is each hop's own business."""
    head, _, rest = response.partition(b"\r\n\r\n")
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if int(size, 16) == 0:
            assert rest == b"\r\n"
            return head + b"\r\n\r\n" + body
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]


class Bench:
    """What tests of the proxy get: the pieces above."""

    Silent, Telling, Wire = Silent, Telling, Wire
    proxy: ClassVar[Callable[..., AbstractContextManager[Proxy]]] = staticmethod(proxy_at)
    upstream = staticmethod(upstream_at)
    patience = PATIENCE
    patient = PATIENT
    is_strict = False
    """Whether an answer with a header that is no token is refused."""
    message, chunks, dechunked = staticmethod(message), staticmethod(chunks), staticmethod(dechunked)

    @staticmethod
    def none() -> HttpCorrector:
        return HttpCorrector(Engine([]), mode=Mode.NONE)

    @staticmethod
    def reflective() -> HttpCorrector:
        return HttpCorrector(Engine([]), mode=Mode.REFLECTIVE)

    @staticmethod
    def command(*words: str) -> list[str]:
        """Return how to run `corrigible proxy` so that nothing under way is cut off before a test gives up."""
        return arguments(["corrigible", "proxy", "--engine", "mitmproxy", *words], PATIENTLY)

    @staticmethod
    def start(*words: str, **options: Any) -> subprocess.Popen[str]:
        """Run it so."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return start(["corrigible", "proxy", "--engine", "mitmproxy", *words], PATIENTLY, **pipes)

    @staticmethod
    def seen(message: bytes) -> Any:
        """Return what of a message has to be the same on both sides of the proxy: every byte."""
        return message

    @staticmethod
    def journal(folder: Path) -> list[dict[str, Any]]:
        """Return the lines of `log.jsonl`."""
        return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]

    @staticmethod
    def ask(port: int, path: str, method: str = "GET", body: bytes = b"", headers: bytes = b"") -> bytes:
        """Send one request on a connection of its own; return every byte of the answer."""
        wire = Wire(port)
        length = b"Content-Length: %d\r\n" % len(body) if body else b""
        wire.send(
            b"%s %s HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n%s%s\r\n%s"
            % (method.encode(), path.encode(), headers, length, body)
        )
        try:
            return wire.rest()
        finally:
            wire.close()


@pytest.fixture(scope="session")
def bench() -> type[Bench]:
    """Upstreams, proxies and clients made of raw sockets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what mitmproxy depends on
        importlib.import_module("corrigible.proxy.mitm.server")
    return Bench


@pytest.fixture(autouse=True)
def wires_are_closed() -> Iterator[None]:
    yield
    while Wire.opened:
        Wire.opened.pop().close()
