"""A small HTTP/1.1 server for one gateway: whole requests in, whole answers out. httptools reads the bytes.

Knows: asyncio, httptools. Does not know: what is asked. Needs the extra `envoy`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import httptools

from corrigible.schema.exchange import record

_PIPELINED: Final = 16
"""Requests of one connection that wait for an answer."""


@record
class Call:
    """A request."""

    method: bytes
    path: bytes
    headers: Mapping[bytes, bytes]
    """By name in lower case."""
    body: bytes


@record
class Reply:
    """An answer."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""


Answering = Callable[[Call], Awaitable[Reply]]


@dataclass(slots=True)
class _Reading:
    """A request as far as it came."""

    path: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)
    size: int = 0


class Connection(asyncio.Protocol):
    """One connection. Answers go out in the order of the requests."""

    def __init__(self, answering: Answering, largest: int) -> None:
        """A request with a body over `largest` bytes ends the connection."""
        self._answering, self._largest = answering, largest
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._reading = _Reading()
        self._waiting: deque[tuple[Call, bool]] = deque()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, problem: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, ValueError):
            self._transport.abort()

    # What httptools calls.

    def on_message_begin(self) -> None:
        self._reading = _Reading()

    def on_url(self, url: bytes) -> None:
        self._reading.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._reading.headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self._reading.size += len(body)
        if self._reading.size > self._largest:
            raise ValueError("too large")
        self._reading.body.append(body)

    def on_message_complete(self) -> None:
        reading = self._reading
        call = Call(self._parser.get_method(), reading.path, reading.headers, b"".join(reading.body))
        if len(self._waiting) >= _PIPELINED:
            raise ValueError("too many requests")
        self._waiting.append((call, self._parser.should_keep_alive()))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer())

    async def _answer(self) -> None:
        assert self._transport is not None
        while self._waiting:
            call, is_kept = self._waiting.popleft()
            try:
                reply = await self._answering(call)
            except Exception as problem:  # the gateway goes on with the native answer
                reply = Reply(500, body=f"{type(problem).__name__}: {problem}\n".encode())
            self._transport.write(_bytes(reply))
            if not is_kept:
                self._transport.close()
                break
        self._task = None


def _bytes(reply: Reply) -> bytes:
    lines = [_STATUS_LINES[reply.status], *[b"%b: %b" % header for header in reply.headers]]
    if reply.status != _NO_CONTENT:
        lines.append(b"content-length: %d" % len(reply.body))
    return b"\r\n".join([*lines, b"", reply.body])


_NO_CONTENT: Final = 204
_STATUS_LINES: Final = {int(one): f"HTTP/1.1 {one.value} {one.phrase}".encode() for one in HTTPStatus}
