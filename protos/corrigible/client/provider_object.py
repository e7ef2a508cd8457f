"""Objects of the SDKs of model providers, which may also be given as their JSON.

Knows: attributes, members. Does not know: which provider.
"""

from __future__ import annotations

from typing import Any


def member_of(holder: Any, name: str) -> Any:
    """Return a member of an object of an SDK, or of its JSON."""
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)
