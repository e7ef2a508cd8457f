"""The place of the value that a text blames, where it calls its member only by words like its name.

| the text                                  | the member    | why                                                     |
|-------------------------------------------|---------------|---------------------------------------------------------|
| `Invalid tree index: 9`                   | `tree_number` | the value, sent only there, and a word of the name      |
| `Cannot create a compressor of class rar` | `compression` | the value at the end, and a word with the same beginning |

A short value may stand in any text: it counts only where the words before it are about its member.

Knows: texts, values that were sent. Does not know: descriptions, formats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.sent_values import SentValue
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words
from corrigible.schema.document import scalar_text

from .place_by_label import is_alike
from .sent_places import COMPARED_A_STEP

_READ: Final = 300
_BLAMED: Final = (
    re.compile(
        r"(?i)(?:invalid|illegal|unsupported|unknown|unrecogni[sz]ed|bad|wrong) (?P<label>[a-z][\w -]{1,60}?): ?"
        r"(?P<value>[^\s:,;]{1,80}?)(?:[.!,;]?\s*$|[.!,;]\s)"
    ),
    re.compile(
        r"(?i)(?:can ?not|can't|could not|unable to|failed to) (?:create|build|make|load|open|use|instantiate)"
        r" (?P<label>[a-z][\w -]{1,80}) (?P<value>[^\s:,;]{2,80}?)[.!]?$"
    ),
)
"""How a text ends, or its first sentence does, with a value that is refused."""


def place_by_blame(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place with the value that a text blames, whose name is like the words before it."""
    for pattern in _BLAMED:
        told = pattern.match(message[:_READ])
        if told is None:
            continue
        spend(len(sent) // COMPARED_A_STEP)
        there = [one for one in sent if one.path and _is_written(one, told["value"])]
        label = words(told["label"].replace(" ", "_"))
        meant = {one.pointer for one in there if any(is_alike(word, other) for word in label for other in _name(one))}
        return next(iter(meant)) if len(meant) == 1 else ""
    return ""


def _is_written(one: SentValue, value: str) -> bool:
    return not isinstance(one.value, Mapping | list) and scalar_text(one.value) == value


def _name(one: SentValue) -> tuple[str, ...]:
    return words(next((part for part in reversed(one.path) if not part.isdecimal()), ""))
