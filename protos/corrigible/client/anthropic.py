"""Anthropic's tool use: definitions for a request, result blocks for the calls in an answer.

answer = client.messages.create(model=..., messages=messages, tools=definitions(toolset))
messages += [{"role": "assistant", "content": answer.content}]
messages += [{"role": "user", "content": results(toolset, answer.content)}]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .provider_object import member_of
from .toolset import Toolset

__all__ = ["definitions", "results"]


def definitions(toolset: Toolset) -> list[dict[str, Any]]:
    """Return the `tools` of a request for a message."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in toolset.tools.values()
    ]


def results(toolset: Toolset, content: Iterable[Any]) -> list[dict[str, Any]]:
    """Do the calls among the blocks of an answer and return a `tool_result` for each. A block is an object or JSON."""
    blocks = []
    for block in content:
        if member_of(block, "type") != "tool_use":
            continue
        result = toolset.call(member_of(block, "name"), member_of(block, "input") or {})
        blocks.append(
            {
                "type": "tool_result",
                "tool_use_id": member_of(block, "id"),
                "content": result.text,
                "is_error": result.is_error,
            }
        )
    return blocks
