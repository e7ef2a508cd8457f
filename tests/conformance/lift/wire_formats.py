"""Wire formats of providers from their side: requests read as strictly as they do, answers written as they do.

Written from the public descriptions of the formats, apart from the code that is tested with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from corrigible.schema.exchange import Json

PATHS: Final = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "compatible": "/v1/chat/completions",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """What the model was told."""

    system: str
    turns: tuple[tuple[str, str], ...]
    """(user | assistant | tool, text); a tool call of the assistant is its arguments."""
    tools: tuple[str, ...]
    schema: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class Speaks:
    """What the model says: words, calls of tools with their arguments as text, and why it stopped."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    stop: str = ""
    """`length` or `refusal`; otherwise it follows."""


class Refused(Exception):
    """The provider does not take the request."""


# Anthropic: platform.claude.com/docs/en/api/messages


def _read_anthropic(headers: Mapping[str, str], document: Any) -> Heard:
    _need(headers.get("anthropic-version") == "2023-06-01", "anthropic-version: header is required")
    _only(document, "model max_tokens system messages temperature tools tool_choice output_config thinking metadata")
    _need(isinstance(document.get("max_tokens"), int), "max_tokens: Field required")
    turns: list[tuple[str, str]] = []
    open_calls: list[str] = []
    last = "assistant"
    for message in document["messages"]:
        role, content = message["role"], message["content"]
        _need(role in ("user", "assistant") and role != last, "messages: roles must alternate")
        last = role
        _need(bool(content), "messages: content must not be empty")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    _need(bool(block["text"].strip()), "messages: text content blocks must be non-empty")
                    _need(not (role == "user" and open_calls), "`tool_use` without `tool_result` right after")
                    turns.append((role, block["text"]))
                case "tool_use":
                    _need(isinstance(block["input"], dict), "tool_use.input: Input should be a valid dictionary")
                    open_calls.append(block["id"])
                    turns.append((role, json.dumps(block["input"])))
                case "tool_result":
                    _need(block["tool_use_id"] in open_calls, "unexpected `tool_use_id` in `tool_result`")
                    open_calls.remove(block["tool_use_id"])
                    turns.append(("tool", block["content"]))
                case kind:
                    raise Refused(f"messages: unexpected block {kind}")
    _need(not open_calls and last == "user", "`tool_use` ids were found without `tool_result` blocks")
    for tool in document.get("tools", ()):
        _need(tool["input_schema"]["type"] == "object", "tools: input_schema.type")
    shape = document.get("output_config", {}).get("format")
    _need(shape is None or set(shape) == {"type", "schema"}, "output_config.format: Extra inputs are not permitted")
    names = tuple(tool["name"] for tool in document.get("tools", ()))
    return Heard(document["system"], tuple(turns), names, _strict(shape["schema"]) if shape else None)


def _write_anthropic(said: Speaks, model: str, read: int, written: int, number: int) -> Json:
    content: list[Json] = [{"type": "text", "text": said.text}] if said.text else []
    for index, (name, text) in enumerate(said.calls):
        try:
            arguments: Json = json.loads(text)
        except ValueError:
            arguments = text  # what the real one never sends: a reader must not fall over it
        content.append({"type": "tool_use", "id": f"toolu_{number}{index}", "name": name, "input": arguments})
    stop = {"length": "max_tokens", "refusal": "refusal"}.get(said.stop, "tool_use" if said.calls else "end_turn")
    usage = {
        "input_tokens": read,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 7,
        "output_tokens": written,
        "service_tier": "standard",
    }
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


# OpenAI Chat Completions: platform.openai.com/docs/api-reference/chat


