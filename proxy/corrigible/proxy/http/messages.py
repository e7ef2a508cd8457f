"""HTTP messages as front ends hand them over, and the answer they get back. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from corrigible.schema.exchange import record

from .feedback_store import Document

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
