"""Sentences of a server that found nothing where it looked for a name: `Parent note 'undefined' was not found`.

JavaScript, Python, Ruby and Go write so of a variable without a value, or nothing at all: `Run with id= not found`. It
stands for something that was not sent.

Knows: one text. Does not know: what is declared, what follows.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from corrigible.rules.safety.decisive import word_set, words

from .sent_values import says_absent

_READ: Final = 500
_NONE: Final = r"(?P<none>undefined|null|nil|None)"
_PHRASE: Final = r"(?P<phrase>\b[A-Za-z][\w-]{0,60}(?: [A-Za-z][\w-]{0,60}){0,5})"
_QUOTED: Final = re.compile(rf"{_PHRASE}[:=]? ?(?P<mark>['\"`]){_NONE}(?P=mark)(?![\w'\"`])")
_PLAIN: Final = re.compile(
    rf"{_PHRASE}(?:[:=] ?| ){_NONE}(?: (?:(?:was |is |could )?not (?:be )?found|does(?: not|n't) exist)\b|[.!]?$)"
)
_EMPTY: Final = re.compile(
    r"(?P<phrase>\b[A-Za-z][\w-]{0,60}(?: [A-Za-z][\w-]{0,60}){0,3}) with (?:the )?(?P<ending>id|name|key|uuid|slug)"
    r"(?: ?[=:] ?(?:''|\"\"|``)?| (?:''|\"\"|``))"
    r"(?: (?:(?:was |is |could )?not (?:be )?found|does(?: not|n't) exist)\b|[.!]?$)"
)
"""The same with an empty text, or none, in the place of the name."""
_QUOTE: Final = re.compile(r"['\"`](?![a-z]\b)")
_VERBS: Final = word_set("found got received is was be value type of in to for with by at on and or but not from")
"""Words before a value that call it nothing in particular."""
_ENDINGS: Final = word_set("id ids name key uuid slug with of by for the named called")


class Unsent(NamedTuple):
    """The words of a sentence for a resource whose name was not sent."""

    noun: tuple[str, ...]
    """The words before the name, of which the last ones are the resource's."""
    value: str
    """The spelling of the missing name: `undefined`."""
    ending: str = ""
    """The word for the name: `id`."""


def unsent(message: str) -> Unsent | None:
    """Return what a text looked for under no name; None where it does not say so."""
    text = message[:_READ]
    if not says_absent(text):
        return None
    if (empty := _EMPTY.search(text)) is not None:
        return Unsent(words(empty["phrase"]), "", empty["ending"].lower())
    told = _QUOTED.search(text) or _PLAIN.search(text)
    if told is None or _QUOTE.search(text[: told.start()]) is not None:
        return None  # what is quoted before it is what was looked for: `Document with id "7", locale "null"`
    noun = list(words(told["phrase"]))
    if noun[-1:] == ["of"]:
        return None  # a member of nothing is none of the request's
    while noun and noun[-1] in _ENDINGS:
        noun.pop()
    return Unsent(tuple(noun), told["none"]) if noun and noun[-1] not in _VERBS else None
