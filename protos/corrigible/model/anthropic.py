"""Anthropic's Messages API: POST /v1/messages, header `anthropic-version: 2023-06-01`.

Structured output is `output_config.format` of type json_schema (generally available since the 4.5 models; the older
`output_format` with a beta header is not used). Not streamed. Input tokens are those billed at any rate: fresh, written
to a cache, read from one.
Pure: conversation to document, document to reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from corrigible.schema.exchange import Json

from .conversation import ModelMessage, Question, Reply, Sampling, ToolCall, ToolResult, Usage, UserMessage, Why

_WHY: Final[Mapping[str, Why]] = {
    "tool_use": "tool",
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}


def encode(question: Question, sampling: Sampling) -> dict[str, Json]:
    """Return the document to send. The API has no seed."""
    document: dict[str, Json] = {
        "model": sampling.model,
        "max_tokens": sampling.max_tokens,
        "system": question.system,
        "messages": _messages(question),
    }
    if sampling.temperature is not None:
        document["temperature"] = sampling.temperature
    if question.tools:
        document["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in question.tools
        ]
        # Not `any`: a forced choice is refused while a model thinks.
        document["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    if question.schema is not None:
        document["output_config"] = {"format": {"type": "json_schema", "schema": dict(question.schema)}}
    return document | dict(sampling.extra or {})


def _messages(question: Question) -> list[Json]:
    """Return messages whose roles alternate: results of tools come first in the message of the user."""
    messages: list[dict[str, Json]] = []
    for entry in question.entries:
        match entry:
            case ModelMessage(reply=reply):
                blocks = [block for block in map(_echoed, reply.raw or ()) if block is not None]
                messages.append({"role": "assistant", "content": blocks or [_text("(nothing)")]})
                continue
            case UserMessage(text=text):
                block = _text(text)
            case ToolResult():
                block = {"type": "tool_result", "tool_use_id": entry.call, "content": entry.text}
                if entry.failed:
                    block["is_error"] = True
        if not messages or messages[-1]["role"] != "user":
            messages.append({"role": "user", "content": []})
        messages[-1]["content"].append(block)
    return list(messages)


def _echoed(block: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return a block as it may be sent back: empty texts and inputs that are no objects are not taken."""
    match block.get("type"):
        case "text" if not block["text"].strip():
            return None
        case "tool_use" if not isinstance(block["input"], Mapping):
            return {**block, "input": {}}
        case _:
            return block


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def decode(document: Mapping[str, Json]) -> Reply:
    """Read an answer. Raises KeyError, TypeError or ValueError where it is none."""
    content = document["content"]
    blocks = [block for block in content if isinstance(block, Mapping)]
    return Reply(
        text="\n".join(str(block["text"]) for block in blocks if block.get("type") == "text"),
        calls=tuple(_calls(blocks)),
        why=_WHY.get(str(document["stop_reason"]), "end"),
        usage=_usage(document.get("usage")),
        raw=blocks,
    )


def _calls(blocks: Iterable[Mapping[str, Json]]) -> Iterable[ToolCall]:
    for block in blocks:
        if block.get("type") == "tool_use":
            arguments = block["input"]
            yield ToolCall(
                id=str(block["id"]),
                name=str(block["name"]),
                arguments=arguments if isinstance(arguments, Mapping) else None,
                text="" if isinstance(arguments, Mapping) else str(arguments),
            )


def _usage(usage: Json) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    cached = int(usage.get("cache_read_input_tokens") or 0)
    cache_written = int(usage.get("cache_creation_input_tokens") or 0)
    return Usage(int(usage["input_tokens"]) + cached + cache_written, int(usage["output_tokens"]), cached)
