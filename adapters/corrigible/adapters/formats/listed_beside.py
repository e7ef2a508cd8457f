"""Names of what is missing that stand in a list beside a text which does not name them, or in a language of its own.

`{"code": "rest_missing_param", "message": "Des champs manquent.", "data": {"params": ["username", "email"]}}`

Knows: one error with its members, the request. Does not know: sentences, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .message.absence import is_blank
from .pointers import pointer, steps

_LISTS: Final = ("params", "parameters", "fields", "arguments", "attributes", "properties", "names", "missing")
_AROUND: Final = ("data", "details", "context", "meta", "extra", "info")
"""Members whose object has what belongs to a text, with the lists."""
_MISSING_CODE: Final = frozenset({"missing", "required", "absent"})
"""Words of a code without one of which a list may hold anything, such as the words to put into the text."""
_NAME: Final = re.compile(r"[A-Za-z_$][\w$.-]{0,79}")
_MOST: Final = 32
_LONGEST_CODE: Final = 80


def missing_beside(violation: Violation, request: Request) -> list[Violation]:
    """Return the errors for the names that are listed beside a text, if its code says that something is missing.

    What was sent is not missing: then the list is of something else.
    """
    if not violation.native or _MISSING_CODE.isdisjoint(words(violation.code[:_LONGEST_CODE])):
        return []
    for listed in _lists(violation.native):
        places = [pointer(steps(name), request) for name in listed]
        there = [value_at(request, place) for place in places]
        if all(value is MISSING or is_blank(value) for value in there):
            return [violation.at(place, "required", {}) for place in dict.fromkeys(places)]
    return []


def _lists(native: Mapping[str, Json]) -> Iterator[list[str]]:
    """Yield the lists of names that an error has, itself or around what belongs to its text."""
    for members in (native, *(native[name] for name in _AROUND if name in native)):
        if not isinstance(members, Mapping):
            continue
        for name in _LISTS:
            value = members.get(name)
            if isinstance(value, list) and 0 < len(value) <= _MOST and all(_is_name(one) for one in value):
                yield [str(one) for one in value]


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None
