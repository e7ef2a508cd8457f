"""An ASGI app that forwards to an API: what the middleware corrects where there is no proxy process.

Knows: requests and answers as ASGI messages. Does not know: feedback, tools.
"""

from __future__ import annotations

import httpx

from corrigible.proxy.asgi import Message, Receive, Scope, Send

_NOT_FORWARDED = frozenset({b"host", b"connection", b"transfer-encoding", b"content-length", b"accept-encoding"})
_NOT_RETURNED = frozenset({"connection", "transfer-encoding", "content-encoding", "content-length"})


class Upstream:
    """Sends each request to the host of a URL. The answer is read whole: a tool's result is text."""

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
        request = self._client.build_request(scope["method"], url, headers=headers, content=bytes(body) or None)
        response = await self._client.send(request)
        start: Message = {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": [
                (name.lower().encode("ascii"), value.encode("latin-1"))
                for name, value in response.headers.multi_items()
                if name.lower() not in _NOT_RETURNED
            ],
        }
        await send(start)
        await send({"type": "http.response.body", "body": response.content})
