"""OpenAI's tool calls: definitions for a request, messages for the calls in an answer.

answer = client.chat.completions.create(model=..., messages=messages, tools=definitions(toolset))
messages += [answer.choices[0].message, *results(toolset, answer.choices[0].message.tool_calls)]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .provider_object import member_of
from .toolset import Toolset

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
        {"role": "tool", "tool_call_id": member_of(call, "id"), "content": _text(toolset, member_of(call, "function"))}
        for call in calls or ()
    ]


def _text(toolset: Toolset, function: Any) -> str:
    return toolset.call(str(member_of(function, "name")), member_of(function, "arguments") or {}).text
