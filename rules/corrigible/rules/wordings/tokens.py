"""The words of a text and of a name, in whichever way they are spelled: the names of a text are found by them.

`companyName`, `company_name`, `CompanyName` and `company name` have the same words. A text in a language without blanks
between its words still has the names of an API as words of their own.

Knows: one text. Does not know: requests, languages.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from corrigible.schema.cache import cached

_LONGEST: Final = 4000
"""Letters of a text that are looked at."""
_LATIN: Final = "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_WORD: Final = re.compile(rf"[A-Z]+(?![a-z{_LATIN}])|[A-Z]?[a-z{_LATIN}]+|[0-9]+|[^\W\d_A-Za-z{_LATIN}]+")
_TOKEN: Final = re.compile(rf"[A-Za-z0-9{_LATIN}_$@][A-Za-z0-9{_LATIN}_$@-]*+")
"""A name of code or a word in Latin letters: in a text of other letters it stands for itself."""
_OPENING: Final = frozenset("'\"`[(<{/.\u2018\u201c\u00ab\u300c\u300e\u2039\u3010\uff08=")
_CLOSING: Final = frozenset("'\"`])>}:=\u2019\u201d\u00bb\u300d\u300f\u203a\u3011\uff09\uff1a/")
_CODE: Final = re.compile(r"[a-z0-9][A-Z]|_|[A-Za-z]\d|\w-\w")
_QUOTED: Final = re.compile(
    r"\"([^\"\n]{1,200})\"|(?<!\w)'([^'\n]{1,200})'(?!\w)|`([^`\n]{1,200})`|\u201c([^\u201d\n]{1,200})\u201d"
    r"|\u2018([^\u2019\n]{1,200})\u2019|\u00ab([^\u00bb\n]{1,200})\u00bb|\u300c([^\u300d\n]{1,200})\u300d"
    r"|(?<![\w\[\])])\[([^\[\]\s,'\"]{1,200})\]"
)
_NOTHING: Final = re.compile(
    r"(?<![\w'\"`])(?:\"\"|''|``|\[\])(?![\w'\"`])|\w (?:id|name|key|uuid|slug)\W{0,3}= (?=[a-z])"
    r"|(?<![\w.])(?:undefined|None|null|nil|NaN)(?![\w.]|-)"
)
"""What programming languages print for no value."""


class Mention(NamedTuple):
    """How a text has a name."""

    position: int
    """Number of the first word."""
    is_whole: bool
    """Whether the words are no part of a longer name."""
    is_marked: bool
    """Whether the text marks it as a name: by quotes, brackets, a colon behind it, or by its spelling."""
    is_quoted: bool


class Tokens:
    """The words of a text, each with the name that it is part of."""

    __slots__ = ("_index", "_names", "low", "quoted", "stems", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text[:_LONGEST]
        self.low = self.text.lower()
        self.quoted = frozenset(
            one.strip().lower() for found in _QUOTED.finditer(self.text) for one in found.groups() if one
        )
        self.words: list[str] = []
        self._names: list[tuple[int, int, bool, bool]] = []
        """For each word: the numbers of the first and last word of its name, whether that is marked, quoted."""
        for token in _tokens(self.text):
            parts = [stem(one.group().lower()) for one in _WORD.finditer(token.group())]
            before, after = self.text[token.start() - 1 : token.start()], self.text[token.end() : token.end() + 1]
            is_quoted = before in _QUOTES and after in _QUOTES and before != ""
            is_marked = is_quoted or before in _OPENING or after in _CLOSING or _CODE.search(token.group()) is not None
            first = len(self.words)
            self.words += parts
            self._names += [(first, first + len(parts) - 1, is_marked, is_quoted)] * len(parts)
        self._index: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            self._index.setdefault(word, []).append(number)
        self.stems = frozenset(self.words)

    def mention(self, name: str) -> Mention | None:
        """Return the clearest place where the text has all words of a name, one behind the other."""
        parts = name_words(name)
        if not parts or parts[0] not in self._index:
            return None
        best: Mention | None = None
        for start in self._index[parts[0]][:_MOST]:
            if tuple(self.words[start : start + len(parts)]) != parts:
                continue
            first, _, is_marked, is_quoted = self._names[start]
            _, last, *_ = self._names[start + len(parts) - 1]
            found = Mention(start, first == start and last == start + len(parts) - 1, is_marked, is_quoted)
            if best is None or (found.is_whole, found.is_quoted, found.is_marked) > (
                best.is_whole,
                best.is_quoted,
                best.is_marked,
            ):
                best = found
        return best

    def marks(self, name: str) -> bool:
        """Whether the text has a name with a mark."""
        found = self.mention(name)
        return found is not None and found.is_marked

    def nothing(self) -> str:
        """Return what the text has for no value, in lower case; empty where it has nothing of the kind."""
        found = _NOTHING.search(self.text[:_LONGEST_BEFORE])
        return found.group().lower() if found is not None else ""

    def share(self, name: str) -> float:
        """Return the share of the words of a name that the text has, in any order."""
        parts = name_words(name)
        return sum(one in self.stems for one in parts) / len(parts) if parts else 0.0

    def find(self, value: str) -> int:
        """Return the position of a value that stands for itself in the text, -1 where there is none."""
        wanted = value.lower()
        start = self.low.find(wanted) if wanted else -1
        while start >= 0:
            end = start + len(wanted)
            is_apart = not (_is_word(self.low[start - 1 : start]) and _is_word(wanted[:1]))
            if is_apart and not (_is_word(self.low[end : end + 1]) and _is_word(wanted[-1:])):
                return start
            start = self.low.find(wanted, start + 1)
        return -1

    def is_part(self, start: int, length: int) -> bool:
        """Whether what stands at a place is a part of a path or of a name with dots: `papers` of `papers.public.id`."""
        end = start + length
        is_behind = self.low[start - 1 : start] in _JOINING and _is_word(self.low[start - 2 : start - 1])
        return is_behind or (self.low[end : end + 1] in _JOINING and _is_word(self.low[end + 1 : end + 2]))


@functools.lru_cache(16)
def tokens_of(text: str) -> Tokens:
    """Return the words of a text, which several parts of the reader ask for."""
    return Tokens(text)


_LONGEST_BEFORE: Final = 500
"""Letters of a text in which what is printed for no value is looked for."""
_JOINING: Final = ("/", ".", ":", "-", "@")
_MOST: Final = 50
"""Occurrences of a word that are looked at."""
_QUOTES: Final = frozenset("'\"`\u2018\u201c\u00ab\u300c\u300e\u2019\u201d\u00bb\u300d\u300f")


def _tokens(text: str) -> Sequence[re.Match[str]]:
    return (
        list(_TOKEN.finditer(text))
        if text.isascii()
        else sorted([*_TOKEN.finditer(text), *_OTHER_LETTERS.finditer(text)], key=lambda one: one.start())
    )


_OTHER_LETTERS: Final = re.compile(rf"[^\W\d_A-Za-z{_LATIN}]+")


def _is_word(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter == "_")


def stem(word: str) -> str:
    """Return a word without the `s` of its plural."""
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith("ss") else word


_SHORT: Final = 3


@cached(4096)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case and without the `s` of a plural."""
    return tuple(stem(one.lower()) for one in _WORD.findall(name[:_LONGEST_NAME]))


_LONGEST_NAME: Final = 200
