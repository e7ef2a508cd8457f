"""Conversions of values between mapped fields. Each loses nothing of the values that it accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from types import MappingProxyType
from typing import Final

from corrigible.rules.pointer import MISSING
from corrigible.schema.exchange import Json


def _to_text(value: Json) -> Json:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | str) else MISSING  # values of a query are texts already


def _to_integer(value: Json) -> Json:
    if not isinstance(value, str):
        return _if_integer(value)  # proto-JSON takes a number for what it writes as text
    try:
        number = int(value)
    except ValueError:
        return MISSING
    return number if str(number) == value else MISSING


def _to_number(value: Json) -> Json:
    if not isinstance(value, str):
        return MISSING
    try:
        number = float(value)
    except ValueError:
        return MISSING
    return number if repr(number) == value else _to_integer(value)


def _to_boolean(value: Json) -> Json:
    return {"true": True, "false": False}.get(value, MISSING) if isinstance(value, str) else MISSING


def _if_integer(value: Json) -> Json:
    return value if isinstance(value, int) and not isinstance(value, bool) else MISSING


def _if_text(value: Json) -> Json:
    return value if isinstance(value, str) else MISSING


def _to_list(value: Json) -> Json:
    return MISSING if isinstance(value, list) else [value]


def _only_item(value: Json) -> Json:
    return value[0] if isinstance(value, list) and len(value) == 1 else MISSING


def _times(factor: int, value: Json) -> Json:
    """Multiply a number; MISSING where the result is no exact decimal number of at most 15 digits."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and not isfinite(value))
    ):
        return MISSING
    exact = Decimal(str(value)) * factor
    return _plain(exact)


def _divided(factor: int, digits: int, value: Json) -> Json:
    """Divide a whole number; MISSING where more digits than these would be needed behind the point."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _MOST:
        return MISSING
    whole, rest = divmod(value, factor)
    if not rest:
        return whole
    exact = Decimal(value) / factor
    return _plain(exact) if exact == round(exact, digits) else MISSING


def _plain(exact: Decimal) -> Json:
    if exact == exact.to_integral_value():
        return int(exact) if abs(exact) < _MOST else MISSING
    return float(exact) if len(exact.normalize().as_tuple().digits) <= _DIGITS else MISSING


_DIGITS: Final = 15
"""That a float keeps."""
_MOST: Final = 2**53


def _unix_to_text(value: Json) -> Json:
    if isinstance(value, bool) or not isinstance(value, int):
        return MISSING
    try:
        return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return MISSING


def _text_to_unix(value: Json) -> Json:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        return MISSING
    if moment is None or moment.tzinfo is None or moment.microsecond:
        return MISSING  # without a zone nobody knows when; a fraction of a second has no place
    return int(moment.timestamp())


def _units_to_hundredths(value: Json) -> Json:
    hundredths = _times(100, value)
    return hundredths if isinstance(hundredths, int) else MISSING


CONVERSIONS: Final[Mapping[str, Callable[[Json], Json]]] = MappingProxyType(
    {
        "to text": _to_text,
        "to integer": _to_integer,
        "to number": _to_number,
        "to boolean": _to_boolean,
        "if integer": _if_integer,
        "if text": _if_text,
        "to list": _to_list,
        "only item": _only_item,
        "milliseconds to seconds": partial(_divided, 1_000, 0),
        "seconds to milliseconds": partial(_times, 1_000),
        "seconds to minutes": partial(_divided, 60, 0),
        "minutes to seconds": partial(_times, 60),
        "hundredths to units": partial(_divided, 100, 2),
        "units to hundredths": _units_to_hundredths,
        "unix time to date-time": _unix_to_text,
        "date-time to unix time": _text_to_unix,
    }
)
"""By name. A function returns MISSING for a value that it cannot convert without loss."""


def convert(value: Json, conversion: str) -> Json:
    """Return the value in the target's form; MISSING where that would lose something."""
    return value if not conversion else CONVERSIONS[conversion](value)
