"""Chunked bodies for mitmproxy's HTTP/1, in place of h11's reader.

Knows: the buffer and the events of h11. Does not know: connections, flows.

h11 0.14, which mitmproxy 11 pins, throws the two bytes behind a chunk away unseen (CVE-2025-43859): a server behind
that reads what stands there would see another request.
"""

from __future__ import annotations

from typing import Any, NoReturn

import h11

from corrigible.proxy.http.framing import CHUNK_LINE_LIMIT, HEAD_LIMIT, Malformed, chunk_size, read_trailers

_NO_TRAILERS = frozenset((b"content-length", b"transfer-encoding", b"host", b"trailer"))
"""RFC 9110 section 6.5.1: what frames or routes a message has no business behind it."""


class Chunks:
    """Reads a chunked body, and keeps what comes after it."""

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the present chunk that are still to come."""
        self._inside = False
        """Whether the CR LF behind a chunk is still to come."""
        self._behind: bytearray | None = None
        """The trailer section, once the last chunk has come."""
        self._over = False
        self._trailers: list[tuple[bytes, bytes]] = []

    def __call__(self, buffer: Any) -> h11.Data | h11.EndOfMessage | None:
        """Take what has come out of the buffer, many chunks at once; None where more has to come."""
        parts: list[bytes] = []
        try:
            while not self._over and (part := self._next(buffer)) is not None:
                parts.append(part)
        except Malformed as problem:
            raise h11.RemoteProtocolError(problem.text) from None
        if data := b"".join(parts):
            return h11.Data(data=data)
        return h11.EndOfMessage() if self._over else None

    def _next(self, buffer: Any) -> bytes | None:
        if self._behind is not None:
            return self._end(buffer, self._behind)
        if self._left == 0:
            if self._inside:
                if len(buffer) < 2:
                    return None
                if buffer.maybe_extract_at_most(2) != b"\r\n":
                    raise Malformed(400, "a chunk does not end where it says")
                self._inside = False
            line = _line(buffer, CHUNK_LINE_LIMIT)
            if line is None:
                return None
            self._left = chunk_size(line)
            if self._left == 0:
                self._behind = bytearray()
                return self._end(buffer, self._behind)
            self._inside = True
        data: bytes | None = buffer.maybe_extract_at_most(self._left)
        if data is not None:
            self._left -= len(data)
        return data

    def _end(self, buffer: Any, behind: bytearray) -> bytes | None:
        while (line := _line(buffer, HEAD_LIMIT - len(behind))) is not None:
            if line:
                behind += line + b"\r\n"
                continue
            self._trailers = [one for one in read_trailers(bytes(behind)) if one[0].lower() not in _NO_TRAILERS]
            self._over = True
            return b""
        return None

    def read_eof(self) -> NoReturn:
        """Say that the body broke off."""
        raise h11.RemoteProtocolError("the body broke off before its last chunk")

    def taken(self) -> list[tuple[bytes, bytes]]:
        """Return the trailers, once."""
        trailers, self._trailers = self._trailers, []
        return trailers


def _line(buffer: Any, limit: int) -> bytes | None:
    """Take a line without its CR LF; None where that is still to come."""
    line: bytearray | None = buffer.maybe_extract_next_line()
    if len(buffer if line is None else line) > limit:
        raise Malformed(400, "a line between chunks is too long")
    return bytes(line[:-2]) if line is not None else None
