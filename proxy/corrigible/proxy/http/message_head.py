"""What the head of an HTTP message may hold: field names, values and the parts of a request line, octet by octet.

Knows: RFC 9110, 9112 and 9113. Does not know: sockets, libraries, what a header means to us.

HTTP/2 can carry any octet in any part; HTTP/1.1 cannot, and what it cannot carry becomes another request there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Fields = Sequence[tuple[bytes, bytes]]

_TCHAR = rb"!#$%&'*+\-.^_`|~0-9a-z"
TOKEN = rb"[%sA-Z]++" % _TCHAR
"""RFC 9110 section 5.6.2."""
VALUE = rb"[\t\x20-\x7e\x80-\xff]*+"
"""RFC 9110 section 5.5: VCHAR, obs-text, SP, HTAB."""

_TOKEN = re.compile(TOKEN)
_LOWER_TOKEN = re.compile(rb"[%s]+" % _TCHAR)
_VALUE = re.compile(VALUE)
_PATH = re.compile(rb"/[!\"$-~\x80-\xff]*")
"""RFC 9113 section 8.3.1: the path and query parts of a URI, so no fragment; obs-text, as HTTP/1 has it."""
_AUTHORITY = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~%!$&'()*+,;=]+)(?::[0-9]{0,5})?")
"""RFC 3986 section 3.2, without user information (RFC 9110 section 4.2.4); the host of `http` is never empty."""
_STATUS = re.compile(rb"[1-9][0-9][0-9]")
_BLANKS = b" \t"

_CONNECTION_FIELDS = frozenset((b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"))
"""RFC 9113 section 8.2.2: a message that contains one is malformed."""

_REQUEST_PSEUDO = frozenset((b":method", b":scheme", b":authority", b":path"))


def is_authority(value: bytes) -> bool:
    """Whether this names a host, maybe with a port."""
    return _AUTHORITY.fullmatch(value) is not None


def request_fault(block: Fields, *, ends_stream: bool) -> str | None:
    """Say what makes an HTTP/2 request malformed, by its decoded header block. `ended`: nothing follows it."""
    pseudo: dict[bytes, bytes] = {}
    fault = _pseudo_fault(block, pseudo, _REQUEST_PSEUDO) or _fields_fault(block[len(pseudo) :])
    if fault is not None:
        return fault
    method, authority = pseudo.get(b":method"), pseudo.get(b":authority")
    if method is None or _TOKEN.fullmatch(method) is None:
        return ":method"
    if method == b"CONNECT":
        return "CONNECT"  # not offered inside HTTP/2, neither plain nor extended
    if pseudo.get(b":scheme") not in (b"http", b"https"):
        return ":scheme"
    path = pseudo.get(b":path", b"")
    if _PATH.fullmatch(path) is None and (path != b"*" or method != b"OPTIONS"):
        return ":path"
    if authority is not None and not is_authority(authority):
        return ":authority"
    for name, value in block:
        if name == b"host":
            # "A server SHOULD treat a request as malformed if it contains a Host header field that identifies an
            # entity that differs from the entity in the ":authority" pseudo-header field."
            if not is_authority(value) or (authority is not None and value.lower() != authority.lower()):
                return "host"
            authority = value
        elif name == b"te" and value.lower() != b"trailers":
            return "te"
    length = _lengths(block)
    if len(length) > 1 or not all(map(_is_length, length)) or (ends_stream and length and int(length[0])):
        return "content-length"
    return None


def response_fault(block: Fields, *, ends_stream: bool, bodiless: bool) -> str | None:
    """Say what makes an HTTP/2 response malformed. `bodiless`: a content-length is that of another answer (HEAD)."""
    pseudo: dict[bytes, bytes] = {}
    fault = _pseudo_fault(block, pseudo, (b":status",)) or _fields_fault(block[len(pseudo) :], blanks=True)
    if fault is not None:
        return fault
    status = pseudo.get(b":status", b"")
    if _STATUS.fullmatch(status) is None or status == b"101":  # RFC 9113 section 8.6
        return ":status"
    if status[:1] == b"1":
        return ":status" if ends_stream else None
    length = set(_lengths(block))
    if len(length) > 1 or not all(map(_is_length, length)):
        return "content-length"
    if ends_stream and not bodiless and status not in (b"204", b"304") and any(map(int, length)):
        return "content-length"
    return None


def trailer_fault(block: Fields, *, ends_stream: bool) -> str | None:
    """Say what makes HTTP/2 trailers malformed."""
    if not ends_stream:
        return "trailers that end nothing"
    return _fields_fault(block)


def without_blanks(block: Fields) -> list[tuple[bytes, bytes]]:
    """Return the fields without blanks around their values: those are no part of a value."""
    return [(name, value.strip(_BLANKS)) for name, value in block]


def size(block: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the size of a header list as RFC 9113 section 6.5.2 counts it."""
    return sum(len(name) + len(value) + 32 for name, value in block)


def _pseudo_fault(block: Fields, pseudo_headers: dict[bytes, bytes], allowed: Iterable[bytes]) -> str | None:
    for name, value in block:
        if name[:1] != b":":
            return None  # one after this is no field name
        if name not in allowed:
            return "unknown pseudo-header"
        if name in pseudo_headers:
            return f"second {name.decode()}"
        pseudo_headers[name] = value
    return None


def _fields_fault(fields: Fields, *, blanks: bool = False) -> str | None:
    for name, value in fields:
        if _LOWER_TOKEN.fullmatch(name) is None:
            return "field name"
        if _VALUE.fullmatch(value) is None:
            return "field value"
        if not blanks and value and (value[0] in _BLANKS or value[-1] in _BLANKS):
            return "blanks around a field value"
        if name in _CONNECTION_FIELDS:
            return name.decode()
    return None


def _lengths(block: Fields) -> list[bytes]:
    return [value for name, value in block if name == b"content-length"]


def _is_length(value: bytes) -> bool:
    return value.isdigit() and len(value) < 20
