"""References of an answer to the API's own address, as relative ones: a caller that follows them stays with the proxy.

The proxy sends the API's own `Host` (as every reverse proxy does that is not told otherwise), so the API writes that
address into its redirects. A caller that follows one leaves the proxy, and clients drop credentials on the way to
another address: a call that works without the proxy would fail. A relative reference (RFC 9110 section 10.2.2) means
the same place below the address that the caller used, whatever stands in between.

Knows: header fields, URLs. Does not know: sockets, where the proxy listens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

Fields = tuple[tuple[bytes, bytes], ...]

_URL: Final = re.compile(rb"(?i)(?P<scheme>https?)://(?P<authority>[^/?#\s<>\\@]+)(?P<rest>(?:[/?#][^\s<>]*)?)")
_LINKED: Final = re.compile(rb"<([^<>]*)>")
_PORTS: Final = {b"http": b":80", b"https": b":443"}
_PLACES: Final = frozenset({b"location", b"content-location"})
_NOT_MODIFIED: Final = 304


class Rewritten(StrEnum):
    """In which answers references to the API's own address become relative."""

    REDIRECTS = "redirects"
    """`Location` of redirects. Successes stay as they are."""
    ALL = "all"
    """`Location`, `Content-Location` and the targets of `Link` in every answer."""
    NONE = "none"


class OwnLocation:
    """Makes references to one API's own address relative."""

    def __init__(self, upstream: str, rewritten: Rewritten = Rewritten.REDIRECTS, prefix: str = "") -> None:
        """`upstream` is the API's `scheme://host[:port]`; `prefix` is what callers have before each path."""
        self._prefix = prefix.encode()
        self._is_all = rewritten is Rewritten.ALL
        match = _URL.fullmatch(upstream.encode())
        self._origin = None if match is None or rewritten is Rewritten.NONE else _origin(match)

    def rewritten(self, status: int, fields: Fields) -> Fields:
        """Return the header fields of an answer; the very same ones where nothing changes."""
        is_redirect = 300 <= status < 400 and status != _NOT_MODIFIED
        if self._origin is None or not (is_redirect or self._is_all):
            return fields
        out = tuple(self._fields(fields))
        return fields if out == fields else out

    def _fields(self, fields: Fields) -> Iterable[tuple[bytes, bytes]]:
        for name, value in fields:
            low = name.lower()
            if low == b"location" or (self._is_all and low in _PLACES):
                yield name, self._relative(value)
            elif self._is_all and low == b"link":
                yield name, _LINKED.sub(lambda match: b"<" + self._relative(match[1]) + b">", value)
            else:
                yield name, value

    def _relative(self, reference: bytes) -> bytes:
        if self._prefix and reference.startswith(b"/") and not reference.startswith((b"//", b"/\\")):
            return self._prefix + reference
        match = _URL.fullmatch(reference)
        if match is None or _origin(match) != self._origin:
            return reference
        rest = match["rest"]
        if rest.startswith((b"//", b"/\\")):
            return reference  # a relative one would name another host (RFC 3986 section 4.2)
        return self._prefix + (rest if rest.startswith(b"/") else b"/" + rest)


def _origin(match: re.Match[bytes]) -> tuple[bytes, bytes]:
    """Return scheme and authority as RFC 6454 section 4 compares them."""
    scheme = match["scheme"].lower()
    return scheme, match["authority"].lower().removesuffix(_PORTS[scheme])
