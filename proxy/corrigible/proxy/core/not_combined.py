"""Members that a text does not name, and of which it says that they cannot be combined: `Old and new sorting syntax`.

It has a word of their names, in one of the forms that English has for it: `sort`, `sort_key` and `sort_dir` are about
sorting. Which of them is one too many it does not say.

Knows: the words of a text, names with their places. Does not know: values, what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from corrigible.rules.safety.decisive import words

_NOT_COMBINED: Final = re.compile(
    r" (?:can ?not|can t|may not|must not|should not) be (?:combined|mixed|used together|specified together"
    r"|set together|given together|sent together)(?: in (?:one|the same|a single) \w+)? $"
)
_ENDINGS: Final = ("", "s", "es", "ed", "ing", "er", "ers")
_SHORTEST: Final = 4
_NO_WORDS: Final = frozenset(
    {"name", "value", "type", "with", "param", "parameter", "query", "option", "field", "request", "user", "used"}
)
"""Words that names have, and texts about anything."""


def not_combined(text: str, named: Iterable[tuple[str, str]]) -> list[str]:
    """Return the places of at least two members beside each other whose names have the word that a text is about.

    `text` is in lower case, with blanks between its words and around them.
    """
    told = _NOT_COMBINED.search(text)
    if told is None:
        return []
    subject = set(text[: told.start()].split())
    places: dict[str, list[str]] = {}
    for name, place in named:
        for word in words(name)[:1]:
            if len(word) >= _SHORTEST and word not in _NO_WORDS and _forms(word) & subject:
                places.setdefault(word, []).append(place)
    if len(places) != 1:
        return []
    (alike,) = places.values()
    return alike if len(alike) > 1 and len({one.rpartition("/")[0] for one in alike}) == 1 else []


def _forms(word: str) -> set[str]:
    return {f"{stem}{ending}" for stem in (word, word.removesuffix("e")) for ending in _ENDINGS}
