"""Patterns of which the first that matches counts, found in a few passes over a text.

RE2 tells in a few passes which patterns of all lists may match, and only those are tried, in their order: most texts
match few of a hundred. RE2 has no look-around and pays for counters, so it is given weaker patterns, which match
whatever the patterns match, and more.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.pattern import PatternSet

_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|[()]|.", re.DOTALL)
_COUNTER: Final = re.compile(r"\{(?P<least>[01]),\d+\}")


class PatternMatch(NamedTuple):
    number: int
    """The index of the pattern in its list."""
    match: re.Match[str]


class _AllPatterns:
    """The patterns of all lists: the text of an error is searched for most of them, and that once."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._set: PatternSet | None = None
        self._lists: list[int] = []
        """Of each pattern the first number of its list."""
        self._last: tuple[str | None, Mapping[int, Sequence[int]] | None] = (None, None)
        """The last text and what may be found in it: list after list is looked for in the same text."""

    def add(self, texts: Sequence[str]) -> int:
        """Return the first number that the patterns of a list have among all."""
        first = len(self._texts)
        self._texts += texts
        self._lists += [first] * len(texts)
        self._set, self._last = None, (None, None)
        return first

    def candidates(self, text: str) -> Mapping[int, Sequence[int]] | None:
        """Return which patterns may be found in a text: by list the indexes in it. None where RE2 cannot tell."""
        last, found = self._last
        if text is not last:
            found = self._searched(text) if _is_plain(text) else None
            self._last = text, found
        return found

    def _searched(self, text: str) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = {}
        if self._set is None:
            self._set = PatternSet([_weaker(one) for one in self._texts], case_sensitive=False)
        for number in sorted(self._set.matches(text.encode())):
            first = self._lists[number]
            found.setdefault(first, []).append(number - first)
        return found


_ALL: Final = _AllPatterns()


class PatternList:
    """Patterns in the order in which they are tried; upper and lower case are the same."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self._first = _ALL.add(texts)

    def search(self, text: str) -> PatternMatch | None:
        """Return the match of the first pattern that is found in a text."""
        for number in self.candidates(text):
            match = _compiled(self.texts[number]).search(text)
            if match is not None:
                return PatternMatch(number, match)
        return None

    def candidates(self, text: str) -> Sequence[int]:
        """Return the numbers of the patterns that may be found in a text: no other one is."""
        found = _ALL.candidates(text)
        return range(len(self.texts)) if found is None else found.get(self._first, ())


def _is_plain(text: str) -> bool:
    """Whether words, blanks and the end of a text are the same to RE2 and to Python."""
    return text.isascii() and (text.isprintable() or (text[-1:] != "\n" and text.replace("\n", " ").isprintable()))


@functools.cache
def _compiled(text: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: to compile all of them takes longer than to start the rest."""
    return re.compile(text, re.IGNORECASE)


def _weaker(text: str) -> str:
    """Return a pattern without look-around and without upper bounds of repetition."""
    if _LOOK_AROUND.search(text) is None:
        return _unbounded(text)
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
    return _unbounded("".join(out))


def _unbounded(text: str) -> str:
    return _COUNTER.sub(lambda counter: "+" if counter["least"] == "1" else "*", text)
