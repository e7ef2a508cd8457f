"""Forms and queries: from their text to the members of the request document.

Knows: application/x-www-form-urlencoded, the bracket notation of names. Does not know: what is sent where.
"""

from __future__ import annotations

import re
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
    """Decode `a[b]=1`, `a[]=1` and `a[0][b]=1`. Members numbered from 0 without a gap become arrays."""
    out: dict[str, Any] = {}
    bracketed = False
    for name, value in pairs:
        if "[" not in name:
            out[name] = value
            continue
        bracketed = True
        parts = parameter_segments(name)[:_DEEPEST]
        here = out
        for part in parts[:-1]:
            here = _into(here, _slot(here, part))
        here[_slot(here, parts[-1])] = value
    return {name: _arrays(value) for name, value in out.items()} if bracketed else out


def _slot(here: dict[str, Any], part: str) -> str:
    return part if part != "" else str(len(here))


def _into(here: dict[str, Any], name: str) -> dict[str, Any]:
    inner = here.get(name)
    if not isinstance(inner, dict):
        inner = here[name] = {}
    return inner


def _arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(str(index) in value for index in range(len(value))):
        return [_arrays(value[str(index)]) for index in range(len(value))]
    return {name: _arrays(inner) for name, inner in value.items()}


def paths(pairs: Sequence[tuple[str, Json]]) -> list[tuple[str, ...]]:
    """Return where `nested` puts each pair: the names and indices that lead there."""
    out: list[tuple[str, ...]] = []
    top: dict[str, Any] = {}
    for name, value in pairs:
        *parents, last = parameter_segments(name)[:_DEEPEST] if "[" in name else [name]
        here, path = top, list[str]()
        for part in parents:
            path.append(_slot(here, part))
            here = _into(here, path[-1])
        path.append(_slot(here, last))
        here[path[-1]] = value
        out.append(tuple(path))
    return out
