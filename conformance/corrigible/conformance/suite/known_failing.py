"""Checks that are expected to fail: each has a reason, is run, and must fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from corrigible.conformance.model.usage_error import UsageError, did_you_mean

from .check import Check
from .config import KnownFailing, load_known_failing
from .pattern import matches


def known_failing(argument: str) -> list[KnownFailing]:
    """Read `@FILE`, or `PATTERN=REASON`."""
    if argument.startswith("@"):
        return load_known_failing(Path(argument[1:]))
    pattern, _, reason = (part.strip() for part in argument.partition("="))
    if not pattern or len(reason) < 3:
        raise UsageError(
            f'--known-failing {argument}: say why it fails: "{pattern or "PATTERN"}=REASON", or give @FILE'
        )
    return [KnownFailing(check=pattern, reason=reason)]


def announced(known_failings: Iterable[KnownFailing], check: Check, profile: str) -> KnownFailing | None:
    """Return the first entry that means this check of this profile."""
    return next((entry for entry in known_failings if matches(entry.check, check, profile)), None)


def refuse_unmatched(known_failings: Iterable[KnownFailing], chosen: Sequence[tuple[str, Check]]) -> None:
    """Raise UsageError for entries that mean no check of this run: a list nobody prunes hides regressions."""
    stale = [
        entry for entry in known_failings if not any(matches(entry.check, check, profile) for profile, check in chosen)
    ]
    if stale:
        ids = {check.id for _, check in chosen}
        sentence = 'known-failing "{}" matches no check of this run{}'
        raise UsageError("\n".join(sentence.format(entry.check, did_you_mean(entry.check, ids)) for entry in stale))
