"""Whether a value is what a task expects: literally, or by a kind of comparison where the prompt leaves something open.

A kind is a map with one member:
  $text: words          a text: up to case, blanks, quotes around it, and final punctuation
  $first_line: words    the same of the first line of a text
  $decoded: X           base64, whose text is X
  $quantity: 600m       a Kubernetes quantity of this value, however it is written
  $unordered: [X, ...]  a list with these elements in any order
  $includes: [X, ...]   a list with these elements among others
  $each: X              a list of at least one element, each of which is X
  $one_of: [X, ...]     any of these
  $all_of: [X, ...]     all of these at once
  $present: true        anything but null
Pure.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Final

from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

_FACTORS: Final[Mapping[str, Decimal]] = MappingProxyType(
    {
        "": Decimal(1),
        **{
            word: Decimal(10) ** power
            for word, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
        },
        **{f"{word}i": Decimal(2) ** (10 * power) for power, word in enumerate("KMGTPE", start=1)},
    }
)
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]?|[KMGTPE]i)")
_QUOTES: Final = "\"'` \u201c\u201d\u2018\u2019\u00ab\u00bb"
_LONGEST: Final = 40
"""Characters of a number: more is none."""


def unlike(document: Json, expected: Json, path: str = "") -> Iterator[str]:
    """Yield where a document differs from what is expected; null: absent. Scalars compare by text."""
    if isinstance(expected, Mapping):
        if (kind := kind_of(expected)) is not None:
            yield from _KINDS[kind](document, expected[kind], path)
            return
        for key, value in expected.items():
            name = str(key).lower() if path == "/headers" else str(key)
            inner = document.get(name) if isinstance(document, Mapping) else None
            yield from unlike(inner, value, f"{path}/{key}")
    elif isinstance(expected, list):
        items = document if isinstance(document, list) else []
        if len(items) != len(expected):
            yield f"{path} has {len(items)} elements, not {len(expected)}"
        for index, (inner, value) in enumerate(zip(items, expected, strict=False)):
            yield from unlike(inner, value, f"{path}/{index}")
    elif isinstance(document, Mapping | list) or scalar_text(document) != scalar_text(expected):
        yield f"{path} is {json.dumps(document)}, not {json.dumps(expected)}"


def kind_of(expected: Mapping[str, Json]) -> str | None:
    """Return the kind of comparison that a map stands for. Raises ValueError for an unknown kind."""
    words = [name for name in expected if str(name).startswith("$")]
    if not words:
        return None
    if len(expected) > 1 or words[0] not in _KINDS:
        raise ValueError(f"{', '.join(map(str, expected))}: no kind of comparison (there are {', '.join(_KINDS)})")
    return str(words[0])


def checked(expected: Json) -> None:
    """Raise ValueError where a kind of comparison is unknown, at any depth."""
    if isinstance(expected, Mapping):
        kind_of(expected)
        for inner in expected.values():
            checked(inner)
    elif isinstance(expected, list):
        for inner in expected:
            checked(inner)


def plain_text(text: str) -> str:
    """Return a text without what nobody prescribes: case, blanks, quotes around it, final punctuation."""
    return " ".join(text.split()).strip(_QUOTES).rstrip(".!?…;:, ").casefold()


def quantity(text: str) -> Decimal | None:
    """Return the value of a Kubernetes quantity; None where it is none."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    try:
        return Decimal(match[1]) * _FACTORS[match[2]]
    except InvalidOperation:
        return None


def _text(document: Json, expected: Json, path: str) -> Iterator[str]:
    if not isinstance(document, str) or plain_text(document) != plain_text(str(expected)):
        yield f"{path} is {json.dumps(document)}, not in other words {json.dumps(expected)}"


def _first_line(document: Json, expected: Json, path: str) -> Iterator[str]:
    lines = document.strip().splitlines() if isinstance(document, str) else []
    yield from _text(lines[0] if lines else None, expected, path)


def _decoded(document: Json, expected: Json, path: str) -> Iterator[str]:
    try:
        text = base64.b64decode(str(document), validate=False).decode()
    except ValueError:
        yield f"{path} is {json.dumps(document)}, no text in base64"
        return
    yield from unlike(text, expected, path)


def _quantity(document: Json, expected: Json, path: str) -> Iterator[str]:
    is_scalar = isinstance(document, str | int | float) and not isinstance(document, bool)
    value = quantity(str(document)) if is_scalar else None
    if value is None or value != quantity(str(expected)):
        yield f"{path} is {json.dumps(document)}, not {expected}"


def _unordered(document: Json, expected: Json, path: str) -> Iterator[str]:
    items = document if isinstance(document, list) else []
    if len(items) != len(expected):
        yield f"{path} has {len(items)} elements, not {len(expected)}"
        return
    yield from _includes(items, expected, path)


def _includes(document: Json, expected: Json, path: str) -> Iterator[str]:
    items = document if isinstance(document, list) else []
    fits = [[n for n, item in enumerate(items) if not any(unlike(item, one))] for one in expected]
    for one, places in zip(expected, fits, strict=True):
        if not places:
            yield f"{path} has no element {json.dumps(one)}"
            return
    if not _matched(fits):
        yield f"{path} has fewer elements than are asked for"


def _matched(fits: Sequence[Sequence[int]]) -> bool:
    """Return whether each can have a place of its own (augmenting paths)."""
    taken: dict[int, int] = {}

    def place(one: int, seen: set[int]) -> bool:
        for at in fits[one]:
            if at not in seen:
                seen.add(at)
                if at not in taken or place(taken[at], seen):
                    taken[at] = one
                    return True
        return False

    return all(place(one, set()) for one in range(len(fits)))


def _each(document: Json, expected: Json, path: str) -> Iterator[str]:
    items = document if isinstance(document, list) else []
    if not items:
        yield f"{path} has no element"
    for index, item in enumerate(items):
        yield from unlike(item, expected, f"{path}/{index}")


def _all_of(document: Json, expected: Json, path: str) -> Iterator[str]:
    for one in expected:
        yield from unlike(document, one, path)


def _one_of(document: Json, expected: Json, path: str) -> Iterator[str]:
    problems = [next(unlike(document, one, path), "") for one in expected]
    if all(problems):
        yield f"{path} is {json.dumps(document)}, none of {json.dumps(expected)}"


def _present(document: Json, expected: Json, path: str) -> Iterator[str]:
    if document is None:
        yield f"{path} is absent"


_KINDS: Final[Mapping[str, Callable[[Json, Json, str], Iterator[str]]]] = MappingProxyType(
    {
        "$text": _text,
        "$first_line": _first_line,
        "$decoded": _decoded,
        "$quantity": _quantity,
        "$unordered": _unordered,
        "$includes": _includes,
        "$each": _each,
        "$one_of": _one_of,
        "$all_of": _all_of,
        "$present": _present,
    }
)
