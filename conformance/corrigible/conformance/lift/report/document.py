"""The summary as JSON, for programs."""

from __future__ import annotations

import json

from .summary import Summary


def render(summary: Summary) -> str:
    """Return the document. Two logs that differ in times only give the same figures."""
    return json.dumps(summary.document(), indent=1, ensure_ascii=False) + "\n"
