"""Where in a request the members are that a decoder of Go names, without indexes and in its own spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from corrigible.rules.functions.quantity import quantity
from corrigible.rules.pointer import MISSING, escape, segments
from corrigible.schema.exchange import Json

from .field_path import every_member, matching_places
from .status_errors import Refusal

_AMOUNT = re.compile(
    r"/(?:limits|requests|hard|capacity|min|max|default|defaultRequest|overhead)/[^/]+$"
    r"|/(?:sizeLimit|divisor|averageValue)$"
)
"""Places of amounts, for errors that do not name one."""


def places_of(refusal: Refusal, names: Sequence[str]) -> list[str]:
    """Return the places a chain of names leads to, whatever lists are on the way; a spelling of another case counts."""
    body = refusal.request.body
    if refusal.request.method == "PATCH" and isinstance(body, list):
        return _in_operations(body, names)
    pointers = matching_places(body, names)
    if pointers or not names:
        return pointers
    # ObjectMeta is `metadata`, and Go spells some names in its own way: the last name decides.
    last = names[-1].lower()
    return [pointer for pointer in every_member(refusal.request.body) if pointer.rpartition("/")[2].lower() == last]


def _in_operations(operations: Sequence[Json], names: Sequence[str]) -> list[str]:
    """Return the places of the values of JSON Patch operations that a chain of names leads to or into."""
    out: list[str] = []
    for index, operation in enumerate(operations):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        if not isinstance(path, str) or "value" not in operation:
            continue
        parts = [part for part in segments(path) if not part.isdecimal() and part != "-"]
        if parts[: len(names)] == list(names):
            out.append(f"/body/{index}/value")
        elif list(names[: len(parts)]) == parts:
            inside = matching_places(operation["value"], names[len(parts) :])
            out += [f"/body/{index}/value{pointer.removeprefix('/body')}" for pointer in inside]
    return out


def amount_places(refusal: Refusal) -> Iterator[str]:
    """Yield the texts of a request at places of amounts that are no amounts."""
    body = refusal.request.body
    for index, operation in enumerate(body if refusal.request.method == "PATCH" and isinstance(body, list) else ()):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        if isinstance(path, str) and _AMOUNT.search(path) and isinstance(operation.get("value"), str):
            yield f"/body/{index}/value"
    for pointer in every_member(body):
        if _AMOUNT.search(pointer) and isinstance(refusal.at(pointer), str) and quantity(refusal.at(pointer)) is None:
            yield pointer


def values_inside(refusal: Refusal, pointer: str) -> Iterator[str]:
    """Yield a place, or the members right inside it where it is an object or a list."""
    value = refusal.at(pointer)
    if isinstance(value, Mapping):
        yield from (f"{pointer}/{escape(str(name))}" for name in value)
    elif isinstance(value, list):
        yield from (f"{pointer}/{index}" for index in range(len(value)))
    elif value is not MISSING:
        yield pointer


def first_place(refusal: Refusal, names: Sequence[str]) -> str:
    """Return where a chain of names would lead, through the first element of every list."""
    pointer, node = "/body", refusal.request.body
    if refusal.request.method == "PATCH" and isinstance(node, list):
        return pointer
    for name in names:
        while isinstance(node, list):
            pointer, node = f"{pointer}/0", (node[0] if node else None)
        pointer += f"/{escape(name)}"
        node = node.get(name) if isinstance(node, Mapping) else None
    return pointer


def dotted_path(pointer: str) -> str:
    out = ""
    for part in segments(pointer)[1:]:
        out += f"[{part}]" if part.isdecimal() else f"{'.' if out else ''}{part}"
    return out
