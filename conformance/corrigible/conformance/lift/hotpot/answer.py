"""Answers compared as HotpotQA's own evaluation does (hotpot_evaluate_v1.py): exact match, and F1 over words."""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import Final

_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION: Final = frozenset(string.punctuation)
_CLOSED: Final = frozenset({"yes", "no", "noanswer"})
"""Answers that share no credit with any other."""


def normalised(text: str) -> str:
    """Return an answer in lower case, without punctuation, articles and blanks that say nothing."""
    plain = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def is_exact(answer: str, gold: str) -> bool:
    """Whether two answers are the same after normalisation."""
    return normalised(answer) == normalised(gold)


def f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall over words."""
    said, wanted = normalised(answer), normalised(gold)
    if said != wanted and (said in _CLOSED or wanted in _CLOSED):
        return 0.0
    said_words, wanted_words = said.split(), wanted.split()
    same = sum((Counter(said_words) & Counter(wanted_words)).values())
    if not same:
        return 0.0
    precision, recall = same / len(said_words), same / len(wanted_words)
    return 2 * precision * recall / (precision + recall)
