"""OpenAI's tool calls: definitions for a request, messages for the calls in an answer.

answer = client.chat.completions.create(model=..., messages=messages, tools=definitions(toolset))
messages += [answer.choices[0].message, *results(toolset, answer.choices[0].message.tool_calls)]
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .toolset import ToolResult, Toolset

__all__ = ["definitions", "results"]


def definitions(toolset: Toolset) -> list[dict[str, Any]]:
    """Return the `tools` of a request for a chat completion."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in toolset.tools.values()
    ]


def results(toolset: Toolset, calls: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Do the calls of an answer and return a message for each, in order. A call is OpenAI's object or its JSON."""
    return [
        {"role": "tool", "tool_call_id": _of(call, "id"), "content": _called(toolset, call).text}
        for call in calls or ()
    ]


def _called(toolset: Toolset, call: Any) -> ToolResult:
    function = _of(call, "function")
    name = str(_of(function, "name"))
    try:
        arguments = json.loads(_of(function, "arguments") or "{}")
    except (ValueError, RecursionError) as problem:
        return ToolResult(f"The arguments of {name} are no JSON: {problem}.", is_error=True)
    if not isinstance(arguments, dict):
        return ToolResult(f"The arguments of {name} are no JSON object.", is_error=True)
    return toolset.call(name, arguments)


def _of(holder: Any, name: str) -> Any:
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)
