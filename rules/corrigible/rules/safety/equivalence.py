"""Whether two JSON values say the same in different spellings.

Knows: types, dates, quantities, encodings, typing mistakes. Does not know: requests, schemas, what a server accepts.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final
from urllib.parse import unquote

from corrigible.rules.functions.builtin import quantity
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json

from . import spelling
from .json_text import closed_json, repaired_json
from .nearness import is_relisted, is_same_spelling, signs, slips, spelled
from .written_moment import is_same_moment, span

_LONGEST = 4096
"""A longer text is the same only where it is equal: comparing spellings of it would take too long."""
_DEEPEST = 4
_SCALARS = frozenset({str, int, float, bool})


def is_same_value(one: Json, other: Json, depth: int = 0) -> bool:
    """Whether `other` is `one` converted without loss: another type, notation or encoding of the same value.

    `"500"` is 500, `"true"` is true, `"1 hour"` is `"60m"`, `"a,b"` is `["a", "b"]`, an element is the list of it, an
    object is its JSON text (which may have a comma too many).
    Neither `"yes"` nor 1 is true: that is a reading. Nor is `"02134"` 2134, or `"1.10"` `"1.1"`: it may be a name.
    """
    if type(one) is str and type(other) is str and one.isdecimal() and other.isdecimal():
        # Of two texts the digits may be a name: `007` is none of the others.
        return one == other or _same_moment(one, other)
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
    """Whether a text is the JSON of a value, but for a byte order mark, commas too many, or what closes it."""
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return False
    closed = closed_json(text)
    return bool(repaired_json(text) == value) or (closed is not None and closed.value == value)


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
        are_names = type(one) is str and type(other) is str and "," not in a + b
        return not are_names and first == second
    if _is_same_amount(a, b):
        return True
    if (uuid := spelling.uuid_digits(a).lower()) and uuid == spelling.uuid_digits(b).lower():
        return True
    if type(one) is str and type(other) is str and (length := span(one)) is not None and length == span(other):
        return True
    return _encoded(a, b) or _encoded(b, a) or unquote(a) == unquote(b) or _is_same_colour(a, b)


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
    if not _HEX.fullmatch(digits):
        return ""
    return digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)


_HEX = re.compile(r"(?:[0-9a-f]{3}){1,2}")


def _is_same_colour(one: str, other: str) -> bool:
    """Whether two texts are one colour. One at least says so: with `#`, and digits alone are a number."""
    marked = [text for text in (one, other) if text.startswith("#")]
    colour = _colour(one) if marked else ""
    if not colour or colour != _colour(other):
        return False
    return len(marked) == 2 or len(one.lstrip("#")) == len(other.lstrip("#")) == 6 or not colour.isdecimal()


def _number(text: str) -> Decimal | None:
    """Return the number that a text is written like: without an exponent, and without zeros that lead it."""
    return Decimal(text.replace(",", "")) if _WRITTEN_NUMBER.fullmatch(text) else None


_WRITTEN_NUMBER = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d+)?", re.ASCII)


def _is_same_amount(one: str, other: str) -> bool:
    """Whether two texts are one amount of a unit. `b` is a bit, `B` a byte; k8s writes neither."""
    amount = _amount(one)
    if amount is None or amount != _amount(other) or (one[-1:].isdigit() and other[-1:].isdigit()):
        return False
    return {one[-1:], other[-1:]} != {"b", "B"}


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
        return _looks_encoded(standard)
    try:
        return base64.b64decode(standard, validate=True) == plain.encode()
    except (binascii.Error, ValueError):
        return False


def _looks_encoded(text: str) -> bool:
    """Whether a text is base64 and no word: in both cases, and of a length that base64 has."""
    plain = text.rstrip("=")
    return plain.upper() != plain != plain.lower() and len(plain) % 4 != 1 and _BASE64.fullmatch(plain) is not None


_BASE64 = re.compile(r"[A-Za-z0-9+/]+", re.ASCII)


def is_respelled(one: Json, other: Json) -> bool:
    """Whether `other` is the text `one` with its spelling put right: upper and lower case, what separates its words.

    Or the same name below its collection, as resource names are written: `7` and `orders/7`.
    """
    if not isinstance(one, str) or not isinstance(other, str) or max(len(one), len(other)) > _LONGEST:
        return False
    return (is_same_spelling(one, other) and not _are_amounts(one, other)) or _is_below_collection(one, other)


_COLLECTIONS = re.compile(r"(?:[A-Za-z][\w-]{0,63}/){1,6}", re.ASCII)


def _is_below_collection(one: str, other: str) -> bool:
    """Whether one text is the other behind names with slashes: no host, no way up."""
    return bool(one) and other.endswith(f"/{one}") and _COLLECTIONS.fullmatch(other.removesuffix(one)) is not None


def is_near_spelling(one: Json, other: Json) -> bool:
    """Whether `other`, which is of a closed list or in a declared form, is what the text `one` was meant to be.

    With an ending less, with something put before or behind it, in its short or long form, or with few typing mistakes:
    the first letter, all digits and all signs stay. Of what may be any text, none of these is known to mean the same.
    """
    if not isinstance(one, str) or not isinstance(other, str) or not one or max(len(one), len(other)) > _LONGEST:
        return False
    if one.isdecimal() and other.isdecimal():
        return False
    if is_relisted(one, other) or is_short_value(one, other) or is_same_moment(one, other):
        return True
    a, b = spelled(one), spelled(other)
    if signs(one) != signs(other) or re.findall(r"\d+", a) != re.findall(r"\d+", b):
        return False
    if _around(one, other):
        return True
    a, b = _letters(a), _letters(b)
    if not a or not b or a.isdecimal() or _number(one) is not None or _are_amounts(one, other):
        return False
    if a == b or (len(b) > _FEW and a.startswith(b) and len(a) - len(b) <= _FEW and a.isalpha()):
        return True
    if a[0] != b[0]:
        return False
    most = 0 if len(a) < 3 else 1 if len(a) < 8 else 2
    return slips(a, b, most) <= most


_FEW = 3
"""Letters at the end of a word that may be an ending: `opened` is `open`, `Monthly` is `month`."""


def _are_amounts(one: str, other: str) -> bool:
    """Whether two texts are amounts whose units differ, in their case at least: a milli is no mega, a bit no byte."""
    units = _WITH_UNIT.fullmatch(one), _WITH_UNIT.fullmatch(other)
    return units[0] is not None and units[1] is not None and units[0][1] != units[1][1]


_WITH_UNIT = re.compile(r"[\d.,\s]*\d\s*([munkKMGTPE](?:i?[bB](?:it|yte|ps)?s?)?)(?:/s)?", re.ASCII)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def _around(one: str, other: str) -> bool:
    """Whether a text has all of another one in it, letter by letter, at one of its ends."""
    a, b = one.casefold(), other.casefold()
    if len(a) >= len(b):
        return False
    if b.startswith(a):
        return len(a) > 2 or not b[len(a)].isalnum()
    return b.endswith(a) and (len(a) > 2 or not b[-len(a) - 1].isalnum())


_PAIRS: Final = (
    ("htm", "html"),
    ("jpg", "jpeg"),
    ("js", "javascript"),
    ("md", "markdown"),
    ("mpg", "mpeg"),
    ("py", "python"),
    ("tif", "tiff"),
    ("ts", "typescript"),
    ("txt", "text"),
    ("yml", "yaml"),
)
_OTHER: Final = {**dict(_PAIRS), **{long: short for short, long in _PAIRS}}
_LONGEST_SHORT_FORM: Final = 16


def is_short_value(text: str, other: str) -> bool:
    """Whether one of two texts is the short form of the other: `md` and `markdown`, `.yml` and `YAML`."""
    if len(text) > _LONGEST_SHORT_FORM or len(other) > _LONGEST_SHORT_FORM:
        return False
    one, two = _plain(text), _plain(other)
    return _OTHER.get(one) == two


def written_otherwise(text: str, values: Iterable[str]) -> str:
    """Return the only one of some values of which a text is the short form, or the long one; empty for several."""
    found = [one for one in values if is_short_value(text, one)]
    return found[0] if len(found) == 1 else ""


def _plain(text: str) -> str:
    return text.strip().removeprefix(".").casefold()
