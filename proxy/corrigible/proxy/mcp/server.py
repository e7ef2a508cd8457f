"""A server of the Model Context Protocol that offers an API's operations as tools.

A refused call is a result with `isError` and a correction as text, which the model sees (SEP-1303); protocol errors,
which it does not see, are for unknown methods only.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from uuid import uuid4

import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from corrigible.client.toolset import Toolset
from corrigible.rules.pointer import segments, to_pointer

from .for_client import FAILURE, Object, Questions, answered, failure, result_of, wishes_of
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

    questions = Questions()

    async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> Any:
        params, question = dict(context.params or {}), None
        if "requestState" in params:
            question = questions.resumed(params)
            params = answered(question, params)
            if question is not None and params is None:
                return question.answer
        result = await toolset.acall(parameters.name, params.get("arguments") or {})
        told: dict[str, Any] = {**result_of(result.text), "isError": result.is_error}
        if result.feedback is None:
            return told
        feedback: Any = toolset.without_credentials(result.feedback.document())
        told["_meta"] = {META: feedback, FAILURE: failure(feedback, uuid4().hex)}
        if question is not None or not wishes_of(params).questions:
            return told
        tool = toolset.tools[parameters.name]
        return questions.ask(params, _of_arguments(tool, feedback), told, tool.input_schema) or told

    return Server(name, version=version("corrigible"), on_list_tools=list_tools, on_call_tool=call_tool)


def _of_arguments(tool: Any, feedback: Object) -> dict[str, Any]:
    """Return feedback whose questions are about the arguments of a call, not about the request that it makes."""

    def placed(asked: Object) -> dict[str, Any]:
        place, *names = segments(asked["pointer"])
        inside = {one.name: one.argument for one in tool.parameters if f"{one.place}s".startswith(place)}
        if place == "body":
            names = [place, *names]
        elif names and names[0] in inside:
            names[0] = inside[names[0]]
        else:
            return dict(asked)
        return {**asked, "pointer": to_pointer(["body", "params", "arguments", *names])}

    suggestions = [
        {**one, "placeholders": list(map(placed, one.get("placeholders") or ()))} for one in feedback["suggestions"]
    ]
    return {**feedback, "suggestions": suggestions}


async def serve(toolset: Toolset, name: str) -> None:
    """Serve on standard input and output until the client is gone."""
    server = mcp_server(toolset, name)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
