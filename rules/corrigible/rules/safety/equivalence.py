"""Whether two JSON values say the same in different spellings.

Knows: types, dates, quantities, encodings, typing mistakes. Does not know: requests, schemas, what a server accepts.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

from rapidfuzz.distance import OSA

from corrigible.rules.functions.quantity import quantity
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json

from . import spelling
from .json_text import repaired_json

_LONGEST = 4096
"""A longer text is the same only where it is equal: comparing spellings of it would take too long."""
_DEEPEST = 4
_UNIX = (10, 13)
"""Digits of a Unix time in seconds and in milliseconds."""
_SCALARS = frozenset({str, int, float, bool})
_DIGITS = 32
"""Of a longer number the text counts."""


def is_same_value(one: Json, other: Json, depth: int = 0) -> bool:
    """Whether `other` is `one` converted without loss: another type, notation or encoding of the same value.

    `"500"` is 500, `"true"` is true, `"a,b"` is `["a", "b"]`, an element is the list of it, an object is its JSON text
    (which may have a comma too many).
    Neither `"yes"` nor 1 is true: that is a reading.
    """
    if type(one) is str and type(other) is str and one.isdecimal() and other.isdecimal():
        if len(one) > _DIGITS or len(other) > _DIGITS:
            return one == other
        timed = len(one) in _UNIX and len(other) in _UNIX
        return int(one) == int(other) or (timed and _same_moment(one, other))
    if same_json(one, other):
        return True
    if depth > _DEEPEST:
        return False
    if type(one) in _SCALARS and type(other) in _SCALARS:
        return _same_scalar(one, other)
    if isinstance(other, list | Mapping) and not isinstance(one, list | Mapping):
        one, other = other, one
    match one, other:
        case (list(), Mapping()) | (Mapping(), list()):
            items, members = (one, other) if isinstance(one, list) else (other, one)
            return _numbered(members) == items or (len(items) == 1 and is_same_value(items[0], members, depth + 1))
        case Mapping(), str():
            return bool(spelling.document(other, dict) == one) or _is_mended(other, one)
        case list(), _ if len(one) == 1 and is_same_value(one[0], other, depth + 1):
            return True
        case list(), str() if len(other) <= _LONGEST:
            return spelling.document(other, list) == one or _listed(one, other) or _is_mended(other, one)
        case (str() | int() | float(), str() | int() | float()):
            return _same_scalar(one, other)
    return False


def _is_mended(text: str, value: Json) -> bool:
    """Whether a text is the JSON of a value, but for a byte order mark and commas too many."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and bool(repaired_json(text) == value)


def _numbered(value: Mapping[str, Json]) -> list[Json] | None:
    """Return the list that an object with the keys 0, 1, 2... stands for."""
    return list(value.values()) if list(value) == [str(index) for index in range(len(value))] else None


def _listed(items: list[Json], text: str) -> bool:
    said = [part for part in re.split(r"[,;\s]+", text.strip()) if part]
    return len(said) == len(items) and all(
        isinstance(item, str | int) and scalar_text(item) == part for item, part in zip(items, said, strict=True)
    )


def _same_scalar(one: str | int | float, other: str | int | float) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return scalar_text(one).strip().casefold() == scalar_text(other).strip().casefold() in ("true", "false")
    a, b = _tight(one), _tight(other)
    if a == b:
        return True
    if len(a) > _LONGEST or len(b) > _LONGEST:
        return False
    if _same_moment(one, other):
        return True
    first, second = _number(a), _number(b)
    if first is not None and second is not None:
        return first == second
    amount = _amount(a)
    if amount is not None and amount == _amount(b):
        return True
    return _encoded(a, b) or _encoded(b, a) or unquote(a) == unquote(b) or _colour(a) == _colour(b) != ""


