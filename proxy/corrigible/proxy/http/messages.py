"""HTTP messages as front ends hand them over, and the answer they get back. No I/O.

Feedback that had no place in an answer, kept for who was refused: for a while, under a name that nobody can guess.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from corrigible.proxy.core.loop.detector import Loops
from corrigible.schema.carrier import TOKEN
from corrigible.schema.exchange import record

DOCUMENTS: Final = "/.well-known/recovery-feedback/"
"""Where it is fetched."""
SECONDS: Final = 600
OF_ONE: Final = 16
"""Documents of one caller: a further one takes the place of that caller's oldest."""
OF_ALL: Final = 2 << 20
"""Bytes of all documents. Beyond it nothing is kept: callers do not take each other's place."""
_LEAST: Final = 800
"""Bytes of a document beside its feedback: name, token, owner, and places in tables."""
_FAST: Final = 1
"""Level of compression."""
_BYTES: Final = 24
_READS: Final = frozenset({"GET", "HEAD"})


class Document(NamedTuple):
    """What one caller may fetch."""

    name: str
    owner: str
    """A digest of who was refused."""
    token: str
    """Who sends it needs no credentials. It stands in the answer, and in no path, which logs have."""
    compressed: bytes
    stored_at: float
    """Unix seconds."""

    @property
    def size(self) -> int:
        """Bytes that it takes, as they are counted."""
        return _LEAST + len(self.compressed)


class DocumentResponse(NamedTuple):
    """The answer that carries a document."""

    headers: list[tuple[str, str]]
    body: bytes
    """Empty for HEAD."""


class Documents:
    """What is kept at the moment."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        """Never leaves the process, but for the workers that are forked from it."""
        self._callers = Loops(hashlib.sha256(b"owner" + self._key).digest())
        self._kept: OrderedDict[str, Document] = OrderedDict()
        self._size = 0
        self._owned: dict[str, list[str]] = {}
        """Names by owner, the oldest first."""

    def __len__(self) -> int:
        return len(self._kept)

    def create(self, id: str, headers: Iterable[tuple[str, str]], peer: str, encoded: bytes, now: float) -> Document:
        """Return a document for who sent these headers. What stands in a log of exchanges does not tell its name."""
        name, token = (self._secret(f"{word}\0{id}\0{now}") for word in ("name", "token"))
        return Document(name, self._owner(headers, peer), token, zlib.compress(encoded, _FAST), now)

    def store(self, document: Document) -> None:
        """Keep it, where there is room."""
        while self._kept and next(iter(self._kept.values())).stored_at < document.stored_at - SECONDS:
            self._drop(next(iter(self._kept)))
        if document.name in self._kept:
            self._drop(document.name)
        owned = self._owned.get(document.owner)
        if owned is not None and len(owned) >= OF_ONE:
            self._drop(owned[0])
        if self._size + document.size <= OF_ALL:
            self._size += document.size
            self._kept[document.name] = document
            self._owned.setdefault(document.owner, []).append(document.name)

    def response_to(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], peer: str, now: float
    ) -> DocumentResponse | None:
        """Return the answer to a request for a document of that caller's own; None for every other request.

        Our clients send no credentials after a link, which anybody's answer may have, but the token of that link.
        """
        if method not in _READS or not target.startswith(DOCUMENTS):
            return None
        document = self._kept.get(target[len(DOCUMENTS) :])
        if document is None or not document.stored_at - SECONDS <= now <= document.stored_at + SECONDS:
            return None
        headers = list(headers)
        token = next((value for name, value in headers if name.lower() == TOKEN), "")
        shown = [(self._owner(headers, peer), document.owner), (token, document.token)]
        if not any([hmac.compare_digest(one.encode(), other.encode()) for one, other in shown]):
            return None
        encoded = zlib.decompress(document.compressed)
        fields = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(encoded))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        return DocumentResponse(fields, b"" if method == "HEAD" else encoded)

    def _secret(self, text: str) -> str:
        return base64.urlsafe_b64encode(hmac.digest(self._key, text.encode(), hashlib.sha256)[:_BYTES]).decode()

    def _owner(self, headers: Iterable[tuple[str, str]], peer: str) -> str:
        headers = list(headers)
        cookies = (value for name, value in headers if name.lower() == "cookie")
        # Any cookie may be somebody's.
        return self._callers.caller(headers) or self._secret("\0".join(("owner", peer, *cookies)))

    def _drop(self, name: str) -> None:
        document = self._kept.pop(name)
        self._size -= document.size
        owned = self._owned[document.owner]
        owned.remove(name)
        if not owned:
            del self._owned[document.owner]


Headers = Sequence[tuple[str, str]]


@record
class RequestHead:
    method: str
    target: str
    """Path and query as sent."""
    headers: Headers
    peer: str = ""
    """The address of who calls, without a port; empty where that is not known."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@record
class ResponseHead:
    status: int
    headers: Headers


@record
class HttpExchange:
    """One request and its answer, as they came over the wire."""

    request: RequestHead
    request_body: bytes = b""
    response: ResponseHead = ResponseHead(0, ())
    response_body: bytes = b""


@record
class Rewrite:
    """The answer as it goes out. The status never changes."""

    headers: list[tuple[str, str]]
    body: bytes
    document: Document | None = None
    """What the answer points to."""


def text_of(value: bytes) -> str:
    """Return bytes of a head as text, whatever they are: `bytes_of` gives them back."""
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return the bytes that a text of a head was made of."""
    return text.encode("utf-8", "surrogateescape")
