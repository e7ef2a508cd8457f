"""The two wire forms of OpenAI, as of 2025 (no version header), and what they have in common.

Pure: conversation to document, document to reply.

OpenAI's Chat Completions API: POST /v1/chat/completions, as of 2025 (no version header), and what is compatible.
Tools are functions without `strict` (bodies are free-form), structured output is `response_format` of type json_schema
with `strict`. OpenAI takes `max_completion_tokens`; the compatible ones (vLLM, Ollama, LM Studio, LiteLLM) know
`max_tokens`. Not streamed.

OpenAI's Responses API: POST /v1/responses, as of 2025 (no version header).
Stateless (`store: false`): the whole conversation is sent every time. Reasoning is sent back only where it came
encrypted, which a model must be asked for and not every model grants:
`extra: {include: [reasoning.encrypted_content]}`. Without its reasoning a call of a function goes back without its id,
since the API looks for the reasoning of a call that it knows. Structured output is `text.format` of type json_schema.
The API has no seed. Not streamed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from corrigible.schema.exchange import Json

from .conversation import DECODER, ModelMessage, Question, Reply, Sampling, Tool, ToolCall, Usage, UserMessage, Why


def options(question: Question, sampling: Sampling, function: Callable[[Tool], Json]) -> dict[str, Json]:
    """Return the members that say how to answer: temperature, and tools, each as `function` writes it."""
    members: dict[str, Json] = {}
    if sampling.temperature is not None:
        members["temperature"] = sampling.temperature
    if question.tools:
        members["tools"] = [function(tool) for tool in question.tools]
        members["tool_choice"] = "auto"
        members["parallel_tool_calls"] = False
    return members


def answer_format(name: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the form that an answer has to have."""
    return {"name": name, "strict": True, "schema": dict(schema)}


def called(identity: str, function: Mapping[str, Json]) -> ToolCall:
    """Read the call of a function, whose arguments are JSON in a string."""
    arguments_sent = function.get("arguments")
    text = (
        arguments_sent if isinstance(arguments_sent, str) else json.dumps(arguments_sent)
    )  # some servers send an object
    try:
        arguments = DECODER.decode(text) if text.strip() else {}
    except (ValueError, RecursionError):
        arguments = None
    argument_object = arguments if isinstance(arguments, dict) else None
    return ToolCall(identity, str(function["name"]), argument_object, text or "{}")


def billed(usage: Json, inputs: str, outputs: str, *, answer_may_lack: bool = False) -> Usage | None:
    """Read a bill whose tokens have these names. Raises KeyError where one lacks that must not."""
    if not isinstance(usage, Mapping):
        return None
    cached = int((usage.get(f"{inputs}_details") or {}).get("cached_tokens") or 0)
    answer = (usage.get(outputs) or 0) if answer_may_lack else usage[outputs]
    return Usage(int(usage[inputs]), int(answer), cached)


_WHY: Final[Mapping[str, Why]] = {
    "tool_calls": "tool",
    "function_call": "tool",
    "stop": "end",
    "length": "length",
    "content_filter": "refusal",
}


def headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def encode(question: Question, sampling: Sampling) -> dict[str, Json]:
    """Return the document to send to OpenAI."""
    return _document(question, sampling, "max_completion_tokens")


def encode_compatible(question: Question, sampling: Sampling) -> dict[str, Json]:
    """Return the document to send to a compatible server."""
    return _document(question, sampling, "max_tokens")


def _document(question: Question, sampling: Sampling, limit: str) -> dict[str, Json]:
    document: dict[str, Json] = {
        "model": sampling.model,
        limit: sampling.max_tokens,
        "messages": [{"role": "system", "content": question.system}, *_messages(question)],
    }
    document |= options(question, sampling, _function)
    if sampling.seed is not None:
        document["seed"] = sampling.seed
    if question.schema is not None:
        response_format = answer_format(question.schema_name, question.schema)
        document["response_format"] = {"type": "json_schema", "json_schema": response_format}
    return document | dict(sampling.extra or {})


def _function(tool: Tool) -> Json:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
    }


