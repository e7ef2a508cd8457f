"""Numbers in prose: in digits, with either decimal mark, as fractions, percentages and money, and in words.

Knows: English and digits. Does not know: what any number is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

_UNITS = {
    **{"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9},
    **{"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16},
    **{"seventeen": 17, "eighteen": 18, "nineteen": 19},
}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_PIECES = {
    **{"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4},
    **{"fifth": 5, "fifths": 5, "eighth": 8, "eighths": 8, "sixteenth": 16, "sixteenths": 16},
}
_OTHER = {"dozen": 12}
_VULGAR = {"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}

_DIGITS = re.compile(
    r"(?P<money>[$€£¥]\s?|\b(?:usd|eur|gbp|chf)\s)?"
    r"(?<![\w.,])(?P<sign>[-\u2212])?"
    r"(?:(?P<whole>\d+)[ -](?P<over>\d+)/(?P<under>\d+)"
    r"|(?P<top>\d+)/(?P<bottom>\d+)"
    r"|(?P<digits>\d{1,3}(?:[,. '\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?))"
    r"(?![\w/]|[.,]\d)"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b))?"
    r"(?P<after>\s?(?:[$€£¥]|(?:dollars?|euros?|pounds?|usd|eur|gbp|chf)\b))?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text, with all readings of it."""

    start: int
    end: int
    values: tuple[float, ...]
    decimals: int = 0
    """Digits after the decimal mark."""
    money: bool = False
    percent: bool = False
    spelt: bool = False
    casual: bool = False
    """One word that is often not a count: one, half."""


def numbers(text: str) -> Iterator[Number]:
    """Yield every number in a text."""
    for mark, spread in _VULGAR.items():
        # Of the same length, so that places stay: a vulgar fraction is found on its own.
        for match in re.finditer(rf"(?:(\d+)\s?)?{mark}", text):
            value = int(match[1] or 0) + float(Fraction(spread))
            yield Number(match.start(), match.end(), (value,), 3)
    for match in _DIGITS.finditer(text):
        number = _digits(match)
        if number is not None:
            yield number
    yield from _spelt(text)


def _digits(match: re.Match[str]) -> Number | None:
    decimals = 0
    try:
        if match["under"] is not None:
            values = {int(match["whole"]) + float(Fraction(int(match["over"]), int(match["under"])))}
            decimals = 3
        elif match["bottom"] is not None:
            values = {float(Fraction(int(match["top"]), int(match["bottom"])))}
            decimals = 3
        else:
            values, decimals = _read(match["digits"])
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    sign = -1 if match["sign"] else 1
    money, percent = bool(match["money"] or match["after"]), match["percent"] is not None
    return Number(match.start(), match.end(), tuple(sign * value for value in values), decimals, money, percent)


def _read(digits: str) -> tuple[set[float], int]:
    """Read `3,50`, `3.50`, `1,234.5`, `1.234,5`, `9 000`: where it is not clear, both ways."""
    values: set[float] = set()
    decimals = 0
    marks = [char for char in digits if char in ".,"]
    compact = re.sub(r"[ '\u00a0\u202f]", "", digits)
    groups = re.fullmatch(r"\d{1,3}(?:([,. '\u00a0\u202f])\d{3})+", digits)
    if groups is not None:
        values.add(float(re.sub(r"\D", "", digits)))
    if marks:
        head, _, tail = compact.rpartition(marks[-1])
        if len(marks) == 1 or (marks[-1] != marks[0]):
            exponent = re.search(r"[eE].*$", tail)
            values.add(float(f"{re.sub('[.,]', '', head)}.{tail}"))
            decimals = len(tail) - (len(exponent[0]) if exponent else 0)
    elif groups is None:
        values.add(float(compact))
    return values, decimals


def _spelt(text: str) -> Iterator[Number]:
    """Read runs of number words: `twenty-one`, `three and a half`, `nine billion`, `a quarter`, `three point five`."""
    words = list(_WORD.finditer(text))
    index = 0
    while index < len(words):
        words_read, value, count = _run(words, index, text)
        if words_read == 0:
            index += 1
            continue
        first, last = words[index], words[index + words_read - 1]
        yield Number(first.start(), last.end(), (value,), 3, spelt=True, casual=count < 2)
        index += words_read


def _run(words: list[re.Match[str]], start: int, text: str) -> tuple[int, float, int]:
    """Return how many words from here are one number, the number, and how many of them count."""
    total, current, count, words_read = 0.0, 0.0, 0, 0
    index = start
    while index < len(words):
        word = words[index][0].lower()
        if index > start and not re.fullmatch(r"[\s-]+", text[words[index - 1].end() : words[index].start()]):
            break
        if word in _UNITS or word in _TENS or word in _OTHER:
            if count and word not in _OTHER and words[index - 1][0].lower() in _UNITS:
                break  # "one two" are two numbers
            current += _UNITS.get(word, _TENS.get(word, 0)) if word not in _OTHER else 0
            current = (current or 1) * _OTHER[word] if word in _OTHER else current
        elif word in _SCALES and count:
            current *= _SCALES[word]
            if _SCALES[word] > 100:
                total, current = total + current, 0.0
        elif word in _SCALES and index > start and words[index - 1][0].lower() == "a":
            current = float(_SCALES[word])
        elif word in _PIECES and (count or index == start or words[index - 1][0].lower() in ("a", "and")):
            joined = any(words[at][0].lower() == "and" for at in range(start, index))
            piece = 1 / _PIECES[word]
            current = current + piece if joined or not count else current * piece
            return index - start + 1, total + current, count + 1
        elif word == "point" and count and index + 1 < len(words):
            digits = ""
            at = index + 1
            while at < len(words) and _UNITS.get(words[at][0].lower(), 10) < 10:
                digits += str(_UNITS[words[at][0].lower()])
                at += 1
            if not digits:
                break
            return at - start, float(f"{int(total + current)}.{digits}"), count + len(digits)
        elif word in ("and", "a") and (count or word == "a"):
            index += 1
            continue
        else:
            break
        count += 1
        index += 1
        words_read = index - start
    return (words_read, total + current, count) if count else (0, 0.0, 0)


def same(number: Number, value: float, *, name: str = "") -> str | None:
    """Return in which form a number in a text is a value, None if it is another number."""
    for value_there in number.values:
        if _equal(value_there, value, number.decimals):
            return "in words" if number.spelt else "as a number"
        if number.percent and (
            _equal(value_there / 100, value, number.decimals + 2) or _equal(value_there, value, number.decimals)
        ):
            return "as a percentage"
        # Minor units: 300 is $3.00. Two digits after the mark are money where the member says so.
        moneyed = number.money or (number.decimals == 2 and _MONEY.search(name) is not None)
        if moneyed and value == int(value) and abs(value) >= 1 and _equal(value_there * 100, value, 0):
            return "in another unit of money"
    return None


_MONEY = re.compile(r"amount|price|balance|cost|fee|total|cents|charge|refund", re.IGNORECASE)


def _equal(value_there: float, value: float, decimals: int) -> bool:
    if abs(value_there - value) < 1e-9 * max(1.0, abs(value)):
        return True
    # A value with endless decimals may be rounded anywhere.
    endless = abs(value * 10_000 - round(value * 10_000)) > 1e-6
    return endless and decimals >= 2 and abs(value_there - round(value, decimals)) < 1e-9
