"""How large a document is, before anything is done with it; and the part of an answer that is read."""

from __future__ import annotations

import re
from typing import NamedTuple

from corrigible.schema.exchange import Json

from .limits import Limits


class Measured(NamedTuple):
    values: int
    depth: int

    def is_over(self, limits: Limits) -> bool:
        return self.values > limits.values or self.depth > limits.depth


def measured(document: Json, limits: Limits) -> Measured:
    """Count values and levels; counting ends where either is more than the limits allow."""
    values, depth = 1, 0
    level = [document]
    while level:
        inner: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                values += len(one)
                inner += [value for value in one.values() if isinstance(value, (dict, list))]
            elif isinstance(one, list):
                values += len(one)
                inner += [value for value in one if isinstance(value, (dict, list))]
            if values > limits.values:
                return Measured(values, depth)
        depth += 1 if level else 0
        if depth > limits.depth:
            break
        level = inner
    return Measured(values, depth)


def readable(document: Json, limits: Limits) -> Json:
    """Return the part of an answer that is read: of a long list the first elements, of a long text its beginning.

    Long runs of blanks are shortened: patterns for messages look for blanks before and behind words.
    """
    if isinstance(document, str):
        return document if len(document) <= _MOST_BLANKS else _BLANKS.sub(_SHORTENED, document[: limits.text])
    if isinstance(document, dict):
        names = list(document)[: _MOST_MEMBERS * limits.complaints]
        return {name[: limits.text]: readable(document[name], limits) for name in names}
    if isinstance(document, list):
        return [readable(one, limits) for one in document[: limits.complaints]]
    return document


_MOST_BLANKS = 64
_BLANKS = re.compile(rf"\s{{{_MOST_BLANKS},}}")
_SHORTENED = " " * _MOST_BLANKS
_MOST_MEMBERS = 4
"""Members of one object, by the number of complaints."""
