"""From wanted values at some places to guarded operations, parents that are missing included."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corrigible.rules.budget import walk
from corrigible.rules.pointer import MISSING, MOST_DIGITS, escape, resolve, segments, through_arrays

MOST_CHANGES = 128
"""More do not fit into any feedback."""
_NAMES = ("name", "id", "key", "path", "containerPort", "port", "mountPath", "ip")
"""Members that tell an element from its neighbours, the best first."""

Operation = dict[str, Any]
"""One operation of RFC 6902."""


def edits(document: Any, changes: Sequence[Sequence[Any]]) -> list[Operation]:
    """Return the operations that make `changes` of a document: `[pointer, value]` sets, `[pointer]` removes.

    What is there already gives no operation. Parents that are missing are made, several changes below one parent
    together. Every edit inside an array follows a `test` that identifies its element. Raises ValueError for a place
    that cannot be: a member of a text, an element of an array that is not there.
    """
    if len(changes) > MOST_CHANGES:
        raise ValueError(f"{len(changes):,} changes at once, {MOST_CHANGES} are the most")
    walk(len(changes) ** 2 // 8)
    after = copy.deepcopy(document)
    tested: set[str] = set()
    guards: list[Operation] = []
    operations_by_place: dict[str, Operation] = {}
    for change in changes:
        pointer, wanted = str(change[0]), change[1] if len(change) > 1 else MISSING
        old = resolve(after, pointer)
        if old is wanted or (old is not MISSING and wanted is not MISSING and _same(old, wanted)):
            continue
        for element in through_arrays(document, pointer):
            if element not in tested and resolve(document, element) is not MISSING:
                tested.add(element)
                guards.append(_identifying(document, element))
        if wanted is MISSING:
            operations_by_place[pointer] = {"op": "remove", "path": pointer}
            _remove(after, pointer)
            continue
        place, value = _with_parents(after, pointer, wanted)
        _put(after, place, value)
        above = next((p for p in operations_by_place if place == p or place.startswith(p + "/")), None)
        if above is not None:
            operations_by_place[above]["value"] = copy.deepcopy(resolve(after, above))
        elif resolve(document, place) is MISSING:
            operations_by_place[place] = {"op": "add", "path": place, "value": copy.deepcopy(value)}
        else:
            operations_by_place[place] = {"op": "replace", "path": place, "value": value}
            before = resolve(document, place)
            test: Operation = {"op": "test", "path": place, "value": before}
            if not isinstance(before, (Mapping, list)) and test not in guards:
                guards.append(test)
    # Removals go last and backwards, so that no index moves under another edit.
    settings = [op for op in operations_by_place.values() if op["op"] != "remove"]
    removals = sorted((op for op in operations_by_place.values() if op["op"] == "remove"), key=_order, reverse=True)
    return [*guards, *settings, *removals]


def _order(op: Operation) -> list[tuple[int, str]]:
    parts = segments(str(op["path"]))
    return [(int(part), "") if part.isdecimal() and len(part) <= MOST_DIGITS else (-1, part) for part in parts]


def _same(left_value: Any, other: Any) -> bool:
    return bool(left_value == other) and isinstance(left_value, bool) == isinstance(other, bool)


def _with_parents(document: Any, pointer: str, value: Any) -> tuple[str, Any]:
    """Return the outermost place that is missing on the way, and what belongs there."""
    parts = segments(pointer)
    walked, node = "", document
    for index, part in enumerate(parts):
        step = "/" + escape(part)
        inner = resolve(node, step)
        if not isinstance(node, (Mapping, list)):
            raise ValueError(f"{walked or '/'}: nothing can be put into it")
        if isinstance(node, list) and inner is MISSING and part != "-" and part != str(len(node)):
            raise ValueError(f"{walked}{step}: there is no such element")
        walked += step
        if inner is MISSING or inner is None:
            for later in reversed(parts[index + 1 :]):
                value = [value] if later in ("-", "0") else {later: value}
            return walked, value
        node = inner
    return walked, value


def _put(document: Any, pointer: str, value: Any) -> None:
    parent, _, _ = pointer.rpartition("/")
    node, last = resolve(document, parent), segments(pointer)[-1]
    if isinstance(node, list):
        if last == "-" or int(last) == len(node):
            node.append(copy.deepcopy(value))
        else:
            node[int(last)] = copy.deepcopy(value)
    else:
        node[last] = copy.deepcopy(value)


def _remove(document: Any, pointer: str) -> None:
    node, last = resolve(document, pointer.rpartition("/")[0]), segments(pointer)[-1]
    if isinstance(node, dict):
        node.pop(last, None)
    # An element stays in the copy: the other changes name their elements by where they stand now.


def _identifying(document: Any, element: str) -> Operation:
    """Return a test that holds for this element and not, as a rule, for its neighbours."""
    value = resolve(document, element)
    if isinstance(value, Mapping):
        plain = [name for name, inner in value.items() if not isinstance(inner, (Mapping, list)) and inner is not None]
        name = next((name for name in _NAMES if name in plain), plain[0] if plain else None)
        if name is not None:
            return {"op": "test", "path": f"{element}/{escape(name)}", "value": value[name]}
        only = next(iter(value)) if len(value) == 1 else ""
        if isinstance(value.get(only), Mapping):  # one of several kinds: {put: {key: ...}}
            return _identifying(document, f"{element}/{escape(only)}")
        scalars = sorted(_scalars(value, element), key=lambda leaf: leaf[0].rpartition("/")[2] not in _NAMES)
        if scalars:  # less than all of it: a caller may have written out what goes without saying
            return {"op": "test", "path": scalars[0][0], "value": scalars[0][1]}
    return {"op": "test", "path": element, "value": value}


def _scalars(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Yield the scalars within a value, and where each stands."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _scalars(inner, f"{pointer}/{escape(str(name))}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars(inner, f"{pointer}/{index}")
    elif value is not None:
        yield pointer, value
