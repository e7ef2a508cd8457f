"""OpenAI's Chat Completions API: POST /v1/chat/completions, as of 2025 (no version header), and what is compatible.

Tools are functions without `strict` (bodies are free-form), structured output is `response_format` of type json_schema
with `strict`. OpenAI takes `max_completion_tokens`; the compatible ones (vLLM, Ollama, LM Studio, LiteLLM) know
`max_tokens`. Not streamed.
Pure: conversation to document, document to reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from corrigible.schema.exchange import Json

from .conversation import ModelMessage, Question, Reply, Sampling, Tool, UserMessage, Why
from .openai import answer_format, billed, called, options

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
