"""Words that people write on purpose: of English, and of names in APIs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

LONGEST: Final = 9
"""Letters of the longest word in the list."""
_FILE: Final = "known_words.txt"


@cache
def known_words() -> frozenset[str]:
    """Return words of 2 to `LONGEST` letters, in lower case. The file says where they come from."""
    lines = files(__package__).joinpath(_FILE).read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
