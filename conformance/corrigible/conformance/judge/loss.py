"""What an edit of a request leaves out: values that were sent and that nothing of the outcome holds any more.

Worked out from the two documents alone, whoever made the edit and whatever it says of itself. Pure.
Knows: JSON values, how the same value is written in another way. Does not know: feedback, rules, APIs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from corrigible.schema.exchange import Json

from .patched import same
from .told import MISSING, at

MEMBERS: Final = ("query", "body")
"""Where a caller's values stand. Methods, paths and headers are how they are carried."""
_JOINTS: Final = re.compile(r"[\s,;:/|&=+\"'\[\]{}-]+")
_LEAST: Final = 3
"""Characters from which on a text that is part of another one is found there by no accident."""


def lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the pointers of the values of `before` that `after` holds neither there nor anywhere else.

    A value at a place that still holds something is not lost: whether it is another one than was asked for is another
    question. One that is gone from its place is kept where it was moved, renamed, written in another form, joined
    with others or split up; or where an array holds the same element once more.
    """
    gone: list[tuple[str, Json]] = []
    stayed: set[str] = set()
    for pointer, value in leaves(before):
        if value is None and before.get("method") != "PATCH":
            continue  # where nothing is cleared, null is no value (SPEC 1.10)
        if at(after, pointer) is not MISSING:
            stayed.add(pointer)
        elif not _repeated(before, after, pointer):
            gone.append((pointer, value))
    fresh = [value for pointer, value in leaves(after) if pointer not in stayed or not _equal(before, after, pointer)]
    unclaimed = Counter(text(value) for value in fresh)
    whole = "".join(_bare(text(value)) for value in fresh)
    found = []
    for pointer, value in gone:
        form = text(value)
        if unclaimed[form]:
            unclaimed[form] -= 1
        elif not _contained(form, unclaimed, whole):
            found.append(pointer)
    return found


def leaves(document: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Yield every scalar and every empty object or array of the query and the body, with its pointer."""
    for member in MEMBERS:
        value = document.get(member)
        if value not in (None, {}):
            yield from _leaves(value, f"/{member}")


def _leaves(value: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    waiting: list[tuple[Json, str]] = [(value, pointer)]
    while waiting:
        one, place = waiting.pop()
        if isinstance(one, Mapping) and one:
            inner = [(v, f"{place}/{str(k).replace('~', '~0').replace('/', '~1')}") for k, v in one.items()]
            waiting += reversed(inner)
        elif isinstance(one, list) and one:
            waiting += reversed([(v, f"{place}/{index}") for index, v in enumerate(one)])
        else:
            yield place, one


def text(value: Json) -> str:
    """Return what a scalar says, however it is written: 5, 5.0 and "5"; true and "True"."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            stripped = value.strip()
            try:
                return _number(int(stripped)) if stripped.lstrip("+-").isdecimal() else _number(float(stripped))
            except (ValueError, OverflowError):
                return stripped.casefold()
        case _:
            return "[]" if isinstance(value, list) else "{}"


def _number(value: int | float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value)


def _bare(form: str) -> str:
    return _JOINTS.sub("", form)


def _contained(form: str, others: Mapping[str, int], whole: str) -> bool:
    """Whether a text was joined to others, or was split up in order."""
    if len(form) >= _LEAST and any(form in other for other in others):
        return True
    bare = _bare(form)
    if bare and any(_bare(other) == bare for other in others):
        return True  # the same letters and digits
    return len(bare) >= _LEAST and bare in whole


def _equal(before: Mapping[str, Any], after: Mapping[str, Any], pointer: str) -> bool:
    return same(at(before, pointer), at(after, pointer))


def _repeated(before: Mapping[str, Any], after: Mapping[str, Any], pointer: str) -> bool:
    """Whether a value stood in an element of an array that was there twice and still is once."""
    split = pointer.split("/")
    for depth in range(len(split) - 1, 1, -1):
        array = at(before, "/".join(split[:depth]))
        if not isinstance(array, list):
            continue
        left = at(after, "/".join(split[:depth]))
        element = at(before, "/".join(split[: depth + 1]))
        if isinstance(left, list) and any(same(one, element) for one in left):
            return True
    return False
