"""Names of the request in a text that quotes nothing: `Page size`, `Invalid characters in room alias`.

Knows: one text and the places that were sent. Does not know: values in texts, formats, descriptions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words

from .sent_values import SentValue

_LONGEST: Final = 2000
_MOST_NAMES: Final = 16
_OF_PATTERN: Final = 20
"""Steps of compiling a pattern, and searching a text for it."""
_COMPARED_A_STEP: Final = 8
_ENDINGS: Final = frozenset({"id", "name", "key"})
"""Last words of names that a sentence leaves out: `Shelf top` of `shelf_name`."""


def names_in_message(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the places whose names of several words a text has, apart or together: `Page size`, `PageSize`."""
    text = message[:_LONGEST]
    together = re.sub(r"[ _-]", "", text).lower()
    places: dict[tuple[str, ...], list[str]] = {}
    for one in sent:
        parts = words(one.path[-1]) if one.path and one.folded[-1] in together else ()
        if len(parts) > 1:
            places.setdefault(parts, []).append(one.pointer)
    if len(places) > _MOST_NAMES:
        return []
    out: list[str] = []
    for parts, pointers in places.items():
        spend(_OF_PATTERN)
        pattern = r"[ _-]?".join(map(re.escape, parts))
        if re.search(rf"(?i)(?<![\w.]){pattern}(?!\w)", text):
            out += pointers
    return out


def name_as_word(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the places of whose names the most words are words of a text: `The page limit is 40`.

    All words of a name have to be there, the last one perhaps longer: `filter-lang` for `Invalid filter language`; a
    last one such as `name` may be left out.
    """
    told = sorted({word.lower() for word in re.findall(r"[A-Za-z]{3,40}", message[:_LONGEST])})
    has_stems = "already" not in told and "duplicate" not in told  # which of several names is taken is another matter
    places: dict[str, int] = {}
    counts: dict[str, int] = {}
    for one in sent:
        name = one.path[-1] if one.path else ""
        if name not in counts:
            counts[name] = _count_told(name, told, has_stems=has_stems)
        is_general = name.lower() in _ANY_HOLDER and isinstance(one.value, Mapping | list)
        if counts[name] and not is_general:
            places[one.pointer] = counts[name]
    most = max(places.values(), default=0)
    return [place for place, count in places.items() if count == most]


def members_told(message: str, inside: Sequence[SentValue]) -> list[str]:
    """Return which members of one place a text names, be it by a word that any text may have: `type`, `value`."""
    told = {word.lower() for word in re.findall(r"[A-Za-z]{2,40}", message[:_LONGEST])}
    return [one.pointer for one in inside if told.issuperset(words(one.path[-1]) or ("",))]


def _count_told(name: str, told: Sequence[str], *, has_stems: bool) -> int:
    """Return how many words a name has if a text has all of them; 0 else, and for a name that any text may have.

    `told` are the words of the text, in order.
    """
    spend()
    parts = words(name)
    if not parts or (len(parts) == 1 and parts[0] in ANYTHING):
        return 0
    if not all(_first_from(part, told) == part for part in parts[:-1]):
        return 0
    if _is_told(parts[-1], told, parts):
        return len(parts)
    # `Invalid characters in room alias` is about `room_alias_name`.
    is_stem = has_stems and len(parts) > 1 and parts[-1] in _ENDINGS and not ANYTHING.issuperset(parts[:-1])
    return len(parts) - 1 if is_stem else 0


def _is_told(word: str, told: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a text has the last word of a name, in the singular for the plural, or a longer one for its beginning."""
    following = _first_from(word, told)
    if following == word or (word.endswith("s") and _first_from(word[:-1], told) == word[:-1]):
        return True
    if word.endswith("ies") and _first_from(f"{word[:-3]}y", told) == f"{word[:-3]}y":
        return True
    return len(parts) > 1 and len(word) >= _SHORTEST_BEGINNING and following.startswith(word)


def _first_from(word: str, ordered: Sequence[str]) -> str:
    """Return the first of some words in order that is not before a word; empty where there is none."""
    index = bisect_left(ordered, word)
    return ordered[index] if index < len(ordered) else ""


_SHORTEST_BEGINNING: Final = 3


_OF_ANY_REQUEST: Final = (
    "name type value values key code kind text request body query path header method json object string number integer"
    " boolean list array map item items field fields param params parameter parameters property properties option input"
    " error errors message result resource url status version api server not and"
)
ANYTHING: Final = frozenset(_OF_ANY_REQUEST.split())
"""Words of messages about any request, whatever its members are called."""
_ANY_HOLDER: Final = frozenset({"data", "attributes", "config", "spec", "metadata", "options", "settings", "content"})
