"""Converts mitmproxy's messages to the corrector's message heads, and text to bytes.

Knows: mitmproxy's requests and responses, and their raw bytes. Does not know: hooks, sockets, rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from mitmproxy import http

from corrigible.proxy.http.messages import RequestHead, ResponseHead, text_of

TARGET = "corrigible.target"
"""In a flow's metadata: the request's target as the client sent it, if the upstream gets another one."""

# While Python's assertions are on, mitmproxy checks the type of each part of each message: a twelfth of the cost of a
# small exchange.
if __debug__:
    http.MessageData.__post_init__ = lambda self: None  # type: ignore[method-assign]


class FieldList(Sequence[tuple[str, str]]):
    """mitmproxy's header fields as text, decoded at the first access, which is rare."""

    __slots__ = ("_fields", "_text")

    def __init__(self, fields: tuple[tuple[bytes, bytes], ...]) -> None:
        self._fields = fields
        self._text: list[tuple[str, str]] | None = None

    def _decoded(self) -> list[tuple[str, str]]:
        if self._text is None:
            self._text = [(text_of(name), text_of(value)) for name, value in self._fields]
        return self._text

    def __reduce__(self) -> tuple[type[list[tuple[str, str]]], tuple[list[tuple[str, str]]]]:
        """Be a list in a worker, which has no mitmproxy."""
        return list, (self._decoded(),)

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
    """Return the response head as the upstream sent it."""
    data = response.data
    return ResponseHead(data.status_code, FieldList(data.headers.fields))
