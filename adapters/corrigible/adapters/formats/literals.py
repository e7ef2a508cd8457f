"""Data written inside a text: JSON, or Python's notation of dicts and lists.

Servers print their list of errors into one message: `{'value': ['Missing data for required field.']}`, tRPC's
`[{"code": "too_small", "path": ["name"]}]`, `Missing required property(ies): ['slots']`. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from itertools import islice
from typing import Final, NamedTuple

import orjson

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

_BEGINNING: Final = re.compile(r"[{\[]")
_END: Final = re.compile(r"[}\]]")
_ESCAPE: Final = re.compile(r"\\([\\'\"nrt])?")
_LONGEST: Final = 4000
_MOST_BEGINNINGS: Final = 3
_MOST_ENDS: Final = 8
"""The last ones of a text: few words stand behind what a program prints."""


class Literal(NamedTuple):
    """A dict or list in a text, and where it stands."""

    value: Json
    start: int
    end: int


def find_literal(text: str) -> Literal | None:
    """Return the first dict or list in a text that is complete and not empty, None where there is none."""
    if len(text) > _LONGEST:
        return None
    ends = [one.end() for one in _END.finditer(text)][: -_MOST_ENDS - 1 : -1]
    for beginning in islice(_BEGINNING.finditer(text), _MOST_BEGINNINGS):
        start = beginning.start()
        for end in (one for one in ends if one > start):
            spend()
            if value := _value(text[start:end]):
                return Literal(value, start, end)
    return None


def _value(written: str) -> Json:
    try:
        return orjson.loads(written)
    except orjson.JSONDecodeError:
        pass
    try:
        value = ast.literal_eval(_ESCAPE.sub(lambda found: found[0] if found[1] else r"\\", written))
        return orjson.loads(orjson.dumps(value))  # a tuple is a list of JSON
    except (SyntaxError, TypeError, ValueError):
        return None
