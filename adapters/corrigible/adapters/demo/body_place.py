"""How the demo services name a place in a body."""

from __future__ import annotations

from collections.abc import Sequence


def field(location: Sequence[int | str]) -> str:
    """Write a place in the body as the API does: `lines[2].quantity`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")
