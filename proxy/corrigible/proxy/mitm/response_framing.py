"""The framing of responses: what the upstream declared, and what a rewritten body needs.

Knows: mitmproxy's responses and their header fields. Does not know: hooks, sockets, rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from mitmproxy import http

from corrigible.proxy.http.digest_headers import DIGESTS
from corrigible.proxy.http.messages import Rewrite, bytes_of

_DIGESTS = frozenset((b"etag", *(name.encode() for name in DIGESTS)))


def length_and_kind(response: http.Response) -> tuple[int | None, bool]:
    """Return the declared length, and whether this is an event stream. Drop a length beside a transfer coding.

    RFC 9112 section 6.3: a sender MUST remove the received Content-Length field prior to forwarding such a
    message.
    """
    length: int | None = None
    has_coding = is_event_stream = False
    fields = response.data.headers.fields
    for name, value in fields:
        match name.lower():
            case b"content-length":
                length = int(value) if value.isdigit() else None
            case b"transfer-encoding":
                has_coding = True
            case b"content-type":
                is_event_stream = value[:17].lower() == b"text/event-stream"
    if has_coding and length is not None:
        response.data.headers.fields = tuple(field for field in fields if field[0].lower() != b"content-length")
        length = None
    return length, is_event_stream


def rewrite_response(request: http.Request, response: http.Response, rewrite: Rewrite) -> None:
    """Replace headers and body of a response, with framing for the new body."""
    chunked = _drop_digest_trailers(request, response)
    response.headers = _framed_headers(rewrite.headers, rewrite.body, chunked=chunked)
    response.raw_content = rewrite.body


def _drop_digest_trailers(request: http.Request, response: http.Response) -> bool:
    """Drop trailers with digests of the old body. Return whether the other trailers need a chunked body."""
    if response.trailers is None:
        return False
    fields = [field for field in response.trailers.fields if field[0].lower() not in _DIGESTS]
    response.trailers = http.Headers(fields) if fields else None
    return bool(fields) and request.data.http_version == response.data.http_version == b"HTTP/1.1"


def _framed_headers(headers: Sequence[tuple[str, str]], body: bytes, *, chunked: bool) -> http.Headers:
    """Return the headers with the framing of this body."""
    fields: list[tuple[bytes, bytes]] = []
    has_length = False
    for name, value in headers:
        match name.lower():
            case "transfer-encoding":
                continue
            case "content-length" if chunked:
                continue
            case "content-length":
                if not has_length:
                    fields.append((bytes_of(name), b"%d" % len(body)))
                    has_length = True
            case _:
                fields.append((bytes_of(name), bytes_of(value)))
    if chunked:
        fields.append((b"Transfer-Encoding", b"chunked"))
    elif not has_length:
        fields.append((b"Content-Length", b"%d" % len(body)))
    return http.Headers(fields)