def _tight(value: str | int | float) -> str:
    """Return a scalar's text without the blanks around it, and before a sign: `50 %`."""
    text = scalar_text(value).strip()
    if " " not in text and text.isprintable():
        return text
    end = len(text)
    while end and not (text[end - 1].isalnum() or text[end - 1] == "_"):
        end -= 1
    return text[:end] + "".join(text[end:].split())


def _colour(text: str) -> str:
    """Return a colour of three or six hexadecimal digits in six (CSS Color 4, section 5.2), empty for what is none."""
    digits = text.removeprefix("#").casefold()
    if not re.fullmatch(r"[0-9a-f]{6}|#[0-9a-f]{3}", digits if len(digits) != 3 else text.casefold()):
        return ""
    return digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)


def _number(text: str) -> Decimal | None:
    try:
        out = Decimal(text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text) else text)
    except InvalidOperation:
        return None
    return out if out.is_finite() else None


_SPELLED_AMOUNT = re.compile(r"([\d.]+)\s*([kKMGTPE])(i?)[bB](?:ytes?)?")


def _amount(text: str) -> float | None:
    """Return an amount with its unit in base units; `1 GB` and `1GiB` as people write them as well."""
    spelled = _SPELLED_AMOUNT.fullmatch(text)
    if spelled is None:
        return quantity(text)
    unit = spelled[2].upper() if spelled[3] or spelled[2] not in "kK" else "k"
    return quantity(spelled[1] + unit + spelled[3])


def _same_moment(one: Json, other: Json) -> bool:
    """Whether two values are the same point in time, or the same day. A time without a zone is none."""
    first, second = spelling.moments(one), spelling.moments(other)
    if len(first) != 1 or len(second) != 1:
        return False
    (a,), (b,) = first, second
    return a.when == b.when and a.timed == b.timed and (not a.timed or (a.zoned and b.zoned))


def _encoded(plain: str, encoded: str) -> bool:
    """Whether one text is the base64 of another, or the same base64 in the other alphabet or without padding."""
    if len(encoded) < 8:
        return False
    standard = encoded.translate(str.maketrans("-_", "+/"))
    if plain.translate(str.maketrans("-_", "+/")).rstrip("=") == standard.rstrip("="):
        return True
    try:
        return base64.b64decode(standard, validate=True) == plain.encode()
    except (binascii.Error, ValueError):
        return False


_FEW = 3
"""Letters at the end of a word that may be an ending: `opened` is `open`, `Monthly` is `month`."""


def is_respelled(one: Json, other: Json) -> bool:
    """Whether `other` is the text `one` with its spelling put right, or with something put before or behind it.

    The same letters and digits in order, an ending less, or few typing mistakes: the first letter and all digits stay.
    """
    if not isinstance(one, str) or not isinstance(other, str) or not one or max(len(one), len(other)) > _LONGEST:
        return False
    if one.isdecimal() and other.isdecimal():
        return False
    if _around(one, other):
        return True
    a, b = _letters(one), _letters(other)
    if not a or not b or a.isdecimal() or _number(one) is not None:
        return False
    if _amount(one) is not None and _amount(other) is not None:
        return False
    if a == b or (len(b) > _FEW and a.startswith(b) and len(a) - len(b) <= _FEW and a.isalpha()):
        return True
    if a[0] != b[0] or re.sub(r"\D", "", a) != re.sub(r"\D", "", b):
        return False
    most = 0 if len(a) < 3 else 1 if len(a) < 8 else 2
    return bool(OSA.distance(a, b, score_cutoff=most) <= most)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _around(one: str, other: str) -> bool:
    """Whether a text has all of another one in it, letter by letter, at one of its ends, and is no other number."""
    a, b = one.casefold(), other.casefold()
    if len(a) >= len(b) or re.fullmatch(r"[\d.,\s+-]*", b):
        return False
    if b.startswith(a):
        return len(a) > 2 or not b[len(a)].isalnum()
    return (
        b.endswith(a)
        and (len(a) > 2 or not b[-len(a) - 1].isalnum())
        and not (a[0].isdigit() and b[-len(a) - 1].isdigit())
    )
