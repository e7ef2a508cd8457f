"""The words of names, paths and descriptions, in one form: split, lower case, without endings and stop words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta|p)\d+)*")
_STOP: Final = frozenset(
    {
        *("a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for"),
        *("from", "has", "have", "if", "in", "into", "is", "it", "its", "may", "must", "not", "of", "on"),
        *(
            "only",
            "or",
            "so",
            "such",
            "than",
            "that",
            "the",
            "their",
            "them",
            "then",
            "there",
            "these",
            "this",
            "those",
        ),
        *("to", "via", "was", "were", "when", "where", "which", "who", "will", "with", "would", "you", "your"),
    }
)
LONGEST: Final = 4000
"""Characters of a text that are read."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word without the common endings of English: plural, -ed, -ing. Both of a pair need the same result."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _without_e(word[:-1])
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if len(root) > 3 and root != word and any(vowel in root for vowel in "aeiouy"):
            return root[:-1] if len(root) > 4 and root[-1] == root[-2] and root[-1] not in "sl" else _without_e(root)
    return _without_e(word)


def _without_e(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("e") and word[-2] not in "aeou" else word


@lru_cache(maxsize=1 << 16)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name such as `listPullRequests` or `pull_number`, with endings removed."""
    return tuple(stem(part.lower()) for part in _PART.findall(name[:LONGEST]))


def text_words(text: str) -> list[str]:
    """Return the words of a sentence that say something."""
    return [stem(low) for part in _PART.findall(text[:LONGEST]) if (low := part.lower()) not in _STOP and len(low) > 1]


def is_version(segment: str) -> bool:
    """Whether a segment of a path, or a part of a package's name, is a version: `v1`, `v1beta1`."""
    return _VERSION.fullmatch(segment.lower()) is not None


def joined(words: Iterable[str]) -> str:
    return " ".join(words)
