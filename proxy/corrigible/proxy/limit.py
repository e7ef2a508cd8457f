"""How far the proxy goes before it lets the native answer pass."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    body: int = 1 << 20
    """An error or request body larger than this is not looked at."""
    suggestions: int = 16
    feedback: int = 4096
    seconds: float = 0.25
    """For what is computed. What took longer is not sent, since something is wrong with it; it is known afterwards."""
    seconds_with_lookups: float = 1.0
    lookups: int = 8
    """Per exchange."""

    @classmethod
    def within(cls, seconds: float) -> Limits:
        """Return limits with which a caller waits that long at most, a quarter of it for what is computed."""
        return cls(seconds=seconds / 4, seconds_with_lookups=seconds)
