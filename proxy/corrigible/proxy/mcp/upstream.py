"""An ASGI app that forwards to an API: what the middleware corrects where there is no proxy process.

Knows: requests and answers as ASGI messages, how much of one is read. Does not know: feedback, tools.
"""

from __future__ import annotations

import httpx

from corrigible.client.answer import MOST_BYTES
from corrigible.proxy.asgi import Message, Receive, Scope, Send

_NOT_FORWARDED = frozenset({b"host", b"connection", b"transfer-encoding", b"content-length", b"accept-encoding"})
_NOT_RETURNED = frozenset({"connection", "transfer-encoding", "content-length"})
_MOST_BYTES = 2 * MOST_BYTES
"""Of an answer, as it came: a tool reads half of that."""


class Upstream:
    """Sends each request to the host of a URL. An answer is passed on as it came, but not more of it than is read."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._url = httpx.URL(url)
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        target = (scope.get("raw_path") or scope["path"].encode()) + (
            b"?" + scope["query_string"] if scope.get("query_string") else b""
        )
        url = self._url.copy_with(raw_path=target)
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _NOT_FORWARDED]
        headers.append((b"accept-encoding", b"identity"))
        request = self._client.build_request(scope["method"], url, headers=headers, content=bytes(body) or None)
        response = await self._client.send(request, stream=True)
        try:
            start: Message = {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": [
                    (name.lower(), value)
                    for name, value in response.headers.raw
                    if name.decode("latin-1").lower() not in _NOT_RETURNED
                ],
            }
            await send(start)
            size = 0
            async for part in response.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
                size += len(part)
                if size > _MOST_BYTES:
                    break
        finally:
            await response.aclose()
        await send({"type": "http.response.body", "body": b""})
