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
_PART: Final = re.compile(r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<opens>[{\[(])|[]})]""", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([\\'\"nrt])?")
_DEEPEST: Final = 8
_LONGEST: Final = 4000
_MOST_BEGINNINGS: Final = 3


class Literal(NamedTuple):
    """A dict or list in a text, and where it stands."""

    value: Json
    start: int
    end: int


def find_literal(text: str) -> Literal | None:
    """Return the first dict or list in a text that is complete and not empty, None where there is none."""
    if len(text) > _LONGEST:
        return None
    for beginning in islice(_BEGINNING.finditer(text), _MOST_BEGINNINGS):
        start, end = beginning.start(), _end(text, beginning.start())
        if value := _value(text[start:end]):
            return Literal(value, start, end)
    return None


def _end(text: str, start: int) -> int:
    """Return the index behind the bracket that closes the one at an index, the index itself where none does."""
    depth = 0
    for part in _PART.finditer(text, start):
        spend()
        depth += 0 if part["text"] else 1 if part["opens"] else -1
        if depth == 0:
            return part.end()
        if depth > _DEEPEST:
            break
    return start


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
