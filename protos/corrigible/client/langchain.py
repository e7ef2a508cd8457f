"""LangChain: the operations of an API as tools, whose errors are corrections that a model can follow.

agent = create_agent(model, tools=langchain_tools(Toolset(description, "http://127.0.0.1:8080")))
"""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from .toolset import ToolResult, Toolset

__all__ = ["langchain_tools"]


def langchain_tools(toolset: Toolset) -> list[BaseTool]:
    """Return a tool for each operation. A refused call becomes a tool message with the status `error`."""
    return [_tool(toolset, name) for name in toolset.tools]


def _tool(toolset: Toolset, name: str) -> BaseTool:
    def call(**arguments: Any) -> str:
        return _text(toolset.call(name, arguments))

    async def acall(**arguments: Any) -> str:
        return _text(await toolset.acall(name, arguments))

    tool = toolset.tools[name]
    return StructuredTool(
        name=name,
        description=tool.description,
        args_schema=tool.input_schema,
        func=call,
        coroutine=acall,
        handle_tool_error=True,
    )


def _text(result: ToolResult) -> str:
    if result.is_error:
        raise ToolException(result.text)
    return result.text
