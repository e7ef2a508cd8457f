"""Sentences that say that a value is missing, also where one was sent: then the server did not find it there.

Knows: one text and the request. Does not know: formats, descriptions.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.safety.nearness import is_same
from corrigible.schema.exchange import Json, Request

from .pattern_list import PatternList

SAYS_ABSENT: Final = PatternList(
    r"^(?:(?:this |the |a )?(?:[\w.$\[\] '\"-]{1,80} )?(?:field |value |property |parameter |member )?(?:is |are"
    r" )?(?:a )?"
    r"(?:required|missing|mandatory)(?: property| field| value| parameter)?[.!]?"
    r"|required key not provided.{0,200}|required field|.{0,200}\breceived:? undefined[.!]?"
    r"|missing data for required field\.?|field required|(?:no value|value not) provided\.?"
    r"|.{0,200}\b(?:can(?:'t|not| not)|must not|mustn't|may not|should not|shouldn't) be (?:null|blank|empty|"
    r"undefined|nil)\b.{0,80}"
    r"|.{0,80}\bmust be (?:provided|set|supplied|specified|given|present|defined)[.!]?"
    r"|.{0,80}\b(?:was not provided|received undefined|is undefined)[.!]?)$"
)


def misses(message: str, subject: str, place: str, request: Request) -> bool:
    """Whether a sentence misses what its subject names, though the request has a value of that very name at a place."""
    if SAYS_ABSENT.search(message) is None or not is_same(subject, segments(place)[-1]):
        return False
    there = value_at(request, place)
    return there is not MISSING and not is_blank(there)


def is_blank(value: Json) -> bool:
    return value in ("", None, [], {}) or (isinstance(value, str) and value.isspace())


def is_blank_at(place: str, request: Request) -> bool:
    """Whether nothing was sent at a place, or what is empty."""
    there = value_at(request, place)
    return there is MISSING or is_blank(there)


def misses_something(message: str) -> bool:
    """Whether a text says that what was looked for is not there, and calls it nothing in particular."""
    return _SOMETHING.search(message[:_READ]) is not None


_READ: Final = 500
_SOMETHING: Final = re.compile(
    r"(?i)(?:^|[:;.] ?)(?:the |that )?(?:requested )?(?:record|entity|object|item|resource|entry|row|document|element"
    r"|key|value|file|path)s? (?:was |were |is |are |could )?(?:not (?:be )?found|does(?:n't| not) exist)\b"
    r"|\bno (?:such |matching )?(?:record|entity|object|item|resource|entry|entries|row|document|element|key|value|file"
    r"|path)s?(?: (?:is |was |were )?found\b|\W*$)|^\W*not found\W*$"
)