def _read_chat(headers: Mapping[str, str], document: Any) -> Heard:
    _only(
        document,
        "model messages max_completion_tokens max_tokens temperature seed tools tool_choice parallel_tool_calls"
        " response_format reasoning_effort",
    )
    turns: list[tuple[str, str]] = []
    open_calls: list[str] = []
    system = ""
    for message in document["messages"]:
        role = message["role"]
        if role != "tool":
            _need(not open_calls, "'tool_calls' must be followed by tool messages responding to each 'tool_call_id'")
        match role:
            case "system":
                system = message["content"]
            case "user":
                turns.append(("user", message["content"]))
            case "assistant":
                calls = message.get("tool_calls") or ()
                _need(isinstance(message["content"], str) or bool(calls), "content: expected a string")
                turns.append(("assistant", message["content"] or ""))
                for call in calls:
                    _need(call["type"] == "function", "tool_calls: type")
                    json.loads(call["function"]["arguments"])  # as chat templates do
                    open_calls.append(call["id"])
                    turns.append(("assistant", call["function"]["arguments"]))
            case "tool":
                _need(message["tool_call_id"] in open_calls, "tool message without its call")
                open_calls.remove(message["tool_call_id"])
                turns.append(("tool", message["content"]))
            case _:
                raise Refused(f"role {role}")
    _need(not open_calls, "'tool_calls' must be followed by tool messages")
    shape = document.get("response_format")
    _need(shape is None or shape["type"] == "json_schema", "response_format.type")
    held = shape["json_schema"] if shape else None
    _need(held is None or (held["strict"] is True and bool(held["name"])), "response_format.json_schema")
    names = tuple(tool["function"]["name"] for tool in document.get("tools", ()))
    return Heard(system, tuple(turns), names, _strict(held["schema"]) if held else None)


def _write_chat(said: Speaks, model: str, read: int, written: int, number: int) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.stop == "refusal":
        message |= {"content": None, "refusal": said.text or "no"}
    if said.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}{index}", "type": "function", "function": {"name": name, "arguments": text}}
            for index, (name, text) in enumerate(said.calls)
        ]
    finish = "length" if said.stop == "length" else "tool_calls" if said.calls else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


# OpenAI Responses: platform.openai.com/docs/api-reference/responses


def _read_responses(headers: Mapping[str, str], document: Any) -> Heard:
    _only(
        document,
        "model input instructions max_output_tokens temperature tools tool_choice parallel_tool_calls text store"
        " include",
    )
    turns: list[tuple[str, str]] = []
    open_calls: list[str] = []
    for item in document["input"]:
        match item.get("type", "message"):
            case "message":
                _need(item["role"] in ("user", "assistant"), "input: role")
                turns.append((item["role"], item["content"]))
            case "function_call":
                _need("id" not in item, "Item of type 'function_call' was provided without its required 'reasoning'")
                json.loads(item["arguments"])
                open_calls.append(item["call_id"])
                turns.append(("assistant", item["arguments"]))
            case "function_call_output":
                _need(item["call_id"] in open_calls, "No tool call found for function call output")
                open_calls.remove(item["call_id"])
                turns.append(("tool", item["output"]))
            case kind:
                raise Refused(f"input: type {kind}")
    _need(not open_calls, "No tool output found for function call")
    for tool in document.get("tools", ()):
        _need(tool["type"] == "function" and tool["strict"] is False, "tools: a strict schema closes its objects")
    shape = document.get("text", {}).get("format")
    _need(shape is None or set(shape) == {"type", "name", "strict", "schema"}, "text.format")
    names = tuple(tool["name"] for tool in document.get("tools", ()))
    return Heard(document["instructions"], tuple(turns), names, _strict(shape["schema"]) if shape else None)


def _write_responses(said: Speaks, model: str, read: int, written: int, number: int) -> Json:
    output: list[Json] = [{"type": "reasoning", "id": f"rs_{number}", "summary": []}]
    if said.text:
        part: Json = {"type": "output_text", "text": said.text, "annotations": []}
        if said.stop == "refusal":
            part = {"type": "refusal", "refusal": said.text}
        output.append(
            {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant", "content": [part]}
        )
    for index, (name, text) in enumerate(said.calls):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{number}{index}",
                "call_id": f"call_{number}{index}",
                "name": name,
                "arguments": text,
                "status": "completed",
            }
        )
    cut = said.stop == "length"
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "model": model,
        "output": output,
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 5},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }


FORMATS: Final = {
    "anthropic": (_read_anthropic, _write_anthropic),
    "openai": (_read_chat, _write_chat),
    "compatible": (_read_chat, _write_chat),
    "openai-responses": (_read_responses, _write_responses),
}


def _need(holds: bool, said: str) -> None:
    if not holds:
        raise Refused(said)


def _only(document: Mapping[str, Json], names: str) -> None:
    more = sorted(set(document) - set(names.split()))
    _need(not more, f"{', '.join(more)}: Extra inputs are not permitted")


def _strict(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Check what constrained decoding asks of a schema: objects are closed and all of their members required."""
    _need(schema["additionalProperties"] is False, "schema: additionalProperties must be false")
    _need(set(schema["required"]) == set(schema["properties"]), "schema: required must hold every property")
    return schema
