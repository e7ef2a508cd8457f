"""`--time-limit` and `--no-lookups`: the time of a correction. `--head-timeout` and the like: the time of peers."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import Final

from corrigible.proxy.core.limits import Limits, Timeouts

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


_MAX_TIMEOUT: Final = 86_400.0


def add_timeouts(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how long a side may keep the other one waiting."""
    whats = {
        "head": "for the head of a request",
        "idle": "without a byte of a request's body, and between two requests of a connection",
        "answer": "for the head of an answer (HTTP); an answer that has begun may be silent for as long as it likes",
    }
    for name, what in whats.items():
        parser.add_argument(
            f"--{name}-timeout",
            metavar="SECONDS",
            default=f"{getattr(Timeouts(), name):g}",
            help=f"seconds {what}; 0 is for ever; default: %(default)s",
        )


def timeouts_of(args: argparse.Namespace) -> Timeouts:
    """Return how long a side may keep the other one waiting. Raises UsageError."""
    return Timeouts(*(_timeout(one.name, getattr(args, f"{one.name}_timeout")) for one in fields(Timeouts)))


def _timeout(name: str, text: str | float) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not (seconds == 0 or 0.01 <= seconds <= _MAX_TIMEOUT):  # false for NaN as well
        raise UsageError(f"--{name}-timeout {text}: not a number of seconds up to {_MAX_TIMEOUT:.0f}, or 0")
    return seconds
