"""A date, a month, a time of day or a moment in other writings that say exactly the same.

`2026-3` is `2026-03`, `9:05` is `09:05`, `2026-03-04T10:11:12+01:00` is `2026-03-04 10:11:12.000+0100`. Nothing is made
up: neither a zone, nor a time of day, nor seconds. Zeros are added, or taken from the end of a fraction, and the offset
stays. Only what begins with a year of four digits is read as a date: anything else may mean several days.

Knows: how moments are written. Does not know: schemas, requests, clocks.

Lengths of time that somebody wrote in words, as seconds and as Go writes them: `1 hour` is 3600, and `1h`.

Months and years have no length of their own, a number without a unit has no unit: of these nothing is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Final, NamedTuple

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
    if match is None:
        return None
    return int(match[1]) if match[1] else int(match[2]) * (60 if match[3] else 3600)


_DURATION: Final = re.compile(
    r"(\d{1,18}) ?(?i:s|secs?|seconds?)|(\d{1,6}) ?(?:(m|(?i:mins?|minutes?))|(?i:h|hours?))", re.ASCII
)
"""More digits of minutes and hours are no duration that anybody means."""


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


_DATE: Final = r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2}))?"
_TIME: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?)?"
_ZONE: Final = r"(?: ?(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?))?"
_MOMENT: Final = re.compile(rf"{_DATE}(?:(?P<joint>[Tt]| ){_TIME}{_ZONE})?", re.ASCII)
_OF_DAY: Final = re.compile(_TIME, re.ASCII)
_MARKS: Final = ("-", "/", ".")
_MOST_DIGITS: Final = 9
"""Of a fraction of a second."""


class Written(NamedTuple):
    """What a text says, whatever it is written like."""

    day: tuple[int, ...]
    """Year, month and day, or the first two of them, or nothing."""
    time: tuple[int, ...]
    """Hour, minute and second, or the first two of them, or nothing."""
    part: str
    """The fraction of a second, without zeros at its end."""
    offset: int | None
    """Minutes; None where no zone is said."""


class _Read(NamedTuple):
    """What a text says, with how it is written."""

    written: Written
    mark: str
    joint: str
    part: str
    zone: str


def is_same_moment(text: str, other: str) -> bool:
    """Whether two texts are writings of the same date or time."""
    told, said = _read(text), _read(other)
    return told is not None and said is not None and told.written == said.written


def rewritten(text: str, fits: Callable[[str], bool]) -> str:
    """Return the first writing of a text, the nearest to it first, that fits; empty where none does."""
    read = _read(text.strip())
    return "" if read is None else next((one for one in _writings(read) if one != text and fits(one)), "")


def _read(text: str) -> _Read | None:
    """Return what a text says if it is a date, a month, a time of day or a moment that there can be."""
    match = _MOMENT.fullmatch(text) or _OF_DAY.fullmatch(text)
    if match is None:
        return None
    told = match.groupdict()
    day = tuple(int(told[name]) for name in ("year", "month", "day") if told.get(name))
    time = tuple(int(told[name]) for name in ("hour", "minute", "second") if told.get(name))
    if (time and told.get("year") and len(day) < 3) or not _may_be(day, time):
        return None
    part, zone = told.get("part") or "", told.get("zone") or ""
    offset = _offset(zone)
    return _Read(
        Written(day, time, part.rstrip("0"), offset), told.get("mark") or "", told.get("joint") or "", part, zone
    )


def _may_be(day: tuple[int, ...], time: tuple[int, ...]) -> bool:
    try:
        if day:
            date(day[0], day[1], day[2] if len(day) > 2 else 1)
    except ValueError:
        return False
    return all(one < most for one, most in zip(time, (24, 60, 61), strict=False))


def _offset(zone: str) -> int | None:
    if not zone:
        return None
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:]) if zone not in "Zz" else 0
    return -minutes if zone[0] == "-" else minutes


def _writings(read: _Read) -> Iterator[str]:
    """Yield the writings of what was read, those with its own marks first."""
    day, time, _, _ = read.written
    for mark in dict.fromkeys((read.mark, *_MARKS)) if day else ("",):
        days = mark.join([f"{day[0]:04}", *(f"{one:02}" for one in day[1:])]) if day else ""
        for joint in dict.fromkeys((read.joint, "T", " ")) if day and time else ("",):
            for clock in _clocks(read) if time else ("",):
                for zone in _zones(read):
                    yield f"{days}{joint}{clock}{zone}"


def _clocks(read: _Read) -> Iterator[str]:
    time, digits = read.written.time, read.written.part
    plain = ":".join(f"{one:02}" for one in time)
    if len(time) < 3:
        yield plain
        return
    lengths = dict.fromkeys((len(read.part), *range(_MOST_DIGITS + 1)))
    yield from (f"{plain}.{digits.ljust(one, '0')}" if one else plain for one in lengths if one >= len(digits))


def _zones(read: _Read) -> Iterator[str]:
    offset = read.written.offset
    if offset is None:
        yield ""
        return
    sign, (hours, minutes) = "-" if offset < 0 else "+", divmod(abs(offset), 60)
    forms = [f"{sign}{hours:02}:{minutes:02}", f"{sign}{hours:02}{minutes:02}"]
    forms += [f"{sign}{hours:02}"] if not minutes else []
    forms += ["Z"] if not offset else []
    yield from dict.fromkeys((*([read.zone] if read.zone in forms else []), *forms))
