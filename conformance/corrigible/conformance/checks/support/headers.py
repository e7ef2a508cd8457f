"""Request headers that most checks send."""

from __future__ import annotations

from typing import Final

JSON: Final = ("Content-Type", "application/json")
ASK: Final = ("Prefer", "recovery-feedback=reflective")
"""Sent throughout: a proxy that was not asked for feedback has nothing to add anyway."""
