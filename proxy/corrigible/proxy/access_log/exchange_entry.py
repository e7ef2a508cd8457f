"""The entry of an exchange from what a corrector says about it: the same for each front end.

Knows: outcomes of corrections. Does not know: how exchanges are carried, who reads entries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from corrigible.proxy.core.corrector import Outcome
from corrigible.proxy.core.mode import Mode

from .entry import Entry

_OUTCOME_WORDS = {Mode.REFLECTIVE: "annotated", Mode.VERBOSE: "diagnosed", Mode.TRADITIONAL: "blanked"}


def with_outcome(entry: Entry, outcome: Outcome[Any] | None, *, reason: str | None = None) -> Entry:
    """Return the entry with what was decided. Without an outcome, `reason` says why there is none."""
    if outcome is None:
        return replace(entry, reason=reason)
    changed = outcome.rewrite is not None and entry.error is None
    return entry.decided(
        _OUTCOME_WORDS.get(outcome.mode, entry.outcome) if changed else entry.outcome,
        outcome.operation or None,
        tuple(outcome.rules),
        outcome.reason or None,
        entry.error or outcome.error,
        outcome.feedback,
    )
