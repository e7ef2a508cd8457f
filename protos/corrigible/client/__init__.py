"""For programs that call APIs: explains the corrections in refused answers, and sends them where that is allowed."""

from __future__ import annotations

from .explanation import explain

__all__ = ["explain"]
