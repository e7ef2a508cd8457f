"""Edits a form or a query in place: what a correction leaves alone stays as it was sent, byte for byte.

Knows: pairs, names in brackets. Does not know: requests, feedback.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus

from corrigible.schema.document import fields, parameter_segments, paths, scalar_text
from corrigible.schema.exchange import Json

Path = tuple[str, ...]


def edited_form(sent: str, after: Mapping[str, Json]) -> str:
    """Return the form that has these members; what was sent several times under one name is a list."""
    return _edited(sent, paths(fields(sent)), dict(_leaves(after)))


def edited_query(sent: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> str:
    """Return the query that has these parameters; a list is a repeated name."""
    unchanged = {name for name, value in after.items() if name in before and _texts(before[name]) == _texts(value)}
    kept = [raw for raw, (name, _) in zip(_raw(sent), fields(sent), strict=True) if name in unchanged]
    for name, value in after.items():
        if name not in unchanged:
            kept += [f"{quote_plus(path_name)}={quote_plus(text)}" for path_name, text in _query_pairs(name, value)]
    return "&".join(kept)


def _query_pairs(name: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, list) and not any(isinstance(one, Mapping | list) for one in value):
        yield from ((name, scalar_text(one)) for one in value)
    elif isinstance(value, Mapping | list):
        yield from ((_bracketed((name, *path)), text) for path, text in _leaves(value))
    else:
        yield name, scalar_text(value)


def _texts(value: Json) -> Any:
    if isinstance(value, list):
        return [_texts(one) for one in value]
    return value if isinstance(value, Mapping) else scalar_text(value)


def _edited(sent: str, where: Sequence[Path], after: dict[Path, str]) -> str:
    pairs, raws = fields(sent), _raw(sent)
    before = {path: text for path, (_, text) in zip(where, pairs, strict=True)}
    out: list[str] = []
    for path, raw in zip(where, raws, strict=True):
        if path in after and after[path] == before[path]:
            out.append(raw)
        elif path in after:
            out.append(f"{raw.partition('=')[0]}={quote_plus(after[path])}")
    spelling = _Spelling(pairs, where)
    out += [f"{quote_plus(spelling.of(path))}={quote_plus(text)}" for path, text in after.items() if path not in before]
    return "&".join(out)


class _Spelling:
    """How the sender writes names: `a[]` or `a[0]`."""

    def __init__(self, pairs: Sequence[tuple[str, str]], where: Sequence[Path]) -> None:
        self._written: dict[Path, Path] = {}
        self._unnumbered: set[Path] = set()
        self._repeated: dict[Path, str] = {}
        """Places of names that were sent several times."""
        for (name, _), path in zip(pairs, where, strict=True):
            parts = tuple(parameter_segments(name)) if path[:1] != (name,) else (name,)
            if len(parts) < len(path):
                self._repeated[path[:-1]], path = name, path[:-1]
            for length in range(1, len(path) + 1):
                self._written[path[:length]] = parts[:length]
                if parts[length - 1] == "" and length > 1:
                    self._unnumbered.add(path[: length - 1])

    def of(self, path: Path) -> str:
        if path[:-1] in self._repeated and path[-1].isdecimal():
            return self._repeated[path[:-1]]
        for length in range(len(path), -1, -1):
            if length == 0 or path[:length] in self._written:
                break
        rest = list(path[length:])
        if rest and path[:length] in self._unnumbered and rest[0].isdecimal():
            rest[0] = ""
        return _bracketed((*self._written.get(path[:length], ()), *rest))


def _bracketed(parts: Path) -> str:
    return parts[0] + "".join(f"[{part}]" for part in parts[1:])


def _leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, str(index)))
    else:
        yield path, scalar_text(value)


def _raw(text: str) -> list[str]:
    return [part for part in text.split("&") if part]
