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
    level: list[Json] = [document] if type(document) in _CONTAINERS else []
    while level:
        inner: list[Json] = []
        for container in level:
            values += len(container)
            if values > limits.values:
                return Measured(values, depth)
            for element in container.values() if type(container) is dict else container:
                if type(element) in _CONTAINERS:
                    inner.append(element)
        depth += 1
        if depth > limits.depth:
            break
        level = inner
    return Measured(values, depth)


_CONTAINERS = frozenset({dict, list})


def readable(document: Json, limits: Limits) -> Json:
    """Return the part of an answer that is read: of a long list the first elements, of a long text its beginning.

    Long runs of blanks are shortened: patterns for messages look for blanks before and behind words.
    """
    if isinstance(document, str):
        return document if len(document) <= _MOST_BLANKS else _BLANKS.sub(_SHORTENED, document[: limits.text])
    if isinstance(document, dict):
        names = list(document)[: _MOST_MEMBERS * limits.errors]
        return {name[: limits.text]: readable(document[name], limits) for name in names}
    if isinstance(document, list):
        return [readable(one, limits) for one in document[: limits.errors]]
    return document


_MOST_BLANKS = 64
_BLANKS = re.compile(rf"\s{{{_MOST_BLANKS},}}")
_SHORTENED = " " * _MOST_BLANKS
_MOST_MEMBERS = 4
"""Members of one object, by the number of errors."""
