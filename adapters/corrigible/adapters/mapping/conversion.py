"""Conversions of values between mapped fields. Each loses nothing of the values that it accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from corrigible.rules.pointer import MISSING
from corrigible.schema.exchange import Json


def _to_text(value: Json) -> Json:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else MISSING


def _to_integer(value: Json) -> Json:
    if not isinstance(value, str):
        return MISSING
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
    }
)
"""By name. A function returns MISSING for a value that it cannot convert without loss."""


def convert(value: Json, conversion: str) -> Json:
    """Return the value in the target's form; MISSING where that would lose something."""
    return value if not conversion else CONVERSIONS[conversion](value)
