"""mitmproxy's messages as the corrector sees them, and what it made of them as mitmproxy sends it.

Knows: mitmproxy's requests and answers, and their raw bytes. Does not know: hooks, sockets, rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from mitmproxy import http

from corrigible.proxy.http.digest_headers import DIGESTS
from corrigible.proxy.http.messages import RequestHead, ResponseHead, bytes_of, text_of

TARGET = "corrigible.target"
"""In a flow's metadata: the request's target as the client sent it, where the upstream gets another one."""

# mitmproxy checks the type of each part of each message while Python's own assertions are on: a twelfth of what a small
# exchange costs.
if __debug__:
    http.MessageData.__post_init__ = lambda self: None  # type: ignore[method-assign]

_VOUCHING = frozenset((b"etag", *(name.encode() for name in DIGESTS)))


class FieldList(Sequence[tuple[str, str]]):
    """mitmproxy's header fields as text, decoded only when somebody looks: mostly nobody does."""

    __slots__ = ("_fields", "_text")

    def __init__(self, fields: tuple[tuple[bytes, bytes], ...]) -> None:
        self._fields = fields
        self._text: list[tuple[str, str]] | None = None

    def _decoded(self) -> list[tuple[str, str]]:
        if self._text is None:
            self._text = [(text_of(name), text_of(value)) for name, value in self._fields]
        return self._text

    def __len__(self) -> int:
        return len(self._fields)

    @overload
    def __getitem__(self, index: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, str]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, str] | list[tuple[str, str]]:
        return self._decoded()[index]


def request_head(flow: http.HTTPFlow) -> RequestHead:
    """Return the request as the client sent it."""
    data = flow.request.data
    target = flow.metadata.get(TARGET) or text_of(data.path)
    peer = flow.client_conn.peername
    return RequestHead(text_of(data.method), target, FieldList(data.headers.fields), str(peer[0]) if peer else "")


def response_head(response: http.Response) -> ResponseHead:
    """Return the answer's head as the upstream sent it."""
    data = response.data
    return ResponseHead(data.status_code, FieldList(data.headers.fields))


def length_and_kind(response: http.Response) -> tuple[int | None, bool]:
    """Return the declared length, and whether this is an event stream. A length beside a coding goes.

    RFC 9112 section 6.3: a sender MUST remove the received Content-Length field prior to forwarding such a
    message.
    """
    length: int | None = None
    coded = events = False
    fields = response.data.headers.fields
    for name, value in fields:
        match name.lower():
            case b"content-length":
                length = int(value) if value.isdigit() else None
            case b"transfer-encoding":
                coded = True
            case b"content-type":
                events = value[:17].lower() == b"text/event-stream"
    if coded and length is not None:
        response.data.headers.fields = tuple(f for f in fields if f[0].lower() != b"content-length")
        length = None
    return length, events


def keep_trailers(request: http.Request, response: http.Response) -> bool:
    """Take out of the trailers what vouches for a body that is no more. Returns whether the others need chunks."""
    if response.trailers is None:
        return False
    kept = [field for field in response.trailers.fields if field[0].lower() not in _VOUCHING]
    response.trailers = http.Headers(kept) if kept else None
    return bool(kept) and request.data.http_version == response.data.http_version == b"HTTP/1.1"


def framed(headers: Sequence[tuple[str, str]], body: bytes, *, chunked: bool) -> http.Headers:
    """Return headers that frame exactly this body."""
    fields: list[tuple[bytes, bytes]] = []
    framed = False
    for name, value in headers:
        match name.lower():
            case "transfer-encoding":
                continue
            case "content-length" if chunked:
                continue
            case "content-length":
                if not framed:
                    fields.append((bytes_of(name), b"%d" % len(body)))
                    framed = True
            case _:
                fields.append((bytes_of(name), bytes_of(value)))
    if chunked:
        fields.append((b"Transfer-Encoding", b"chunked"))
    elif not framed:
        fields.append((b"Content-Length", b"%d" % len(body)))
    return http.Headers(fields)
