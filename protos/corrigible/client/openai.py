"""OpenAI's tool calls, for chat completions: definitions for a request, results for an answer. See `agents`."""

from __future__ import annotations

from .agents import OPENAI

__all__ = ["definitions", "results"]

definitions = OPENAI.definitions
results = OPENAI.results
