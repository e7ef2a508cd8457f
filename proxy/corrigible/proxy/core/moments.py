"""Moments that a sentence relates to each other, or to now, by words of their names.

"Start time must be before end time" is about `startsAt` and `endsAt`.

Knows: one sentence, the names of the values that were sent. Does not know: requests, clocks, which moment is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from corrigible.rules.budget import spend

_MOST_WORDS: Final = 3
"""Words that a moment is called by."""
_MOST_COMPARED: Final = 60
_OBLIGED: Final = r"(?:must|should|has to|needs to|can ?not|can t|ca not|may not|is)(?: not)?(?: be| come| lie)?"
_RELATED: Final = re.compile(
    rf" {_OBLIGED} (?:before|after|earlier than|later than|prior to|precedes?|follows?|less than|greater than|at least"
    r"|at most)(?: or (?:equal to|at|the same as))?(?: the)? "
)
_TO_NOW: Final = re.compile(
    rf" {_OBLIGED} (?:in the (?:past|future)|(?:before|after|earlier than|later than)"
    r" (?:now|the current (?:time|date))) "
)
_OF_MOMENTS: Final = frozenset({"time", "date", "at", "on", "the", "datetime", "timestamp", "day", "moment"})
"""Words of names of moments that say nothing of which."""


def places_of_moments(text: str, values: Iterable[tuple[str, str]]) -> list[str]:
    """Return the place of a moment that a text relates to now, or of two siblings that it relates to each other.

    `text` has plain words in lower case between blanks, and so have the names of `values`, each with its place. Each
    moment has to be the only value that is called so, and be called by no other words.
    """
    now = _TO_NOW.search(text)
    told = now or _RELATED.search(text)
    if told is None:
        return []
    before, after = text[: told.start()].split()[-_MOST_WORDS:], text[told.end() :].split()[:_MOST_WORDS]
    named = [(own, place) for name, place in islice(values, _MOST_COMPARED) if (own := _telling(name.split()))]
    spend(len(named))
    first = _called_by([before[-length:] for length in range(len(before), 0, -1)], named)
    if now is not None:
        return [first] if first else []
    second = _called_by([after[:length] for length in range(len(after), 0, -1)], named)
    is_pair = first and second and first != second and first.rpartition("/")[0] == second.rpartition("/")[0]
    return [first, second] if is_pair else []


def _telling(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _OF_MOMENTS]


def _called_by(phrases: Sequence[Sequence[str]], named: Sequence[tuple[list[str], str]]) -> str:
    """Return the only place whose name has the words of a phrase and no others; of the longest phrase with one."""
    for told in map(_telling, phrases):
        places = [place for own, place in named if len(own) == len(told) and all(map(_is_form, told, own))]
        if told and len(places) == 1:
            return places[0]
    return ""


def _is_form(word: str, other: str) -> bool:
    """Whether two words are one in two forms: `start`, `starts`, `started`."""
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) > 2 and longer in (shorter + "s", shorter + "ed", shorter + "d"))
