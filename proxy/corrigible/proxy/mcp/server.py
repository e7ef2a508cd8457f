"""A server of the Model Context Protocol that offers an API's operations as tools.

A refused call is a result with `isError` and a correction as text, which the model sees (SEP-1303); protocol errors,
which it does not see, are for unknown methods only.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from corrigible.client.toolset import Toolset

from .relay import META


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
        meta: Any = {META: toolset.without_credentials(feedback.document())} if feedback is not None else None
        content: list[Any] = [types.TextContent(type="text", text=result.text)]
        return types.CallToolResult(content=content, is_error=result.is_error, _meta=meta)

    return Server(name, version=version("corrigible"), on_list_tools=list_tools, on_call_tool=call_tool)


async def serve(toolset: Toolset, name: str) -> None:
    """Serve on standard input and output until the client is gone."""
    server = mcp_server(toolset, name)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
