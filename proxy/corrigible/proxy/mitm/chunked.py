"""Chunked bodies for mitmproxy's HTTP/1, in place of h11's reader.

Knows: the buffer and the events of h11. Does not know: connections, flows.

h11 0.14, which mitmproxy 11 pins, does not check the two bytes after a chunk (CVE-2025-43859): an upstream that
interprets them would see another request.
"""

from __future__ import annotations

from typing import Any, NoReturn

import h11

from corrigible.proxy.http.framing import CHUNK_LINE_LIMIT, HEAD_LIMIT, Malformed, chunk_size, read_trailers

_NO_TRAILERS = frozenset((b"content-length", b"transfer-encoding", b"host", b"trailer"))
"""RFC 9110 section 6.5.1: fields for framing or routing must not be trailers."""


class ChunkReader:
    """Reads a chunked body, and keeps its trailers."""

    def __init__(self) -> None:
        self._left = 0
        """Missing bytes of the current chunk."""
        self._expects_crlf = False
        """Whether the CR LF after a chunk is still missing."""
        self._trailer_section: bytearray | None = None
        """The trailer section, after the last chunk."""
        self._is_complete = False
        self._trailers: list[tuple[bytes, bytes]] = []

    def __call__(self, buffer: Any) -> h11.Data | h11.EndOfMessage | None:
        """Return the data in the buffer, many chunks at once; None if it needs more."""
        parts: list[bytes] = []
        try:
            while not self._is_complete and (part := self._next(buffer)) is not None:
                parts.append(part)
        except Malformed as problem:
            raise h11.RemoteProtocolError(problem.text) from None
        if data := b"".join(parts):
            return h11.Data(data=data)
        return h11.EndOfMessage() if self._is_complete else None

    def _next(self, buffer: Any) -> bytes | None:
        if self._trailer_section is not None:
            return self._end(buffer, self._trailer_section)
        if self._left == 0:
            if self._expects_crlf:
                if len(buffer) < 2:
                    return None
                if buffer.maybe_extract_at_most(2) != b"\r\n":
                    raise Malformed(400, "a chunk does not end where it says")
                self._expects_crlf = False
            line = _line(buffer, CHUNK_LINE_LIMIT)
            if line is None:
                return None
            self._left = chunk_size(line)
            if self._left == 0:
                self._trailer_section = bytearray()
                return self._end(buffer, self._trailer_section)
            self._expects_crlf = True
        data: bytes | None = buffer.maybe_extract_at_most(self._left)
        if data is not None:
            self._left -= len(data)
        return data

    def _end(self, buffer: Any, section: bytearray) -> bytes | None:
        while (line := _line(buffer, HEAD_LIMIT - len(section))) is not None:
            if line:
                section += line + b"\r\n"
                continue
            self._trailers = [field for field in read_trailers(bytes(section)) if field[0].lower() not in _NO_TRAILERS]
            self._is_complete = True
            return b""
        return None

    def read_eof(self) -> NoReturn:
        """Raise, since the body is incomplete."""
        raise h11.RemoteProtocolError("the body broke off before its last chunk")

    def take_trailers(self) -> list[tuple[bytes, bytes]]:
        """Return the trailers, the first time."""
        trailers, self._trailers = self._trailers, []
        return trailers


def _line(buffer: Any, limit: int) -> bytes | None:
    """Return a line without its CR LF; None if it is incomplete."""
    line: bytearray | None = buffer.maybe_extract_next_line()
    if len(buffer if line is None else line) > limit:
        raise Malformed(400, "a line between chunks is too long")
    return bytes(line[:-2]) if line is not None else None
