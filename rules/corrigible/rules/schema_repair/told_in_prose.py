"""What the prose of a description says of a value, and its schema cannot say or does not.

| prose                                      | what is told                                   |
|--------------------------------------------|------------------------------------------------|
| `1 for ascending, -1 for descending`       | which word each number of a closed list means  |
| `none (0), read (1)`                       | the same                                       |
| `A JSON list of types`                     | that the text at a place holds JSON, of a kind |
| `When, in the site's timezone`             | that a time has no offset                      |

Knows: sentences of descriptions. Does not know: requests, errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from corrigible.rules.safety.nearness import letters
from corrigible.schema.exchange import Json

from .json_schema import Schema, choices, types
from .local_time import LOCAL, told_local

MEANT: Final = "x-meant"
"""In a schema of a closed list of integers: the word for each, as the description has it."""
HELD: Final = "x-held"
"""In a schema of a text: `array` or `object`, which it holds as JSON by its description."""

_NUMBER_FIRST: Final = re.compile(
    r"(?<![\w.-])(?P<number>-?\d{1,6})['\"`]?\s{0,2}(?:for|=|means|is|:|->|-|\u2013)\s{0,2}['\"`]?(?P<word>[A-Za-z][\w-]{1,30})"
)
_WORD_FIRST: Final = re.compile(
    r"(?<![\w-])(?P<word>[A-Za-z][\w-]{1,30})['\"`]?\s{0,2}(?:=|:|->|\()\s{0,2}['\"`]?(?P<number>-?\d{1,6})(?![\w.])"
)
_HELD: Final = re.compile(r"(?i)\bJSON(?:[ -](?:encoded|formatted|serialized))?[ -](?P<kind>list|array|object)\b")
_READ: Final = 4000
"""Letters of a description that are looked at."""
_MOST: Final = 32
_SHORTEST: Final = 3
"""Letters that a word has at least to stand for a longer one: `desc`."""


def told_in_prose(prose: Json, schema: Schema) -> dict[str, Json]:
    """Return the annotations of a schema that its description gives."""
    if not isinstance(prose, str):
        return {}
    text = prose[:_READ]
    if (meant := _meanings(text, schema)) is not None:
        return {MEANT: meant}
    if told_local(text, schema):
        return {LOCAL: True}
    held = _HELD.search(text) if types(schema) == ("string",) and not choices(schema) else None
    return {} if held is None else {HELD: "object" if held["kind"].lower() == "object" else "array"}


def _meanings(text: str, schema: Schema) -> dict[str, Json] | None:
    """Return the words for the numbers of a closed list, if the text has one for each."""
    numbers = [one for one in choices(schema) if isinstance(one, int) and not isinstance(one, bool)]
    if not 1 < len(numbers) <= _MOST or len(numbers) != len(choices(schema)):
        return None
    told = [_pairs(pattern.finditer(text)) for pattern in (_NUMBER_FIRST, _WORD_FIRST)]
    whole = [one for one in told if sorted(one.values()) == sorted(numbers)]
    return dict(whole[0]) if len(whole) == 1 else None


def _pairs(matches: Iterable[re.Match[str]]) -> dict[str, int]:
    return {match["word"]: int(match["number"]) for match in matches}


def number_meant(word: str, schema: Schema) -> int | None:
    """Return the number that a word stands for, which may be the beginning of the one that the description has."""
    meant, sent = schema.get(MEANT), letters(word)
    if not isinstance(meant, Mapping) or not sent:
        return None
    same = {number for told, number in meant.items() if letters(told) == sent}
    begun = {number for told, number in meant.items() if len(sent) >= _SHORTEST and letters(told).startswith(sent)}
    found = same or begun
    return next(iter(found)) if len(found) == 1 else None
