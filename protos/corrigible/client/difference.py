"""What differs between two request documents, or between the arguments of two calls, as lines of text.

Knows: JSON. Does not know: why they differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from corrigible.schema.exchange import Json, Request

from .explanation import LONGEST_VALUE, literal, name_line
from .sent_request import KEY

_MOST: Final = 12
"""Lines of a log or of a model's text."""
Place = tuple[str | int, ...]
"""Names of members and indexes of elements."""


def difference(before: Request, after: Request, most: int = _MOST, longest: int = LONGEST_VALUE) -> list[str]:
    """Return a line `path: old -> new` for each value that differs, `most` of them, with values up to `longest`.

    A key of idempotency is not among them: no person decides about it.
    """
    empty = all(one is None or one == {} for one in (before.body, after.body))  # then it is all that may differ
    old, new = _document(before, empty=empty), _document(after, empty=empty)
    return changes(old, new, pointer, most=most, longest=longest)


def differing(before: Request, after: Request) -> Iterator[tuple[Json, Json]]:
    """Yield the old and the new value of each place that differs; None where there is none."""
    old, new = (dict(_leaves(_document(one, empty=True), ())) for one in (before, after))
    for at in {**old, **new}:
        if at not in old or at not in new or _differ(old[at], new[at]):
            yield old.get(at), new.get(at)


def changes(
    before: Mapping[str, Json],
    after: Mapping[str, Json],
    spelled: Callable[[Place], str],
    *,
    moves: bool = False,
    most: int = _MOST,
    longest: int = LONGEST_VALUE,
) -> list[str]:
    """Return such a line for each value of two objects that differs. `spelled` writes the place.

    With `moves`, a value that is gone from one place and alone new at another one was moved.
    """
    old, new = dict(_leaves(before, ())), dict(_leaves(after, ()))
    lines = list[str]()
    for at, to in _moved(old, new) if moves else ():
        lines.append(f"{spelled(at)}: move to {spelled(to)}")
        del old[at], new[to]
    lines += [
        f"{spelled(at)}: {literal(old[at], longest)} -> {literal(new[at], longest)}"
        for at in old
        if at in new and _differ(old[at], new[at])
    ]
    lines += [f"{spelled(at)}: {literal(old[at], longest)} -> (removed)" for at in old if at not in new]
    lines += [f"{spelled(at)}: -> {literal(new[at], longest)}" for at in new if at not in old]
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more"]


def _moved(old: Mapping[Place, Json], new: Mapping[Place, Json]) -> list[tuple[Place, Place]]:
    gone, added = [at for at in old if at not in new], [at for at in new if at not in old]
    if len(gone) > _MOST:
        return []
    pairs = [(at, to) for at in gone for to in added if not _differ(old[at], new[to])]
    times = Counter(place for pair in pairs for place in pair)  # no place is both gone and added
    return [(at, to) for at, to in pairs if times[at] == times[to] == 1]


def pointer(place: Sequence[str | int]) -> str:
    return name_line("".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place))


def _differ(one: Json, other: Json) -> bool:
    return type(one) is not type(other) or bool(one != other)


def _leaves(value: Json, at: Place) -> Iterator[tuple[Place, Json]]:
    if isinstance(value, Mapping) and (value or not at):
        for name, inner in value.items():
            yield from _leaves(inner, (*at, str(name)))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*at, index))
    else:
        yield at, value


def _document(request: Request, *, empty: bool) -> dict[str, Json]:
    """Leave out an empty query, a body that was not sent or (unless `empty`) has no members, the idempotency key."""
    headers = {name: value for name, value in request.headers.items() if name != KEY}
    document = {**request.document(), "headers": headers}
    shown = {name: value for name, value in document.items() if value not in ({}, None)}
    return {**shown, "body": {}} if empty and request.body == {} else shown
