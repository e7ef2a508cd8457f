"""Tokens as billed by a provider."""

from __future__ import annotations

from dataclasses import dataclass


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
