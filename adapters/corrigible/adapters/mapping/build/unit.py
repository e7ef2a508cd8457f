"""The unit of a number or a time, as its name, its format or its description says it."""

from __future__ import annotations

import re
from typing import Final

from corrigible.adapters.mapping.operation import Field
from corrigible.adapters.mapping.words import name_words

_NAMES: Final = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "msec"), "milliseconds"),
    **dict.fromkeys(("second", "sec", "secs"), "seconds"),
    **dict.fromkeys(("minute", "mins"), "minutes"),
    **dict.fromkeys(("cent",), "cents"),
    **dict.fromkeys(("dollar", "euro", "usd", "eur"), "whole money"),
    **dict.fromkeys(("byte",), "bytes"),
    **dict.fromkeys(("kb", "kib"), "kilobytes"),
}
"""The last word of a name, without its ending, and the unit."""
_SAID: Final = (
    (re.compile(r"\bmilliseconds since\b", re.I), "unix milliseconds"),
    (re.compile(r"\bseconds since\b|\bunix time(?:stamp)?\b", re.I), "unix seconds"),
    (re.compile(r"\bin (?:milli-?seconds|ms)\b", re.I), "milliseconds"),
    (re.compile(r"\bin seconds\b", re.I), "seconds"),
    (re.compile(r"\bin minutes\b", re.I), "minutes"),
    (re.compile(r"\bin cents\b", re.I), "cents"),
    (re.compile(r"\bsmallest (?:currency )?unit\b|\bminor units?\b", re.I), "smallest unit of the currency"),
    (re.compile(r"\bin (?:US )?dollars\b|\bin euros\b|\bmajor units?\b", re.I), "whole money"),
    (re.compile(r"\bin bytes\b", re.I), "bytes"),
    (re.compile(r"\bin (?:kilobytes|KB|KiB)\b", re.I), "kilobytes"),
)
_FORMATS: Final = {"unix-time": "unix seconds", "date-time": "date-time", "date": "date"}
CONVERTED: Final = {
    ("milliseconds", "seconds"): "milliseconds to seconds",
    ("seconds", "milliseconds"): "seconds to milliseconds",
    ("unix milliseconds", "unix seconds"): "milliseconds to seconds",
    ("unix seconds", "unix milliseconds"): "seconds to milliseconds",
    ("minutes", "seconds"): "minutes to seconds",
    ("seconds", "minutes"): "seconds to minutes",
    ("cents", "whole money"): "hundredths to units",
    ("whole money", "cents"): "units to hundredths",
    ("unix seconds", "date-time"): "unix time to date-time",
    ("date-time", "unix seconds"): "date-time to unix time",
}
"""Of two units, the name of what converts one to the other without loss (`conversion.CONVERSIONS`)."""


def unit_of(field: Field) -> str:
    """Return the unit; empty where nothing tells it."""
    if field.format in _FORMATS:
        return _FORMATS[field.format]
    if field.type not in ("integer", "number", "") and not is_number_text(field):
        return ""
    words = name_words(field.name)
    if words and words[-1] in _NAMES:
        return _NAMES[words[-1]]
    return next((unit for pattern, unit in _SAID if pattern.search(field.description)), "")


def is_number_text(field: Field) -> bool:
    """Whether a number is written as text: 64 bits in proto-JSON."""
    return field.type == "string" and field.format in ("int64", "uint64")


def without_unit(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a name without the unit at its end."""
    return words[:-1] if len(words) > 1 and words[-1] in _NAMES else words


def unit_conversion(source: Field, target: Field) -> str | None:
    """Return what converts values of one field for another: empty for nothing, None where nothing can."""
    one, other = unit_of(source), unit_of(target)
    if one == other or not (one and other):
        return ""
    if is_number_text(source) or is_number_text(target):
        return None  # conversions of units take and give numbers
    return CONVERTED.get((one, other))
