"""A conversation with a model, in no provider's words.

Knows: who said what, tools, billed tokens. Does not know: wire formats, APIs under test, HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from corrigible.schema.exchange import Json


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one answer, or of several together."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Of the input."""
    calls: int = 0
    """Requests on the wire, repeated ones included."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.calls + other.calls,
        )


Why = Literal["tool", "end", "length", "refusal"]
"""Why a model stopped: to call a tool, by itself, at the limit of tokens, because it (or a filter) would not."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may call."""

    name: str
    description: str
    schema: Mapping[str, Json]
    """JSON Schema of its arguments."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, as the model wrote it."""

    id: str
    name: str
    arguments: Mapping[str, Json] | None
    """None: what the model wrote is no JSON object."""
    text: str = ""
    """What it wrote, where it came as text."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    why: Why = "end"
    usage: Usage | None = None
    """As billed; None where the server says nothing of it: tokens are never estimated. `calls` is counted elsewhere."""
    raw: Json = None
    """The provider's own form, sent back as it came: reasoning may be signed or encrypted."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Told to the model by the harness."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """Said by the model."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call of a tool led to."""

    call: str
    text: str
    failed: bool = False
    """The call itself was wrong. A refusal by the API under test is no failure of the tool."""


Entry = UserMessage | ModelMessage | ToolResult


@dataclass(frozen=True, slots=True)
class Question:
    """All that a model is asked at once."""

    system: str
    entries: tuple[Entry, ...]
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, Json] | None = None
    """What the answer's text must be, as JSON Schema: decoding is constrained to it where the provider can."""
    schema_name: str = "answer"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Parameters of a request. None is not sent: newer models refuse to be told a temperature."""

    model: str
    max_tokens: int
    temperature: float | None = None
    seed: int | None = None
    extra: Mapping[str, Json] | None = None
    """Further members of the request, as the provider names them: reasoning effort and the like."""


PARALLEL: Final = "not carried out: one call at a time"


def _no_json(word: str) -> Json:
    raise ValueError(f"{word} is no JSON")


DECODER: Final = json.JSONDecoder(parse_constant=_no_json)
"""Knows no NaN: what cannot be written again is not read."""
