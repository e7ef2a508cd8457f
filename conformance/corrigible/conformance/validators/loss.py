"""Computes the values of a request that an edit loses.

Worked out from the two documents alone, whoever made the edit and whatever it says of itself. Pure.
Knows: JSON values, how the same value is written in another way. Does not know: feedback, rules, APIs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from corrigible.schema.exchange import Json

from .annotated_error import MISSING, at
from .patched import same

MEMBERS: Final = ("query", "body")
"""Where a caller's values stand. Methods, paths and headers are how they are carried."""
_JOINTS: Final = re.compile(r"[\s,;:/|&=+\"'\[\]{}-]+")
_STORED: Final = re.compile(r"(?i)resource_?version|revision|generation|etag")
_TOKEN: Final = re.compile(r"(?i)version|revision|generation|etag|sha\b")
_LETTER: Final = re.compile("[A-Za-z]")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_SLIPS: Final = 3
"""Characters that may be too many at the end of a text by mistake."""
_PROSE: Final = 8
"""Characters of a text of people that is left: words and paths have abbreviations, which are other spellings."""
_LEAST: Final = 3
"""Characters from which on a text that is part of another one is found there by no accident."""


def lost_values(
    before: Mapping[str, Any], after: Mapping[str, Any], *, looked_up: bool = False, steps: Iterable[Json] = ()
) -> list[str]:
    """Return the pointers of the values of `before` that `after` holds neither there nor anywhere else.

    A value is kept where it was moved, renamed, written in another form, joined with others or split up; where an array
    holds the same element once more; where the path or one of the `steps` has it; and where its place holds what may be
    the same, put right: which texts are near is another question. Another number, the opposite and a text cut short are
    none of that. `looked_up`: live state may say which number is meant, and what a name stands for.
    """
    changed = [
        (place, value)
        for place, value in leaves(before)
        # Where nothing is cleared, null is no value (SPEC 1.10).
        if not _equal(before, after, place) and (value is not None or before.get("method") == "PATCH")
    ]
    fresh = {place: value for place, value in leaves(after) if not _equal(before, after, place)}
    fresh |= _elsewhere(before, after, steps)
    unclaimed: dict[str, list[str]] = {}
    for place, value in fresh.items():
        unclaimed.setdefault(text(value), []).append(place)
    left = [(place, value) for place, value in changed if not _claimed(unclaimed, place, text(value))]
    open_places = {place for places in unclaimed.values() for place in places}
    whole = "".join(_bare(text(value)) for value in fresh.values())
    lost_pointers = []
    for place, value in left:
        if place in open_places:
            is_lost = _is_another(value, fresh[place], place.rpartition("/")[2], numbers=not looked_up)
        elif isinstance(value, Mapping | list):
            is_lost = at(after, place) is MISSING  # what was empty may be filled
        else:
            is_lost = not (_repeated(before, after, place) or _is_first(before, place))
        if is_lost and not _contained(text(value), unclaimed, whole):
            if looked_up and _stood_for(value, place, fresh, unclaimed):
                continue
            lost_pointers.append(place)
    return lost_pointers


def _elsewhere(before: Mapping[str, Any], after: Mapping[str, Any], steps: Iterable[Json]) -> dict[str, Json]:
    """Return what paths hold that the first one did not, and what the requests hold that are sent before."""
    had = set(str(before.get("path")).split("/"))
    out: dict[str, Json] = {}
    for number, request in enumerate((after, *steps)):
        if not isinstance(request, Mapping):
            continue
        for index, part in enumerate(str(request.get("path")).split("/")):
            if part not in had:
                out[f"/path/{number}/{index}"] = unquote(part)
        if number:
            out |= {f"/steps/{number}{place}": value for place, value in leaves(request)}
    return out


def _is_first(before: Mapping[str, Any], place: str) -> bool:
    """Whether it is the version of what a POST stores for the first time."""
    return before.get("method") == "POST" and _STORED.fullmatch(place.rpartition("/")[2]) is not None


def _stood_for(value: Json, place: str, fresh: Mapping[str, Json], unclaimed: dict[str, list[str]]) -> bool:
    """Take a new value that may be what another one names. What a look-up showed cannot be seen here."""
    inside = "/".join(place.split("/")[:2])
    for form, places in list(unclaimed.items()):
        new = fresh[places[0]]
        names_both = isinstance(value, str | int) and isinstance(new, str | int) and _LETTER.search(f"{value}{new}")
        if names_both and place not in fresh and any(place.startswith(f"{inside}/") for place in places):
            _claimed(unclaimed, places[0], form)
            return True
    return False


def _claimed(unclaimed: dict[str, list[str]], place: str, form: str) -> bool:
    """Take a new place that says the same as what stood at a place: itself before any other."""
    places = unclaimed.get(form)
    if not places:
        return False
    places.remove(place if place in places else places[0])
    if not places:
        del unclaimed[form]
    return True


def _is_another(old: Json, new: Json, name: str, *, numbers: bool) -> bool:
    """Whether a value gave way to one that cannot be the same, put right."""
    if _TOKEN.search(name):
        return False  # which version of a thing is meant is nothing that anybody wishes
    was, is_now = text(old), text(new)
    if _NUMBER.fullmatch(was) and _NUMBER.fullmatch(is_now):
        return numbers and _digits(was) != _digits(is_now)  # milliseconds are seconds, cents are euros
    if {was, is_now} == {"true", "false"}:
        return True
    return " " in was and len(is_now) >= _PROSE and was.startswith(is_now) and len(was) - len(is_now) > _SLIPS


def _digits(number: str) -> str:
    """Return the digits that stay in another unit of ten, a hundred, a thousand."""
    return number.replace(".", "").strip("0")


def leaves(document: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Yield every scalar and every empty object or array of the query and the body, with its pointer."""
    for member in MEMBERS:
        value = document.get(member)
        if value not in (None, {}):
            yield from _leaves(value, f"/{member}")


def _leaves(value: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    waiting: list[tuple[Json, str]] = [(value, pointer)]
    while waiting:
        node, place = waiting.pop()
        if isinstance(node, Mapping) and node:
            inner = [(v, f"{place}/{str(k).replace('~', '~0').replace('/', '~1')}") for k, v in node.items()]
            waiting += reversed(inner)
        elif isinstance(node, list) and node:
            waiting += reversed([(v, f"{place}/{index}") for index, v in enumerate(node)])
        else:
            yield place, node


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


def _contained(form: str, others: Iterable[str], whole: str) -> bool:
    """Whether a text was joined to others, or was split up in order."""
    if len(form) >= _LEAST and any(form in other for other in others):
        return True
    bare_form = _bare(form)
    if bare_form and any(_bare(other) == bare_form for other in others):
        return True  # the same letters and digits
    return len(bare_form) >= _LEAST and bare_form in whole


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
        if isinstance(left, list) and any(same(leaf, element) for leaf in left):
            return True
    return False
