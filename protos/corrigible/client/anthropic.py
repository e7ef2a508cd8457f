"""Anthropic's tool use, for messages: definitions for a request, results for an answer. See `agents`."""

from __future__ import annotations

from .agents import ANTHROPIC

__all__ = ["definitions", "results"]

definitions = ANTHROPIC.definitions
results = ANTHROPIC.results
