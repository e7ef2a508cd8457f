"""The error for a user's mistake, and the word that was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class UsageError(Exception):
    """An argument or a file makes no sense, or what is to be judged is not there. Exit status 2."""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the nearest known word, or nothing where none is near."""
    by_plain = {_normalized(candidate): candidate for candidate in candidates}
    near = difflib.get_close_matches(_normalized(word), list(by_plain), n=1, cutoff=0.6)
    return f'; did you mean "{by_plain[near[0]]}"?' if near else ""


def _normalized(word: str) -> str:
    """Return a word without what people leave out: case, and noughts before a number."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", word.lower())