def _messages(question: Question) -> Iterable[Json]:
    for entry in question.entries:
        match entry:
            case UserMessage(text=text):
                yield {"role": "user", "content": text}
            case ModelMessage(reply=reply):
                yield _assistant_message(reply)
            case _:
                yield {"role": "tool", "tool_call_id": entry.call, "content": entry.text}


def _assistant_message(reply: Reply) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": reply.text or ("" if not reply.calls else None)}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                # Servers with chat templates parse this again, and fail on what a model wrote wrongly.
                "function": {"name": call.name, "arguments": call.text if call.arguments is not None else "{}"},
            }
            for call in reply.calls
        ]
    return message


def decode(document: Mapping[str, Json]) -> Reply:
    """Read an answer. Raises KeyError, IndexError, TypeError or ValueError where it is none."""
    choice = document["choices"][0]
    message = choice["message"]
    refusal = message.get("refusal")
    calls = tuple(called(str(tool_call["id"]), tool_call["function"]) for tool_call in message.get("tool_calls") or ())
    stop_reason = _WHY.get(str(choice.get("finish_reason")), "end")
    return Reply(
        text=str(refusal or message.get("content") or ""),
        calls=calls,
        why="refusal" if refusal else stop_reason,
        usage=billed(document.get("usage"), "prompt_tokens", "completion_tokens", answer_may_lack=True),
    )


def encode_responses(question: Question, sampling: Sampling) -> dict[str, Json]:
    """Return the document to send."""
    document: dict[str, Json] = {
        "model": sampling.model,
        "max_output_tokens": sampling.max_tokens,
        "instructions": question.system,
        "input": list(_items(question)),
        "store": False,
    }
    document |= options(question, sampling, _flat_function)
    if question.schema is not None:
        response_format = answer_format(question.schema_name, question.schema)
        document["text"] = {"format": {"type": "json_schema", **response_format}}
    return document | dict(sampling.extra or {})


def _flat_function(tool: Tool) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
        "strict": False,  # what is not said counts as true here
    }


def _items(question: Question) -> Iterable[Json]:
    for entry in question.entries:
        match entry:
            case UserMessage(text=text):
                yield {"role": "user", "content": text}
            case ModelMessage(reply=reply):
                yield from _reply_items(reply)
            case _:
                yield {"type": "function_call_output", "call_id": entry.call, "output": entry.text}


def _reply_items(reply: Reply) -> Iterable[Json]:
    malformed = {call.id for call in reply.calls if call.arguments is None}
    reasoned = False
    for item in reply.raw or ():
        match item.get("type"):
            case "reasoning" if item.get("encrypted_content"):
                reasoned = True
                yield item
            case "function_call":
                call_item = {name: item[name] for name in ("type", "call_id", "name", "arguments")}
                if item["call_id"] in malformed:
                    call_item["arguments"] = "{}"
                yield {**call_item, "id": item["id"]} if reasoned and "id" in item else call_item
            case "message":
                text = _text(item)
                if text:
                    yield {"role": "assistant", "content": text}


def decode_responses(document: Mapping[str, Json]) -> Reply:
    """Read an answer. Raises KeyError, TypeError or ValueError where it is none."""
    if (error := document.get("error")) is not None:
        raise ValueError(f"the response failed: {error}")
    output = [item for item in document["output"] if isinstance(item, Mapping)]
    calls = tuple(called(str(item["call_id"]), item) for item in output if item.get("type") == "function_call")
    messages = [item for item in output if item.get("type") == "message"]
    return Reply(
        text="\n".join(filter(None, map(_text, messages))),
        calls=calls,
        why=_stop_reason(document, messages, has_calls=bool(calls)),
        usage=billed(document.get("usage"), "input_tokens", "output_tokens"),
        raw=output,
    )


def _stop_reason(document: Mapping[str, Json], messages: Iterable[Mapping[str, Json]], *, has_calls: bool) -> Why:
    if document.get("status") == "incomplete":
        reason = (document.get("incomplete_details") or {}).get("reason")
        return "refusal" if reason == "content_filter" else "length"
    if any(part.get("type") == "refusal" for message in messages for part in message.get("content") or ()):
        return "refusal"
    return "tool" if has_calls else "end"


def _text(message: Mapping[str, Json]) -> str:
    parts = message.get("content") or ()
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
