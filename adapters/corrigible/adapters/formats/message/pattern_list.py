"""Patterns of which the first that matches counts, found in one pass over a text.

RE2 tells in one pass which patterns may match, and only those are tried, in their order: most texts match none of
thirty. RE2 has no look-around and pays for counters, so it is given weaker patterns, which match whatever the patterns
match, and more.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import re2

_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|[()]|.", re.DOTALL)
_COUNTER: Final = re.compile(r"\{(?P<least>[01]),\d+\}")
_MEMORY: Final = 16 << 20


class PatternMatch(NamedTuple):
    number: int
    """The index of the pattern in its list."""
    match: re.Match[str]


class PatternList:
    """Patterns in the order in which they are tried; upper and lower case are the same."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        options.max_mem = _MEMORY
        self._set = re2.Set.SearchSet(options)
        for text in texts:
            self._set.Add(_weaker(text))
        self._set.Compile()

    def search(self, text: str) -> PatternMatch | None:
        """Return the match of the first pattern that is found in a text."""
        for number in self.candidates(text):
            match = _compiled(self.texts[number]).search(text)
            if match is not None:
                return PatternMatch(number, match)
        return None

    def candidates(self, text: str) -> Sequence[int]:
        """Return the numbers of the patterns that may be found in a text: no other one is."""
        return sorted(self._set.Match(text) or ()) if _is_plain(text) else range(len(self.texts))


def _is_plain(text: str) -> bool:
    """Whether words, blanks and the end of a text are the same to RE2 and to Python."""
    return text.isascii() and (text.isprintable() or (text[-1:] != "\n" and text.replace("\n", " ").isprintable()))


@functools.cache
def _compiled(text: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: to compile all of them takes longer than to start the rest."""
    return re.compile(text, re.IGNORECASE)


def _weaker(text: str) -> str:
    """Return a pattern without look-around and without upper bounds of repetition."""
    out: list[str] = []
    depth = inside = 0
    for token in _TOKEN.findall(text):
        depth += token.startswith("(") - (token == ")")
        if not inside and _LOOK_AROUND.fullmatch(token):
            inside = depth
        if not inside:
            out.append(token)
        elif token == ")" and depth < inside:
            inside = 0
    return _COUNTER.sub(lambda counter: "+" if counter["least"] == "1" else "*", "".join(out))
