"""Sends request documents over HTTP/1.1, as a client of the API would, on kept connections.

Knows: HTTP, JSON and forms. Does not know: feedback, tasks, which server this is.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

from corrigible.conformance.lift.agents.protocol import Response
from corrigible.schema.document import SENDERS_OWN, form_pairs, query_pairs, scalar_text
from corrigible.schema.exchange import Json, Request

_SAFE_IN_PATHS: Final = "/%:@!$&'()*+,;=~-._"
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
_LOST: Final = (BrokenPipeError, ConnectionResetError)


class Unreachable(Exception):
    """A server did not respond: an error, and no observation of the agent."""


class Client(Protocol):
    """Sends request documents to one server. Usable from several threads."""

    def send(self, request: Request, headers: Mapping[str, str], *, timeout: float = 30.0) -> Response: ...

    def close(self) -> None: ...


class HttpClient:
    """Connections to one server, one per thread."""

    def __init__(self, url: str, *, authority: Path | None = None) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        self._trust = ssl.create_default_context(cafile=authority) if parts.scheme == "https" else None
        self._own = threading.local()
        self._all: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        for connection in self._all:
            connection.close()

    def send(self, request: Request, headers: Mapping[str, str], *, timeout: float = 30.0) -> Response:
        """Send one request and read the response. `headers`, such as credentials, win over those of the document."""
        sent = {n.lower(): scalar_text(v) for n, v in request.headers.items() if n.lower() not in SENDERS_OWN}
        sent |= {name.lower(): value for name, value in headers.items()}
        content: bytes | None = None
        if request.body is not None and request.form:
            content = urlencode(list(form_pairs(request.body))).encode()
            sent["content-type"] = "application/x-www-form-urlencoded"
        elif request.body is not None:
            content = json.dumps(request.body).encode()
            sent.setdefault("content-type", "application/json")
        target = quote(request.path, safe=_SAFE_IN_PATHS)
        if request.query:
            target += f"?{urlencode(list(query_pairs(request.query)))}"
        response = self._exchange(request.method, target, content, sent, timeout)
        body = response.read()
        return _response(response.status, response.getheaders(), body)

    def _exchange(
        self, method: str, target: str, content: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> http.client.HTTPResponse:
        connection = self._connection(timeout)
        if connection.sock is not None and _is_readable(connection.sock):
            connection.close()  # nothing was asked: the server closed it
        while True:
            reused = connection.sock is not None
            try:
                connection.request(method, target, content, dict(headers))
                return connection.getresponse()
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                # A kept connection may have been closed meanwhile, before it answered anything: then ask once more.
                closed = isinstance(problem, http.client.RemoteDisconnected)
                may_retry = closed or (isinstance(problem, _LOST) and method in _IDEMPOTENT)
                if not (reused and may_retry):
                    raise Unreachable(f"{method} {target}: {problem or type(problem).__name__}") from None

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            if self._trust is not None:
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._trust)
            else:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
            self._own.connection = connection
            self._all.append(connection)
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection


def _is_readable(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _response(status: int, headers: list[tuple[str, str]], content: bytes) -> Response:
    text = content.decode("utf-8", "replace")
    try:
        body: Json = json.loads(text) if text else None
    except (ValueError, RecursionError):
        body = text
    joined: dict[str, str] = {}
    for name, value in headers:
        low = name.lower()
        joined[low] = f"{joined[low]}, {value}" if low in joined else value
    is_failure = isinstance(body, dict) and body.get("success") is False
    return Response(status, body, joined, 200 <= status < 300 and not is_failure)
