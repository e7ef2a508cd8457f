"""The operations of an API as tools in the words of model providers: definitions for a request, results for an answer.

    answer = client.chat.completions.create(model=..., messages=messages, tools=openai.definitions(toolset))
    messages += [answer.choices[0].message, *openai.results(toolset, answer.choices[0].message.tool_calls)]

    answer = client.messages.create(model=..., messages=messages, tools=anthropic.definitions(toolset))
    messages += [{"role": "assistant", "content": answer.content}]
    messages += [{"role": "user", "content": anthropic.results(toolset, answer.content)}]

Knows: how OpenAI and Anthropic write tools and calls, as objects of their SDKs or as JSON. Does not know: SDKs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from .tool import Tool
from .toolset import ToolResult, Toolset

__all__ = ["ANTHROPIC", "OPENAI", "Provider"]


@dataclass(frozen=True, slots=True)
class Provider:
    """The words of one provider."""

    definition: Callable[[Tool], dict[str, Any]]
    call: Callable[[Any], tuple[Any, Any] | None]
    """Name and arguments of a call; None for a part of an answer that is no call."""
    result: Callable[[Any, ToolResult], dict[str, Any]]

    def definitions(self, toolset: Toolset) -> list[dict[str, Any]]:
        """Return the `tools` of a request."""
        return [self.definition(tool) for tool in toolset.tools.values()]

    def results(self, toolset: Toolset, parts: Iterable[Any] | None) -> list[dict[str, Any]]:
        """Do the calls of an answer and return what to send back for each, in order."""
        called = ((part, self.call(part)) for part in parts or ())
        return [
            self.result(part, toolset.call(str(call[0]), call[1] or {})) for part, call in called if call is not None
        ]


def _of_block(block: Any) -> tuple[Any, Any] | None:
    return (_member(block, "name"), _member(block, "input")) if _member(block, "type") == "tool_use" else None


def _of_function(call: Any) -> tuple[Any, Any]:
    function = _member(call, "function")
    return _member(function, "name"), _member(function, "arguments")


def _member(holder: Any, name: str) -> Any:
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)


OPENAI: Final = Provider(
    lambda tool: {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    },
    _of_function,
    lambda call, result: {"role": "tool", "tool_call_id": _member(call, "id"), "content": result.text},
)
"""Chat completions: `results` takes the `tool_calls` of a message and returns messages."""
ANTHROPIC: Final = Provider(
    lambda tool: {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema},
    _of_block,
    lambda block, result: {
        "type": "tool_result",
        "tool_use_id": _member(block, "id"),
        "content": result.text,
        "is_error": result.is_error,
    },
)
"""Messages: `results` takes the blocks of an answer and returns those of the user's message."""
