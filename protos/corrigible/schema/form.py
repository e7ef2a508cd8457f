"""Forms and queries: from their text to the members of the request document.

Knows: application/x-www-form-urlencoded, the bracket notation of names. Does not know: what is sent where.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from .exchange import Json

_MOST_FIELDS: Final = 2000
_DEEPEST: Final = 20
_BRACKET: Final = re.compile(r"\[([^\[\]]*)\]")


def parameter_segments(name: str) -> list[str]:
    """Split `a[b][0][c]` into its parts; `a[]` keeps an empty last part."""
    head, bracket, _ = name.partition("[")
    return [head, *_BRACKET.findall(name[len(head) :])] if bracket else [name]


def fields(text: str) -> list[tuple[str, str]]:
    """Return names and values in order. Raises ValueError for too many."""
    if "%" not in text and "+" not in text and text.count("&") < _MOST_FIELDS:
        pairs = (part.partition("=") for part in text.split("&") if part)
        return [(name, value) for name, _, value in pairs]
    return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)


def by_name(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return query parameters under the names they were sent by; one sent several times is a list."""
    out: dict[str, Any] = {}
    for name, value in pairs:
        if name not in out:
            out[name] = value
        elif isinstance(out[name], list):
            out[name].append(value)
        else:
            out[name] = [out[name], value]
    return out


def nested(pairs: Sequence[tuple[str, Json]]) -> dict[str, Any]:
    """Decode `a[b]=1`, `a[]=1` and `a[0][b]=1`. Members numbered from 0 without a gap become arrays.

    No pair is lost: a name that was sent several times is a list, and one that has no place (`a[b]` beside `a`) is a
    member under the name as it was sent.
    """
    if not any("[" in name for name, _ in pairs):
        return by_name(pairs)
    out: dict[str, Any] = {}
    for path, (_, value) in zip(paths(pairs), pairs, strict=True):
        here = out
        for part in path[:-1]:
            here = here.setdefault(part, {})
        here[path[-1]] = value
    return {name: _arrays(value) for name, value in out.items()}


def _arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(str(index) in value for index in range(len(value))):
        return [_arrays(value[str(index)]) for index in range(len(value))]
    return {name: _arrays(inner) for name, inner in value.items()}


def paths(pairs: Sequence[tuple[str, Json]]) -> list[tuple[str, ...]]:
    """Return where `nested` puts each pair: the names and indices that lead there."""
    known: dict[tuple[str, ...], set[str]] = {}
    out = [_numbered(name, known) for name, _ in pairs]
    leaves = set(out)
    for index, path in enumerate(out):
        if any(path[:length] in leaves for length in range(1, len(path))):
            out[index] = (pairs[index][0],)
    times, seen = Counter(out), Counter[tuple[str, ...]]()
    for index, path in enumerate(out):
        if times[path] > 1:
            out[index] = (*path, str(seen[path]))
            seen[path] += 1
    return out


def _numbered(name: str, known: dict[tuple[str, ...], set[str]]) -> tuple[str, ...]:
    """Return the parts of a name; for an empty one the next number that is free beside what is known."""
    if "[" not in name:
        return (name,)
    head, *parts = parameter_segments(name)
    if len(parts) > _DEEPEST or name != head + "".join(f"[{part}]" for part in parts):
        return (name,)
    path: tuple[str, ...] = (head,)
    for part in parts:
        beside = known.setdefault(path, set())
        number = len(beside)
        while part == "":
            part, number = "" if str(number) in beside else str(number), number + 1
        beside.add(part)
        path = (*path, part)
    return path
