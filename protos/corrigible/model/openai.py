"""What the two wire forms of OpenAI have in common. Pure: parts of documents, parts of replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from corrigible.schema.exchange import Json

from .conversation import DECODER, Question, Sampling, Tool, ToolCall
from .usage import Usage


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
