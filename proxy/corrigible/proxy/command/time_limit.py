"""`--time-limit` and `--no-lookups`: what a correction may take."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from corrigible.proxy.core.limits import Limits

from .usage_error import UsageError

_MAX_TIME_LIMIT: Final = 3600.0
"""Seconds. A larger number was probably meant as milliseconds."""


def limits_of(text: str | float, *, is_looking_up: bool) -> Limits:
    """Return the limits with `--time-limit`. Raises UsageError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _MAX_TIME_LIMIT:  # false for NaN as well
        raise UsageError(f"--time-limit {text}: not a number of seconds above 0, at most {_MAX_TIME_LIMIT:.0f}")
    limits = Limits.within(seconds)
    return limits if is_looking_up else replace(limits, lookups=0)
