"""The admin address: `/healthz`, `/readyz` and `/metrics`, apart from the traffic.

Knows: a small HTTP server with a thread, an event loop and few connections of its own, the event loop that carries the
traffic. Does not know: what numbers mean. The loop of the traffic answers each question itself: if it does not answer
in time, the proxy is not well.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from inspect import isawaitable
from typing import Any, Final, NamedTuple, TypeVar

import h11

T = TypeVar("T")

PATIENCE: Final = 2.0
"""Seconds in which the event loop has to answer."""
CONNECTIONS: Final = 32
"""Beyond it the connection that has been idle for longest is closed: a probe always gets through."""
_BACKLOG: Final = 16
"""Connections that are accepted in one turn at most, before any of them is closed."""
_HEAD: Final = 8 << 10
"""Bytes of a request. None has a body."""
_SECONDS: Final = 10.0
"""For a request to arrive, and for its answer to be taken: each as a whole, however the bytes are dealt out."""
_CONNECT_SECONDS: Final = 1.0
_KNOWN_FOR: Final = 1.0
"""Seconds for which it is known whether an API can be reached: it gets no more connections than that, whoever asks."""
_PAGES: Final = "there are /healthz, /readyz and /metrics"


class Page(NamedTuple):
    content_type: str
    body: bytes


class Answer(NamedTuple):
    status: HTTPStatus
    page: Page


class Reach:
    """Whether APIs can be reached: a connection that is closed at once, no request. For one event loop."""

    def __init__(self, upstreams: Mapping[str, tuple[str, int]]) -> None:
        """Host and port of each API by its name, which is empty where there is only one."""
        self._upstreams = upstreams
        self._known: list[str] = []
        self._until = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def problems(self) -> list[str]:
        """Return a line for each API that cannot be reached."""
        if time.monotonic() >= self._until:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._look())
            await asyncio.shield(self._asking)
        return self._known

    async def _look(self) -> None:
        reasons = await asyncio.gather(*(_reached(*upstream) for upstream in self._upstreams.values()))
        named = zip(self._upstreams, reasons, strict=True)
        self._known = [f"{name or 'the API'} cannot be reached: {reason}" for name, reason in named if reason]
        self._until = time.monotonic() + _KNOWN_FOR


async def _reached(host: str, port: int) -> str:
    """Return why a server cannot be connected to, empty if it can."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
        writer.transport.abort()
    except TimeoutError:
        return f"no connection within {_CONNECT_SECONDS:g} s"
    except socket.gaierror:
        return "its name is not known"
    except (OSError, ValueError) as problem:  # ValueError: a name that is none in DNS
        number = problem.errno if isinstance(problem, OSError) else None
        return os.strerror(number).lower() if number else "no connection"
    return ""


@dataclass(eq=False, slots=True)
class _Connection:
    writer: asyncio.StreamWriter
    since: float
    """When it last became idle, or began to be answered."""
    is_answering: bool = False


