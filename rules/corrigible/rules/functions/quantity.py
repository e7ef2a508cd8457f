"""Kubernetes quantities: `600m`, `1Gi`, `2e3`. Exact, in decimal arithmetic.

Source: the serialisation format of resource.Quantity (k8s.io/apimachinery/pkg/api/resource).
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

_BINARY = {suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {
    suffix: Decimal(10) ** power
    for suffix, power in {
        "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
    }.items()
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?")
_MOST_DIGITS = 30


def quantity(text: Any) -> float | None:
    """Return a Kubernetes quantity in base units (cores, bytes, pieces); null for anything else."""
    number = _read(text)
    return None if number is None else float(number)


def quantity_text(number: float, like: Any) -> str | None:
    """Return a number as a Kubernetes quantity with a suffix like that of another; null if that cannot be exact.

    `like` decides between binary (`Mi`) and decimal (`M`, `m`); the largest suffix that leaves an integer is used.
    """
    value = Decimal(repr(float(number))).normalize()
    match = _QUANTITY.fullmatch(str(like).strip())
    binary = match is not None and match[3] in _BINARY
    # A little noise of binary floating point is not part of the number: nothing smaller than a nano can be said.
    value = value.quantize(_DECIMAL["n"]) if abs(value) < 10**15 else value
    units = {"": Decimal(1), **_BINARY} if binary else _DECIMAL
    largest = units["Ei" if binary else (match and match[3]) or ""]
    for suffix, unit in sorted(units.items(), key=lambda suffix_unit: suffix_unit[1], reverse=True):
        if unit > max(largest, Decimal(1)):
            continue  # 2000 stays 2000, and becomes 2k only beside another k
        count = value / unit
        if count == count.to_integral_value():
            return f"{count:f}".partition(".")[0] + suffix
    return None


def _read(text: Any) -> Decimal | None:
    if not isinstance(text, (str, int, float)):
        return None
    stripped = str(text).strip()
    match = _QUANTITY.fullmatch(stripped) if len(stripped) <= _MOST_DIGITS else None
    if match is None:
        return None
    try:
        number = Decimal(match[1])
    except InvalidOperation:
        return None
    if match[2]:
        return number * Decimal(10) ** int(match[2])
    suffix = match[3] or ""
    return number * (_BINARY.get(suffix) or _DECIMAL[suffix])
