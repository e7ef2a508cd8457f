"""A value that would fix a request, and how telling an occurrence of it is.

Knows: values, words. Does not know: packs, tasks, where a text comes from.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files

from corrigible.schema.exchange import Json

Scalar = str | int | float
LONGEST = 400
"""Characters of a value that is searched for: longer ones are content, and nobody retypes them into a diagnosis."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One value that only the feedback may give."""

    value: Scalar
    source: str
    """feedback, literal or let (of a rule), table, look-up, paraphrase, ratio, task or capture."""
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
