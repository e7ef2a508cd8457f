"""A value that would fix a request, and how telling an occurrence of it is.

Knows: values, words. Does not know: packs, tasks, where a text comes from.

A text that an agent can see, and the forms in which a value may occur in it.

Knows: encodings, punctuation, quotation, a little English grammar. Does not know: where a text comes from.

Numbers in prose: in digits, with either decimal mark, as fractions, percentages and money, and in words.
"""

from __future__ import annotations

import base64
import binascii
import functools
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib.resources import files
from urllib.parse import unquote_plus

from corrigible.schema.exchange import Json

Scalar = str | int | float
LONGEST = 400
"""Characters of a value that is searched for: longer ones are content, and nobody retypes them into a diagnosis."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One value that only the feedback may give."""

    value: Scalar
    source: str
    """feedback, literal or let (of a rule), table, look-up, paraphrase, ratio or task."""
    origin: str
    """The rule, task or file that knows it."""
    name: str = ""
    """The member that takes it, where it has one."""
    words: frozenset[str] = frozenset()
    """What is counted or measured, for numbers: `11` is a small number, `11 eggs` is an answer."""


class Strength(IntEnum):
    """The evidence that an occurrence needs in order to count."""

    NEVER = 0
    OWN = 1
    """Only as the value of its own member: true, null, and values of the request."""
    WEAK = 2
    """Only where it is written as a value: quoted, assigned, prescribed."""
    STRONG = 3
    """Anywhere."""


_TRIVIAL = frozenset({"true", "false", "null", "none", "yes", "no", "on", "off", ""})
_CAMEL = re.compile(r"[^\W\d_]*?[^\W\d_A-Z](?=[A-Z])|[^\W_]+")
_SMALL = 100
_SHORT = 3
_SENTENCE = 3
"""So many common words in a row are no coincidence."""


