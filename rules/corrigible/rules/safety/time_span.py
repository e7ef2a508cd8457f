"""Lengths of time that somebody wrote in words, as seconds and as Go writes them: `1 hour` is 3600, and `1h`.

Months and years have no length of their own, a number without a unit has no unit: of these nothing is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.schema.exchange import Json

from .nearness import split_words

GO_DURATION: Final = r"^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$"
"""The pattern of what Go's `time.ParseDuration` reads."""
_DAYS: Final = re.compile(r"(\d{1,6}) ?d(?:ays?)?", re.ASCII | re.IGNORECASE)
_A_DAY: Final = 86_400
_UNITS: Final = ((3600, "h"), (60, "m"), (1, "s"))
_OF_SECONDS: Final = frozenset({"seconds", "second", "secs", "sec"})
"""A format, or the last word of a name, that says in which unit a number is."""


def span(value: Json) -> int | None:
    """Return the seconds that a text such as `90 min`, `2h` or `7 days` says; None for anything else.

    A day counts 24 hours, as in all that counts time in seconds.
    """
    days = _DAYS.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(days[1]) * _A_DAY if days is not None else clock_span(value)


def clock_span(value: Json) -> int | None:
    """Return the seconds that a text in seconds, minutes or hours says; a capital `M` is no sign of minutes."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[0].endswith(_MONTHS_OR_MEGA):
        return None
    digits = match[1]
    if match[2]:
        return int(digits)
    return int(digits) * (60 if match[3] else 3600) if len(digits) <= _LONGEST else None


_DURATION: Final = re.compile(
    r"(\d{1,18}) ?(?:(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hours?))", re.ASCII | re.IGNORECASE
)
_MONTHS_OR_MEGA: Final = "M"
_LONGEST: Final = 6
"""Digits of minutes and hours: more are no duration that anybody means."""


def go_duration(value: Json) -> str | None:
    """Return a length of time as Go reads it, in the largest unit that it is a whole number of."""
    length = span(value)
    if length is None:
        return None
    unit, sign = next((unit, sign) for unit, sign in _UNITS if length % unit == 0)
    return f"{length // unit}{sign}"


def counts_seconds(name: str, schema: Mapping[str, Json]) -> bool:
    """Whether a number at a place is one of seconds, by its format or its name."""
    return schema.get("format") in _OF_SECONDS or not _OF_SECONDS.isdisjoint(split_words(name)[-1:])
