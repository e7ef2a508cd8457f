"""What the user got wrong, said in a line or two, and the word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Misused(Exception):
    """An argument or a file makes no sense, or what is to be judged is not there. Exit status 2."""


def meant(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the nearest known word, or nothing where none is near."""
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return f'; did you mean "{by_lower[near[0]]}"?' if near else ""
