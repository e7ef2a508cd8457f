"""Amounts of an ingredient, exactly.

Knows: decimals, fractions, ratios. Does not know: recipes, requests, binary floating point.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

Amount = Decimal | str
"""As the caller wrote it: a JSON number, or text such as "1 1/2" or "a handful"."""

SMALLEST = Decimal("0.000000001")
LARGEST = Decimal(1_000_000)
MOST_DIGITS = 18

_PLACES = 9
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_FRACTION = re.compile(r"(?:([0-9]{1,6}) )?([0-9]{1,6})/([0-9]{1,6})", re.ASCII)


def is_in_range(number: Decimal) -> bool:
    """Say whether a number is one a kitchen could mean and arithmetic can afford."""
    return SMALLEST <= number <= LARGEST and len(number.as_tuple().digits) <= MOST_DIGITS


def exact(amount: Amount) -> Fraction | None:
    """Return the amount without any loss, or None where the text is no number ("a handful")."""
    if isinstance(amount, Decimal):
        return Fraction(amount)
    text = " ".join(amount.split())
    if _DECIMAL.fullmatch(text):
        number = Fraction(text)
    elif (parts := _FRACTION.fullmatch(text)) and int(parts[3]):
        number = int(parts[1] or 0) + Fraction(int(parts[2]), int(parts[3]))
    else:
        return None
    return number if SMALLEST <= number <= LARGEST else None


def scaled(amount: Fraction, *, original: Decimal, target: Decimal) -> Fraction:
    """Return `amount` times the exact ratio of servings."""
    return amount * Fraction(target) / Fraction(original)


def written(number: Fraction) -> Decimal:
    """Return the decimal a caller would write: exact, or rounded half up at nine places where it goes on."""
    units, rest = divmod(number.numerator * 10**_PLACES, number.denominator)
    if 2 * rest >= number.denominator:
        units += 1
    return Decimal(units).scaleb(-_PLACES).normalize()


def plain(number: Decimal) -> str:
    """Return the shortest text without an exponent: 3.25, 11."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
