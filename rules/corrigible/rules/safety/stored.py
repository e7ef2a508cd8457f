"""What an API stores of a request: each value that was sent, or not.

| question                                        | asked by         | how it is compared                              |
|-------------------------------------------------|------------------|-------------------------------------------------|
| does the answer to a dry run lack a value?      | `dropped_values` | what is zero may be left out, lists may be sets |
| is what exists known to be what was asked for?  | `unmet_values`   | each value is shown, each list is equal         |

Knows: request bodies, merge and JSON patches, values that say the same. Does not know: which API it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.schema.document import leaves, scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json, Request

from .equivalence import is_same_value

_DEEPEST = 100
_ZERO: tuple[Any, ...] = (None, False, 0, "", [], {})
"""What many APIs leave out of answers: it is what is there without it."""
_MOST_TRIED = 64
"""Elements of a list in which the one that was sent is looked for."""


def dropped_values(sent: Request, stored: Json, *, unanswered: Sequence[str] = ()) -> tuple[str, ...]:
    """Return pointers into a request document to each value in the body that an answer does not hold.

    Defaults that the answer has besides do not count; neither do nulls that remove something, zero values that it
    leaves out, nor what stands under the pointers in `unanswered`, which start at the body.
    """
    skipped = tuple(f"/body{pointer}" for pointer in unanswered)
    if sent.method == "PATCH" and isinstance(sent.body, list):
        return tuple(_undone(sent.body, stored))
    return tuple(p for p in _unheld(sent.body, stored, "/body") if not _is_under(p, skipped))


def unmet_values(sent: Request, existing: Json) -> tuple[str, ...]:
    """Return pointers into a request document to each value in the body that a resource is not known to have.

    What exists was made by somebody else, perhaps: a list with more in it, or in another order, is not the one that
    was asked for, nor is false what nothing is told about. An object inside has nothing besides either.
    """
    if sent.body is None:
        return ()
    if isinstance(sent.body, list):
        return () if _is_told_same(sent.body, existing) else tuple(place for place, _ in leaves(sent.body, "/body"))
    return tuple(_unmet(sent.body, existing, "/body", 1 if is_wrapper(sent.body) else 0))


def in_the_original(pointers: Sequence[str], sent: Request, original: Request) -> list[str]:
    """Return where the values at some pointers stood in the request as it was; what an edit has added stood nowhere."""
    document, before = sent.document(), original.document()
    out: dict[str, None] = {}
    for pointer in pointers:
        if resolve(before, pointer) is not MISSING:
            out[pointer] = None
            continue
        value = resolve(document, pointer)
        for place, old in leaves(original.body, "/body"):
            if is_same_value(old, value) and resolve(document, place) is MISSING:
                out[place] = None
                break
    return list(out)


def _is_under(pointer: str, places: Sequence[str]) -> bool:
    return any(pointer == place or pointer.startswith(f"{place}/") for place in places)


def _unheld(sent: Json, stored: Json, pointer: str, depth: int = 0) -> Iterator[str]:
    if _is_zero(sent) and (stored is MISSING or _is_zero(stored)):
        return
    if depth > _DEEPEST or stored is MISSING:
        yield from (place for place, value in leaves(sent, pointer) if not _is_zero(value))
    elif isinstance(sent, Mapping) and isinstance(stored, Mapping):
        for name, inner in sent.items():
            yield from _unheld(inner, stored.get(name, MISSING), f"{pointer}/{escape(str(name))}", depth + 1)
    elif isinstance(sent, list) and isinstance(stored, list):
        for index, inner in enumerate(sent):
            yield from _element(inner, stored, index, f"{pointer}/{index}", depth)
    elif not is_same_value(sent, stored):
        yield from (place for place, _ in leaves(sent, pointer))


def _element(sent: Json, stored: Sequence[Any], index: int, pointer: str, depth: int) -> Iterator[str]:
    """Look for an element where it stood, then at the other places: a list may be kept as a set."""
    same_place = stored[index : index + 1]
    others = [element for place, element in enumerate(stored[:_MOST_TRIED]) if place != index]
    best: list[str] | None = None
    for candidate in (*same_place, *others):
        missing = list(_unheld(sent, candidate, pointer, depth + 1))
        if not missing:
            return
        if best is None or len(missing) < len(best):
            best = missing
    yield from best if best is not None else (place for place, _ in leaves(sent, pointer))


def is_wrapper(body: Json) -> bool:
    """Whether a body is one object under a name: `{"user": {"name": "ann"}}`."""
    return isinstance(body, Mapping) and len(body) == 1 and isinstance(next(iter(body.values())), Mapping)


def _unmet(sent: Json, existing: Json, pointer: str, may_have_more: int, depth: int = 0) -> Iterator[str]:
    """Yield what is not met. Down to `may_have_more` a resource has members that nobody sends: identifiers, times."""
    if sent is None and (existing is MISSING or existing in _NOTHING):
        return
    if depth > _DEEPEST or existing is MISSING:
        yield from (place for place, _ in leaves(sent, pointer))
    elif isinstance(sent, Mapping) and isinstance(existing, Mapping):
        if depth > may_have_more and any(name not in sent and not _is_zero(one) for name, one in existing.items()):
            yield pointer
        for name, inner in sent.items():
            below = existing.get(name, MISSING)
            yield from _unmet(inner, below, f"{pointer}/{escape(str(name))}", may_have_more, depth + 1)
    elif isinstance(sent, list) and isinstance(existing, list) and len(sent) == len(existing):
        for index, (inner, other) in enumerate(zip(sent, existing, strict=True)):
            yield from _unmet(inner, other, f"{pointer}/{index}", may_have_more, depth + 1)
    elif not _is_told_same(sent, existing):
        yield from (place for place, _ in leaves(sent, pointer))


def _is_told_same(sent: Json, existing: Json) -> bool:
    """Whether two values are the same for whoever reads them: `02134` is not 2134, and an encoding of it is not it."""
    if same_json(sent, existing):
        return True
    if isinstance(sent, list | Mapping) or isinstance(existing, list | Mapping) or None in (sent, existing):
        return (sent, existing) in (("", None), ([], None), ({}, None))
    one, other = scalar_text(sent), scalar_text(existing)
    if one == other:
        return True
    is_measured = one[:1].isdigit() and other[:1].isdigit() and not (one.isdecimal() and other.isdecimal())
    return is_measured and is_same_value(sent, existing)


_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {})


def _undone(operations: Sequence[Json], stored: Json) -> Iterator[str]:
    """Yield what operations of a JSON patch put, where an answer does not show it."""
    for index, operation in enumerate(operations):
        place = operation.get("path") if isinstance(operation, Mapping) else None
        if not isinstance(operation, Mapping) or not isinstance(place, str):
            return
        if operation.get("op") in ("add", "replace"):
            parent, _, last = place.rpartition("/")
            value = resolve(stored, parent)
            pointer = f"/body/{index}/value"
            if last == "-" or isinstance(value, list):
                yield from _element(operation.get("value"), value if isinstance(value, list) else [], 0, pointer, 0)
            else:
                yield from _unheld(operation.get("value"), resolve(stored, place), pointer)


def _is_zero(value: Json) -> bool:
    return any(value == zero and type(value) is type(zero) for zero in _ZERO)
