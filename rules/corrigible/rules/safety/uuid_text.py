"""A UUID in the ways that people write it: with or without dashes, in braces, in capitals.

RFC 9562 has the digits in groups of 8, 4, 4, 4 and 12, and reads capitals and small letters alike: none of these ways
means another UUID.

Knows: one text, whether another text would be taken. Does not know: schemas, formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_GROUPS: Final = (8, 12, 16, 20)
_DIGITS: Final = re.compile(r"[0-9a-fA-F]{32}")
_AROUND: Final = "{}()\"'"
_BEGINNING: Final = re.compile(r"(?i)urn:uuid:")


def uuid_digits(text: str) -> str:
    """Return the 32 digits of a UUID in the letters that they were written in, empty where a text is none."""
    inner = _BEGINNING.sub("", text.strip(), count=1).strip(_AROUND)
    digits = re.sub(r"[-_\s]", "", inner)
    return digits if _DIGITS.fullmatch(digits) else ""


def dashed(digits: str) -> str:
    """Return the digits of a UUID with the dashes of RFC 9562."""
    starts, ends = (0, *_GROUPS), (*_GROUPS, len(digits))
    return "-".join(digits[start:end] for start, end in zip(starts, ends, strict=True))


def as_is_taken(text: str, is_taken: Callable[[str], bool]) -> str:
    """Return a UUID as a pattern of UUIDs takes it; empty where it takes none, or takes other texts of these digits.

    A pattern that takes the digits in other groups, or more of them, is one of names, and of no UUID.
    """
    digits = uuid_digits(text)
    for one in dict.fromkeys((digits, digits.lower(), digits.upper())) if digits else ():
        with_dashes, grouped_otherwise = dashed(one), dashed(one[::-1])[::-1]
        if is_taken(with_dashes):
            return with_dashes if not is_taken(one) and not is_taken(grouped_otherwise) else ""
        if is_taken(one):
            return one if not is_taken(one[1:]) and not is_taken(one + one[0]) else ""
    return ""
