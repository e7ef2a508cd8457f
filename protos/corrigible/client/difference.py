"""What differs between two request documents, as lines of text.

Knows: request documents. Does not know: why they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from corrigible.schema.exchange import Json, Request

from .explanation import literal

_MOST: Final = 12


def difference(before: Request, after: Request) -> list[str]:
    """Return a line `path: old -> new` for each value that differs, a bounded number of them."""
    old, new = dict(_leaves(before.document(), "")), dict(_leaves(after.document(), ""))
    lines = [f"{at}: {literal(old[at])} -> {literal(new[at])}" for at in old if at in new and _differ(old[at], new[at])]
    lines += [f"{at}: {literal(old[at])} -> (removed)" for at in old if at not in new]
    lines += [f"{at}: -> {literal(new[at])}" for at in new if at not in old]
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"and {len(lines) - _MOST} more"]


def _differ(one: Json, other: Json) -> bool:
    return type(one) is not type(other) or bool(one != other)


def _leaves(value: Json, at: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{at}/{index}")
    elif at.count("/") > 1 or value not in ({}, None):  # an empty query, no body
        yield at, value
