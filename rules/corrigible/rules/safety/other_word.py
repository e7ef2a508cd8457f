"""Whether a text that is near another one may be a word of its own: `clone` and `close`, `county` and `country`.

Who writes a word that there is means it. Knows: how words are spelt, and which words there are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from importlib.resources import files
from typing import Final

from rapidfuzz.distance import OSA

from corrigible.schema.cache import cached

from .nearness import is_plural, is_same, split_words

LONGEST: Final = 9
"""Letters of the longest word in the list."""
_FILE: Final = "known_words.txt"
_SHORT: Final = 3
"""Letters of what may be somebody's abbreviation, unless they are those of the other word without some: `nme`."""
_MOST_SLIPS: Final = 2
"""What is farther away is found in other ways than by its letters."""
_CUT_SHORT: Final = 7
"""Letters of a word that is none without its last one. (`local` and `locale` have fewer.)"""
_SHORTEST_STEM: Final = 3
_SHORTEST_DOUBLED: Final = 6
"""Letters of a word in which a letter is written once or twice: `off` is none of `of`."""
_ENDING: Final = re.compile(r"e?(?:s|d|ing)|ly")
_DOUBLED: Final = re.compile(r"(.)\1+")
_BRITISH: Final = (
    (re.compile(r"(?<=[a-z]{3})our(?!t|s[ei])"), "or"),
    (re.compile(r"(?<=[a-z]{3})[iy]s(?=[eai])"), "iz"),
    (re.compile(r"(?<=[a-z]{3})yz"), "iz"),
    (re.compile(r"logue(?=s?$)"), "log"),
    (re.compile(r"ence(?=s?$)"), "ense"),
    (re.compile(r"^grey"), "gray"),
)


@cached(4096)
def may_be_other_word(text: str, near: str) -> bool:
    """Whether a text of which another one is a slip or two away may be meant as it is written.

    Not where they are one but for case, separators, the number or the form of a word, two letters in turn, a letter
    written twice, British and American spelling; nor where it is no known word. (In long words nobody errs by meaning
    another one, as a rule: The list of known words has none over nine letters.)
    """
    if is_same(text, near) or is_plural(text, near):
        return False
    one, two = split_words(text), split_words(near)
    if len(one) != len(two):
        one, two = ("".join(one),), ("".join(two),)
    return any(_may_be_other(first, second) for first, second in zip(one, two, strict=True) if first != second)


def _may_be_other(word: str, other: str) -> bool:
    slips = OSA.distance(word, other, score_cutoff=_MOST_SLIPS)
    shorter, longer = sorted((word, other), key=len)
    if slips > _MOST_SLIPS or is_plural(word, other) or _is_inflected(shorter, longer):
        return False
    if len(longer) >= _SHORTEST_DOUBLED and _DOUBLED.sub(r"\1", word) == _DOUBLED.sub(r"\1", other):
        return False
    if _american(word) == _american(other) or (slips == 1 and sorted(word) == sorted(other)):
        return False
    if not word.isalpha():
        return True  # a version or a code: another digit is another thing
    if slips == 1 and longer.startswith(shorter):
        return is_known(word) and len(shorter) < _CUT_SHORT
    return is_known(word) or (len(word) <= _SHORT and not _is_shortened(word, other))


def _is_shortened(word: str, other: str) -> bool:
    """Whether a word has the letters of another one, but for some: `nme` of `name`."""
    letters = iter(other)
    return word[:1] == other[:1] and all(letter in letters for letter in word)


def _is_inflected(shorter: str, longer: str) -> bool:
    """Whether a word is another one in another form: `closed` of `close`, `weekly` of `week`."""
    stem = shorter.removesuffix("e")
    return len(stem) >= _SHORTEST_STEM and longer.startswith(stem) and bool(_ENDING.fullmatch(longer[len(stem) :]))


def _american(word: str) -> str:
    """Return a word as Americans spell it: `color` for `colour`."""
    for pattern, plain in _BRITISH:
        word = pattern.sub(plain, word)
    return word


def is_known(word: str) -> bool:
    """Whether people write a word on purpose: it is one of English, or of names in APIs."""
    words, searched = known_words(), word.encode(errors="replace")

    def at(index: int) -> bytes:
        return words[index * LONGEST : (index + 1) * LONGEST]

    return at(bisect_left(range(len(words) // LONGEST), searched.ljust(LONGEST), key=at)).rstrip() == searched


@cache
def known_words() -> bytes:
    """Return the words of 2 to `LONGEST` letters in order, each as long as the longest: a set of them takes 5 MB.

    The file says where they come from.
    """
    lines = files(__package__).joinpath(_FILE).read_bytes().splitlines()
    return b"".join(sorted(line.ljust(LONGEST) for line in lines if not line.startswith(b"#")))
