"""An ASGI app that forwards to an API: what the middleware corrects where there is no proxy process.

Knows: requests and answers as ASGI messages, how much of one is read. Does not know: feedback, tools.

A server of the Model Context Protocol that offers an API's operations as tools.

A refused call is a result with `isError` and a correction as text, which the model sees (SEP-1303); protocol errors,
which it does not see, are for unknown methods only.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

import httpx
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from corrigible.client.answer import MOST_BYTES
from corrigible.client.toolset import Toolset
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


FEEDBACK: Final = "corrigible/recovery_feedback"
"""The member of a result's `_meta` with the feedback as JSON: for clients, not for the model."""


def mcp_server(toolset: Toolset, name: str) -> Server[Any]:
    """Return a server with a tool for each operation."""

    async def list_tools(context: Any, parameters: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.input_schema,
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.method == "GET",
                        # "If false, the tool performs only additive updates": no description says that of a write.
                        destructive_hint=tool.method != "GET",
                        idempotent_hint=tool.method in ("GET", "PUT", "DELETE"),
                    ),
                )
                for tool in toolset.tools.values()
            ]
        )

    async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        result = await toolset.acall(parameters.name, parameters.arguments or {})
        feedback = result.feedback
        meta: Any = {FEEDBACK: toolset.without_credentials(feedback.document())} if feedback is not None else None
        content: list[Any] = [types.TextContent(type="text", text=result.text)]
        return types.CallToolResult(content=content, is_error=result.is_error, _meta=meta)

    return Server(name, version=version("corrigible"), on_list_tools=list_tools, on_call_tool=call_tool)


async def serve(toolset: Toolset, name: str) -> None:
    """Serve on standard input and output until the client is gone."""
    server = mcp_server(toolset, name)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
