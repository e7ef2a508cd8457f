"""Patterns of RE2: linear in the text, whatever the author wrote and whatever the text is.

RE2 keeps what it learns of the texts it has seen (the states of a DFA) up to a bound, as long as the pattern lives. Its
own bound is 8 MB for each pattern, and a set of some hundred patterns fills any: texts of errors differ without end.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import re2

_OF_ONE: Final = 640 << 10
"""Bytes for the states of one pattern."""
_OF_TEST: Final = 256 << 10
"""Bytes for a pattern without groups and its states."""
_KEPT: Final = 16
"""Patterns that are kept for who asks for the same again."""
_OF_A_CHARACTER: Final = 160
"""Bytes for the states of a set, for each character of its patterns; `_OF_ONE` at least."""
_LONGEST_SET: Final = 2000
"""Characters of the patterns that are searched for in one pass. In one set the states of all patterns multiply."""
_MOST_SETS: Final = 16
_MOST: Final = 256 << 20
"""Bytes, where a set cannot be compiled with less."""


@functools.lru_cache(_KEPT)
def compiled(text: str | bytes, memory: int = _OF_ONE) -> Any:
    """Return a compiled pattern of RE2, which has no types. Raises re2.error."""
    try:
        # What `re2.compile` calls, which keeps 128 of them: answers of APIs have patterns, too.
        return re2._Regexp(text, _options(memory))
    except re2.error:
        return re2._Regexp(text, _options(re2.Options().max_mem))  # it is no pattern, or a long one


def compiled_without_groups(text: str) -> Any:
    """Return a pattern of which one asks only whether it matches: groups would cost thousands of times as much.

    Raises re2.error, also for a pattern that unfolds beyond its room.
    """
    options = _options(_OF_TEST)
    options.never_capture = True
    return re2._Regexp(text, options)


def _options(memory: int, *, case_sensitive: bool = True) -> Any:
    options = re2.Options()
    options.max_mem = memory
    options.case_sensitive = case_sensitive
    options.log_errors = False
    return options


class Pattern:
    """A pattern that a native message is searched for."""

    __slots__ = ("_anchor", "_match", "names", "text")

    def __init__(self, text: str, memory: int = _OF_ONE, *, keeps_states: bool = True) -> None:
        """Raises ValueError for a pattern that RE2 does not take.

        Without `keeps_states` RE2 makes none of the states for a short text: half of the memory of a pattern.
        """
        # RE2 goes without where it knows the start of a match, and `\C` is any byte.
        self._anchor, before = (_UNANCHORED, "") if keeps_states else (_AT_START, r"\C*?")
        try:
            # Over bytes: the text interface decodes every offset and costs five times as much.
            pattern = compiled((before + text).encode(), memory)
        except re2.error as problem:
            message = problem.args[0] if problem.args else problem
            raise ValueError(message.decode() if isinstance(message, bytes) else str(message)) from None
        self.text = text
        self.names = {
            number: (name.decode() if isinstance(name, bytes) else name) for name, number in pattern.groupindex.items()
        }
        # What re2 wraps: the wrapper's own `search` takes three times as long.
        self._match = pattern._regexp.Match

    def search(self, message: str) -> dict[str, str] | None:
        """Return the named groups that took part, or None where the pattern does not match."""
        text = message.encode("utf-8", "surrogatepass")
        spans = self.spans(text)
        return None if spans is None else {name: text[start:end].decode() for name, (start, end) in spans.items()}

    def spans(self, text: bytes, at: int = 0) -> dict[str, tuple[int, int]] | None:
        """Return where the named groups that took part stand, None where the pattern does not match from an index."""
        spans = self._match(self._anchor, text, at, len(text))
        if spans[0] == _NO_SPAN:
            return None
        return {name: spans[number] for number, name in self.names.items() if spans[number][0] >= 0}


_UNANCHORED, _AT_START = re2._re2.RE2.Anchor.UNANCHORED, re2._re2.RE2.Anchor.ANCHOR_START
_NO_SPAN = (-1, -1)


class PatternSet:
    """Patterns of which those are found that match, in a few passes however many there are."""

    __slots__ = ("_parts",)

    def __init__(self, texts: Sequence[str], *, case_sensitive: bool = True) -> None:
        longest = max(_LONGEST_SET, -(-sum(map(len, texts)) // _MOST_SETS))
        # What re2 wraps: a text is asked of several sets, and encoded once.
        self._parts = tuple(
            (first, _set(texts[first:last], case_sensitive=case_sensitive)._set.Match)
            for first, last in _parts(texts, longest)
        )

    def matches(self, text: bytes) -> list[int]:
        """Return the numbers of the patterns that match a text, in any order."""
        if len(self._parts) == 1:
            found: list[int] = self._parts[0][1](text)
            return found
        return [first + number for first, match in self._parts for number in match(text)]


def _parts(texts: Sequence[str], longest: int) -> list[tuple[int, int]]:
    """Return runs of texts that are not too long together: the first, and the one after the last."""
    starts, length = [0], 0
    for number, text in enumerate(texts):
        length += len(text)
        if length > longest and number > starts[-1]:
            starts.append(number)
            length = len(text)
    return list(zip(starts, [*starts[1:], len(texts)], strict=True))


def _set(texts: Sequence[str], *, case_sensitive: bool) -> Any:
    memory = max(_OF_ONE, _OF_A_CHARACTER * sum(map(len, texts)))
    while True:
        made = re2.Set.SearchSet(_options(memory, case_sensitive=case_sensitive))
        try:
            for text in texts:
                made.Add(text)
            made.Compile()
        except re2.error:
            if memory >= _MOST:
                raise
            memory *= 2
        else:
            return made