@functools.cache
def common() -> frozenset[str]:
    """Return words that are too common to be telling."""
    text = files(__package__).joinpath("common.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def plain(text: str) -> str:
    """Fold case, accents and typographic variants."""
    spread = unicodedata.normalize("NFKD", text)
    return "".join(char for char in spread if not unicodedata.combining(char)).casefold()


def signs(text: str) -> bool:
    """Return whether a value has more signs than letters and digits, such as `0 0 * * *`: then each sign matters."""
    return 2 * sum(map(str.isalnum, text)) < len("".join(text.split()))


def parts(text: str) -> list[str]:
    """Return the words of a value, those of `likeThis` and `like_this` too, in small letters."""
    return [plain(word) for word in _CAMEL.findall(text)]


def as_number(value: Scalar) -> float | None:
    """Return a number, or the number that a text spells in digits; else None."""
    if isinstance(value, str):
        text = value.strip()
        if not re.fullmatch(r"[+-]?\d{1,18}(?:\.\d{1,12})?", text) or (text.startswith("0") and text[1:2].isdigit()):
            return None
        return float(text)
    return float(value)


@functools.lru_cache(maxsize=65536)
def strength(value: Scalar, *, close: bool = True) -> Strength:
    """Return the evidence that a value needs. `close`: the occurrence has its spelling, but for case."""
    number = as_number(value)
    if number is not None:
        return Strength.WEAK if number == int(number) and abs(number) < _SMALL else Strength.STRONG
    text = str(value)
    if plain(text.strip()) in _TRIVIAL:
        return Strength.OWN
    words = parts(text)
    if signs(text):
        return Strength.STRONG if len(text) > _SHORT else Strength.WEAK
    if not words:
        return Strength.WEAK
    if any(char.isdigit() for word in words for char in word):
        return Strength.WEAK if sum(map(len, words)) <= _SHORT else Strength.STRONG
    usual = [word in common() or word.removesuffix("s") in common() or len(word) <= _SHORT for word in words]
    if not all(usual):
        return Strength.STRONG
    # `pull_request` as it is written is an identifier; "pull request" is English.
    marked = close and re.search(r"\w[_/.:]\w|[a-z][A-Z]", text) is not None
    return Strength.STRONG if marked or (close and len(words) >= _SENTENCE) else Strength.WEAK


def scalars(value: Json, name: str = "") -> Iterator[tuple[str, Scalar]]:
    """Yield every text and number in a value, with the member it is under."""
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from scalars(inner, str(key))
        case list() | tuple():
            for inner in value:
                yield from scalars(inner, name)
        case bool():
            yield name, "true" if value else "false"
        case str() | int() | float():
            yield name, value


class KnownValues:
    """The values of a request: a text that repeats them gives nothing away."""

    __slots__ = ("_numbers", "_texts", "said")

    def __init__(self, *documents: Json) -> None:
        self._texts: set[str] = set()
        self._numbers: set[float] = set()
        self.said: set[str] = set()
        """The texts themselves, in small letters."""
        for document in documents:
            self._take(document)

    def _take(self, document: Json) -> None:
        for name, value in scalars(document):
            self._texts |= {plain(name), plain(str(value))}
            self.said.add(str(value).lower())
            if (number := as_number(value)) is not None:
                self._numbers.add(number)
            if isinstance(value, str):
                self._texts.update(plain(part) for part in re.split(r"[/?&=,\s:]+", value))
        self._names(document)

    def _names(self, document: Json) -> None:
        if isinstance(document, Mapping):
            for name, inner in document.items():
                self._texts.add(plain(str(name)))
                self.said.add(str(name).lower())
                self._names(inner)
        elif isinstance(document, list):
            for inner in document:
                self._names(inner)

    def __contains__(self, value: Scalar) -> bool:
        number = as_number(value)
        return plain(str(value).strip()) in self._texts or (number is not None and number in self._numbers)


def distinct(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Return each (value, name) once, with its first source."""
    unique: dict[tuple[str, str], Fix] = {}
    for fix in fixes:
        if len(str(fix.value)) <= LONGEST:
            unique.setdefault((str(fix.value), fix.name), fix)
    return tuple(unique.values())


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


NOTHING_KNOWN = KnownValues()


@dataclass(frozen=True, slots=True)
class Text:
    """A text outside of the feedback that an agent can see."""

    text: str
    channel: str
    """diagnosis, verbose, traditional, header, message, prompt, ..."""
    owner: str
    """`ours`, or `upstream` for native text of a third party, which we cannot change."""
    where: str
    """The file and line, or the case and the place in its answer."""
    rule: str = ""
    known: KnownValues = field(default=NOTHING_KNOWN)
    """The values of the request that it answers."""
    whole: bool = False
    """The text is one whole value of a document; a fix that equals it counts as quoted."""


class View:
    """One reading of a text: as it is, or decoded. Positions refer to `text`."""

    def __init__(self, text: str, encoding: str = "") -> None:
        self.text = unicodedata.normalize("NFC", text).translate(_QUOTES)
        self.how = encoding

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(numbers(self.text))

    @cached_property
    def squeezed(self) -> tuple[str, list[int]]:
        """The letters and digits, and the position of each. A dot separates digits that were apart."""
        out: list[str] = []
        places: list[int] = []
        gap = False
        for place, char in enumerate(self.text):
            if not char.isalnum():
                gap = True
                continue
            for folded in plain(char):
                if gap and out and out[-1].isdigit() and folded.isdigit():
                    out.append(".")
                    places.append(place)
                out.append(folded)
                places.append(place)
                gap = False
            gap = False
        return "".join(out), places

    def places(self, value: str) -> Iterator[tuple[int, int]]:
        """Yield where a value occurs, in any case and punctuation, singular or plural."""
        if signs(value) and len(value) > 3:
            for match in re.finditer(re.escape(value), self.text, re.IGNORECASE):
                yield match.span()
            return
        squeezed = _squeezed(value)
        letters, at = self.squeezed
        if not squeezed:
            yield from _bare(self.text, value)
            return
        for form in _forms(squeezed):
            start = letters.find(form)
            while start >= 0:
                first, last = at[start], at[start + len(form) - 1]
                if self._alone(first, last + 1):
                    yield first, last + 1
                start = letters.find(form, start + 1)

    def _alone(self, start: int, end: int) -> bool:
        """Return whether a range is whole words; each part of `likeThis` and `like_this` is one."""
        text = self.text
        before, after = text[start - 1 : start], text[end : end + 1]
        begins = not before.isalnum() or (text[start].isupper() and before.islower())
        ends = not after.isalnum() or (after.isupper() and text[end - 1].islower())
        return begins and ends and not (before == "_" and _word(text, start - 1)) and after != "_"

    def repeats(self, start: int, end: int, known_values: KnownValues, *, longer: bool) -> bool:
        """Return whether a range is part of a value of the request; `longer`: of a longer one."""
        lowered = self.text.lower()
        if len(lowered) != len(self.text):
            return False
        for value in known_values.said:
            if len(value) < end - start + longer:
                continue
            index = lowered.find(value, max(0, end - len(value)), start + len(value))
            if index >= 0 and index <= start and index + len(value) >= end:
                return True
        return False

    def marked(self, start: int, end: int, width: int = 60) -> str:
        """Return the text around a range, with the range marked."""
        head, tail = max(0, start - width), min(len(self.text), end + width)
        left = ("…" if head else "") + self.text[head:start]
        right = self.text[end:tail] + ("…" if tail < len(self.text) else "")
        return " ".join(f"{left}»{self.text[start:end]}«{right}".split())

    def quoted(self, start: int, end: int) -> bool:
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        return bool(before) and before in _OPENING and bool(after) and after in _CLOSING

    def assigned(self, start: int, name: str = "") -> bool:
        """Return whether `name=` or `name:` comes before it; without a name, any name."""
        who = re.escape(name) if name else r"[\w\])]+"
        return re.search(rf"(?:^|[^\w]){who}[\"'`]?\s?(?:=|:|=>|->|→)\s?[\"'`\[({{]*$", self.text[:start]) is not None

    def prescribed(self, start: int, end: int) -> bool:
        """Return whether the sentence tells the reader to use it."""
        before = re.split(r"[.;!?]\s", self.text[max(0, start - 80) : start])[-1]
        return _PRESCRIBES.search(before) is not None or _WANTED.match(self.text[end : end + 40]) is not None

    def belongs(self, start: int, end: int, name: str) -> bool:
        """Return whether the sentence assigns it to a member: `set capture to true`, `capture must be true`."""
        words = r"\W*".join(map(re.escape, re.split(r"[_\W]+", plain(name))))
        if not words:
            return False
        before = plain(self.text[max(0, start - 60) : start])
        return (
            re.search(rf"\b{words}\W+(?:to|is|be|(?:must|should) be|has to be|needs? to be|as|=|:)\W*$", before)
            is not None
        )

    def limits(self, start: int) -> bool:
        """Return whether a number there is a limit: a value that is clamped becomes the limit."""
        return _LIMITS.search(self.text[max(0, start - 40) : start]) is not None

    def counts(self, end: int, words: frozenset[str]) -> bool:
        """Return whether one of the words comes right after a number."""
        after = [plain(word).removesuffix("s") for word in re.findall(r"[^\W\d_]+", self.text[end : end + 40])[:2]]
        return any(word in after for word in words)


_QUOTES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u2039\u203a", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013", "-"),
    }
)
_OPENING = "\"'`([{<*"
_CLOSING = "\"'`)]}>*"
_PRESCRIBES = re.compile(
    r"(?:\b(?:use|using|try|write|choose|pick|enter|provide|specify|supply)\b(?:\W+\w+){0,3}\W*"
    r"|\b(?:set|change|rename|switch|replace|correct|adjust|convert|reduce|raise|lower)\w*\b(?:\W+[\w'.-]+){0,5}\W+(?:to|with|by)\W+(?:\w+\W+)?"
    r"|\b(?:must|should|ought to|has to|have to|needs? to|shall|can only|may only)\s+(?:only\s+)?be\W+(?:\w+\W+){0,2}"
    r"|\b(?:did you mean|meant|expect(?:s|ed)?|requires|wants)\W+(?:\w+\W+){0,2}"
    r"|\b(?:such as|for example|e\.g\.|for instance|namely|i\.e\.)\W+(?:\w+\W+){0,2}"
    r"|\b(?:allowed|valid|possible|supported|accepted|permitted)(?: values?)?(?: are| is)?\W+(?:\w+\W+){0,2}"
    r"|\b(?:one of|either|none of|only)\W+(?:\w+\W+){0,3}"
    r")$",
    re.IGNORECASE,
)
_WANTED = re.compile(r"^\W*(?:instead\b|is (?:expected|required|needed|wanted|meant)\b|would (?:do|work|fit)\b)", re.I)
_LIMITS = re.compile(
    r"\b(?:at (?:most|least)|minimum|maximum|max|min|up to|than|above|below|under|over|exceeds?|between|limit"
    r"|longest|shortest|largest|smallest)"
    r"\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)


@lru_cache(maxsize=65536)
def _squeezed(value: str) -> str:
    return View(value).squeezed[0]


def _word(text: str, at: int) -> bool:
    return at > 0 and text[at - 1].isalnum()


def _forms(letters: str) -> Iterator[str]:
    yield letters
    if not letters[-1].isalpha() or len(letters) < 4:
        return
    if letters.endswith("ies"):
        yield letters[:-3] + "y"
    elif letters.endswith("s"):
        yield letters[:-1]
    else:
        yield letters + "s"
        yield letters + "es"
        if letters.endswith("y"):
            yield letters[:-1] + "ies"


def _bare(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Find a value without letters and digits, such as `*`, in quotes; elsewhere it is punctuation."""
    for match in re.finditer(rf"(?<=[\"'`]){re.escape(value)}(?=[\"'`])", text) if value.strip() else ():
        yield match.span()


_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{6,}={0,2}(?![\w+/=-])")
_DEEPEST = 2


def views(text: str, depth: int = 0, encoding: str = "") -> Iterator[View]:
    """Yield a text as it is, and each decoded form of it."""
    yield View(text, encoding)
    if depth == _DEEPEST:
        return
    for name, decoded in (
        ("URL-encoded", (unquote_plus(text, errors="replace") if re.search("%[0-9A-Fa-f]{2}", text) else text)),
        ("escaped", _unescaped(text)),
        ("HTML-escaped", html.unescape(text)),
    ):
        if decoded != text:
            yield from views(decoded, depth + 1, f"{encoding}, {name}".lstrip(", "))
    for match in _BASE64.finditer(text):
        content = _from_base64(match[0])
        if content is not None:
            yield from views(content, depth + 1, f"{encoding}, in base64".lstrip(", "))


def _unescaped(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "r": "\r"}.get(match[3], match[3])

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([ntr\"'\\/]))", char, text)


def _from_base64(text: str) -> str | None:
    """Return the printable text that base64 decodes to, None for an ordinary word."""
    try:
        raw = base64.b64decode(text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4), validate=True)
        decoded = raw.decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return decoded if len(decoded) > 2 and decoded.isprintable() and decoded.isascii() else None
