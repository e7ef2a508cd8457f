"""The admin address: `/healthz` and `/metrics`, apart from the traffic.

Knows: a small HTTP server in a thread of its own, the event loop that carries the traffic. Does not know: what numbers
mean. The loop answers each question itself: if it does not answer in time, the proxy is not well.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import isawaitable
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")

PATIENCE: Final = 2.0
"""Seconds in which the event loop has to answer."""
_TIMEOUT = 10.0
"""Seconds that a client of this server may be silent."""


class Page(NamedTuple):
    content_type: str
    body: bytes


class AdminServer:
    """Serves until it is closed."""

    def __init__(
        self, host: str, port: int, snapshot: Callable[[], T | Awaitable[T]], render: Callable[[T], Page]
    ) -> None:
        """Listen. `snapshot` is called on the event loop, `render` is not. Raises OSError if the address is taken."""
        self._snapshot, self._render = snapshot, render
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server = _Server((host, port), _Handler)
        self._server.admin = self
        self._thread: threading.Thread | None = None
        self._tasks: list[asyncio.Task[None]] = []
        """What is being answered: a loop alone does not hold its tasks."""

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer from now on, for a proxy that runs on this loop."""
        self._loop = loop
        self._thread = threading.Thread(target=self._server.serve_forever, name="admin", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop to listen."""
        if self._thread is not None:
            self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[HTTPStatus, Page]:
        """Return the answer to a GET."""
        if path not in ("/healthz", "/metrics"):
            return HTTPStatus.NOT_FOUND, _text("there are /healthz and /metrics")
        try:
            snapshot = self._ask(self._snapshot if path == "/metrics" else lambda: None)
        except TimeoutError:
            return HTTPStatus.SERVICE_UNAVAILABLE, _text(f"the event loop has not answered for {PATIENCE:g} s")
        except RuntimeError:  # it is closed
            return HTTPStatus.SERVICE_UNAVAILABLE, _text("the proxy is stopping")
        return HTTPStatus.OK, _text("ok") if path == "/healthz" else self._render(snapshot)

    def _ask(self, question: Callable[[], Any]) -> Any:
        assert self._loop is not None
        loop = self._loop
        future: Future[Any] = Future()

        async def answer() -> None:
            try:
                value = question()
                future.set_result(await value if isawaitable(value) else value)
            except Exception as problem:
                future.set_exception(problem)

        loop.call_soon_threadsafe(lambda: self._tasks.append(loop.create_task(answer())))
        try:
            return future.result(PATIENCE)
        finally:
            self._tasks.clear()


def _text(line: str) -> Page:
    return Page("text/plain; charset=utf-8", f"{line}\n".encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    admin: AdminServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _TIMEOUT
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        try:
            status, page = self.server.admin.answer(self.path.partition("?")[0])
        except Exception as problem:  # whoever asks shall see it; the traffic shall not
            status, page = HTTPStatus.INTERNAL_SERVER_ERROR, _text(f"{type(problem).__name__}: {problem}")
        self.send_response(status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""