class AdminServer:
    """Serves until it is closed."""

    def __init__(
        self,
        host: str,
        port: int,
        snapshot: Callable[[], T | Awaitable[T]],
        render: Callable[[T], Page],
        upstreams: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        """Listen. `snapshot` is called on the event loop, `render` is not. Raises OSError if the address is taken."""
        self._snapshot, self._render = snapshot, render
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unready: Callable[[], Iterable[str]] = tuple
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        except OSError as problem:  # its text repeats the address
            raise (OSError(problem.errno, os.strerror(problem.errno)) if problem.errno else problem) from None
        self._reach = Reach(upstreams or {})
        self._open: set[_Connection] = set()
        self._under_way: dict[str, asyncio.Task[Answer]] = {}
        """One for each path, for all who ask meanwhile."""
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        """What is being answered on the loop of the traffic: a loop alone does not hold its tasks."""
        self._own: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._is_serving = threading.Event()

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def start(self, loop: asyncio.AbstractEventLoop, unready: Callable[[], Iterable[str]] = tuple) -> None:
        """Answer from now on, for a proxy that runs on this loop. `unready` is called there: why it is not ready."""
        self._loop, self._unready = loop, unready
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="admin", daemon=True)
        self._thread.start()
        self._is_serving.wait(PATIENCE)

    def close(self) -> None:
        """Stop to listen."""
        if self._own is not None:
            loop, stop = self._own
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(stop.set)
        if self._thread is not None:
            self._thread.join(PATIENCE)
        self._socket.close()

    async def _serve(self) -> None:
        stop = asyncio.Event()
        self._own = asyncio.get_running_loop(), stop
        server = await asyncio.start_server(self._accepted, sock=self._socket, limit=_HEAD, backlog=_BACKLOG)
        self._is_serving.set()
        await stop.wait()
        server.close()
        for connection in self._open:
            connection.writer.transport.abort()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(writer, time.monotonic())
        if len(self._open) >= CONNECTIONS:
            oldest = min(self._open, key=lambda each: (each.is_answering, each.since))
            self._open.discard(oldest)
            oldest.writer.transport.abort()
        self._open.add(connection)
        writer.transport.set_write_buffer_limits(0)  # to drain is to have nothing left
        try:
            await self._converse(reader, connection)
        except (OSError, TimeoutError):  # whoever asked is gone, silent, or takes no answer
            writer.transport.abort()
        finally:
            self._open.discard(connection)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        while http.our_state is h11.IDLE:
            connection.since, connection.is_answering = time.monotonic(), False
            is_head = False
            try:
                async with asyncio.timeout(_SECONDS):
                    request = await _read(http, reader)
                if request is None:
                    return
                connection.since, connection.is_answering = time.monotonic(), True
                is_head = request.method == b"HEAD"
                status, page = await self._answer_to(request)
            except h11.RemoteProtocolError as problem:
                status, page = _said(HTTPStatus(problem.error_status_hint), "this is no request that is answered here")
            fields = [("Content-Type", page.content_type), ("Content-Length", str(len(page.body)))]
            if status >= 400 and status != HTTPStatus.SERVICE_UNAVAILABLE:
                fields.append(("Connection", "close"))
            data = http.send(h11.Response(status_code=status, headers=fields, reason=status.phrase.encode())) or b""
            if not is_head:
                data += http.send(h11.Data(page.body)) or b""
            data += http.send(h11.EndOfMessage()) or b""
            connection.writer.write(data)
            async with asyncio.timeout(_SECONDS):
                await connection.writer.drain()
            if status < 400 or status == HTTPStatus.SERVICE_UNAVAILABLE:
                with suppress(h11.LocalProtocolError):  # whoever asked wants the connection closed
                    http.start_next_cycle()

    async def _answer_to(self, request: h11.Request) -> Answer:
        if request.method not in (b"GET", b"HEAD"):
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered here")
        path = request.target.partition(b"?")[0].decode("ascii", "replace")
        if path not in ("/healthz", "/readyz", "/metrics"):
            return _said(HTTPStatus.NOT_FOUND, _PAGES)
        task = self._under_way.get(path)
        if task is None:
            task = self._under_way[path] = asyncio.create_task(self._answer(path))
            task.add_done_callback(lambda _: self._under_way.pop(path))
        return await asyncio.shield(task)

    async def _answer(self, path: str) -> Answer:
        try:
            match path:
                case "/metrics":
                    snapshot: Any = await self._ask(self._snapshot)
                    return Answer(HTTPStatus.OK, self._render(snapshot))
                case "/readyz":
                    reasons = [*await self._ask(lambda: list(self._unready())), *await self._reach.problems()]
                    if reasons:
                        return _said(HTTPStatus.SERVICE_UNAVAILABLE, "\n".join(reasons))
                case _:
                    await self._ask(lambda: None)
        except TimeoutError:
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, f"the event loop has not answered for {PATIENCE:g} s")
        except RuntimeError:  # it is closed
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, "the proxy is stopping")
        except Exception as problem:  # whoever asks shall see it; the traffic shall not
            return _said(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(problem).__name__}: {problem}")
        return _said(HTTPStatus.OK, "ok")

    async def _ask(self, question: Callable[[], Any]) -> Any:
        assert self._loop is not None
        loop = self._loop
        future: Future[Any] = Future()

        async def answer() -> None:
            try:
                value = question()
                value = await value if isawaitable(value) else value
            except Exception as problem:
                if future.set_running_or_notify_cancel():
                    future.set_exception(problem)
            else:
                if future.set_running_or_notify_cancel():  # else nobody waits any more
                    future.set_result(value)

        def begin() -> None:
            if not future.cancelled():
                task = loop.create_task(answer())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        loop.call_soon_threadsafe(begin)
        async with asyncio.timeout(PATIENCE):
            return await asyncio.wrap_future(future)


async def _read(http: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """Return the next request, None where there is none. Raises h11.RemoteProtocolError, for one with a body, too."""
    request: h11.Request | None = None
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            if request is not None:
                raise h11.RemoteProtocolError("a body", error_status_hint=413)
            http.receive_data(await reader.read(_HEAD))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.EndOfMessage):
            return request
        elif isinstance(event, h11.Data):
            raise h11.RemoteProtocolError("a body", error_status_hint=413)
        else:  # the connection is closed, or another protocol is wanted
            return None


def _said(status: HTTPStatus, text: str) -> Answer:
    return Answer(status, Page("text/plain; charset=utf-8", f"{text}\n".encode()))
