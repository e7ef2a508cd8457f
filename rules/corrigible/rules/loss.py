"""What an edit takes from a request: the values sent that do not survive it.

Knows: requests before and after an edit, and which other spellings say the same. Does not know: who suggested the
edit, what a server accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

from corrigible.schema.edit import same_json, same_text
from corrigible.schema.exchange import Json, Request

from .meaning import is_respelled, says_the_same
from .pointer import MISSING, escape, segments

_REPRESENTATION = frozenset({"content-type", "content-encoding", "accept", "accept-encoding", "prefer", "user-agent"})
"""Headers that say how a request is written or how its answer shall be, not what is wished."""
_DEEPEST = 100


class Leaf(NamedTuple):
    """A value without members, and where it stands."""

    pointer: str
    value: Json


def losses(
    before: Request,
    after: Request,
    *,
    touched: Iterable[str] | None = None,
    elsewhere: Json = None,
    tokens: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return pointers into the request document `before` to each value that `after` does not hold any more.

    A value survives where it stands untouched, stands under another name or at another place, or is written in another
    way that says the same. `touched`: only what these pointers lead to was edited. `elsewhere`: a document whose values
    survive as well (steps that are sent first). `tokens`: members whose value is a version of what is stored: another
    one in its place is no loss.
    """
    lost: list[Leaf] = []
    gained: list[Leaf] = list(_leaves(elsewhere, "")) if elsewhere else []
    comparison = _Comparison(before, tokens, lost, gained)
    for one in _places(before, after, touched):
        comparison.compare(*one)
    if after.path != before.path:
        _paths(before.path, after.path, lost, gained)
    return tuple(leaf.pointer for leaf in _unmatched(lost, gained))


def _places(
    before: Request, after: Request, touched: Iterable[str] | None
) -> Iterator[tuple[str, str, Json, Json]]:
    """Yield the parts of two requests that may differ: name, pointer, before, after."""
    parts = None if touched is None else {tuple(segments(pointer)[:2]) for pointer in touched}
    for name in ("query", "headers", "body"):
        old, new = getattr(before, name), getattr(after, name)
        if parts is not None and isinstance(old, Mapping) and isinstance(new, Mapping) and (name,) not in parts:
            for _, member in sorted(part for part in parts if part[0] == name):
                key = member.lower() if name == "headers" else member
                yield key, f"/{name}/{escape(key)}", old.get(key, MISSING), new.get(key, MISSING)
        elif parts is None or any(part[:1] == (name,) for part in parts):
            yield "", f"/{name}", MISSING if old is None else old, MISSING if new is None else new


class _Comparison:
    def __init__(self, before: Request, tokens: frozenset[str], lost: list[Leaf], gained: list[Leaf]) -> None:
        self.patch = before.method == "PATCH"
        self.form = before.form
        self.tokens, self.lost, self.gained = tokens, lost, gained

    def compare(self, name: str, pointer: str, old: Json, new: Json, depth: int = 0) -> None:
        """Tell what of `old` is not in `new` at its place, and what is new there."""
        if old is MISSING:
            self.gained += _leaves(new, pointer)
            return
        if pointer.startswith("/headers/") and (name in _REPRESENTATION or name in self.tokens and new is not MISSING):
            return
        if new is MISSING or depth > _DEEPEST:
            self.lost += [leaf for leaf in _leaves(old, pointer) if leaf.value is not None or self.patch]
            return
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            for key, inner in old.items():
                self.compare(key, f"{pointer}/{escape(str(key))}", inner, new.get(key, MISSING), depth + 1)
            for key, inner in new.items():
                if key not in old:
                    self.gained += _leaves(inner, f"{pointer}/{escape(str(key))}")
        elif isinstance(old, list) and isinstance(new, list):
            self._lists(pointer, old, new, depth)
        elif not self._kept(name, pointer, old, new):
            self.lost += _leaves(old, pointer)
            self.gained += _leaves(new, pointer)

    def _kept(self, name: str, pointer: str, old: Json, new: Json) -> bool:
        loose = self.form or pointer.startswith(("/query", "/headers"))
        same = same_text if loose else same_json
        if same(old, new) or says_the_same(old, new) or is_respelled(old, new):
            return True
        if old is None:
            return not self.patch
        return name in self.tokens and isinstance(old, str | int) and isinstance(new, str | int)

    def _lists(self, pointer: str, old: list[Any], new: list[Any], depth: int) -> None:
        """Compare lists: equal elements are each other wherever they stand, the rest by its order."""
        rest = list(range(len(new)))
        keys: dict[bytes, list[int]] = {}
        for index, element in enumerate(new):
            keys.setdefault(_key(element), []).append(index)
        open_ones: list[int] = []
        for index, element in enumerate(old):
            there = keys.get(_key(element))
            if there:
                rest[there.pop(0)] = -1
            else:
                open_ones.append(index)
        free = [index for index in rest if index >= 0]
        for index in list(open_ones):
            if index in free:
                free.remove(index)
                open_ones.remove(index)
                self.compare("", f"{pointer}/{index}", old[index], new[index], depth + 1)
        for index in open_ones:
            other = new[free.pop(0)] if free else MISSING
            self.compare("", f"{pointer}/{index}", old[index], other, depth + 1)
        for index in free:
            self.gained += _leaves(new[index], f"{pointer}/{index}")


def _key(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _leaves(value: Json, pointer: str, depth: int = 0) -> Iterator[Leaf]:
    """Yield the values without members; an empty list or object is one of its own."""
    if isinstance(value, Mapping) and value and depth <= _DEEPEST:
        for name, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{escape(str(name))}", depth + 1)
    elif isinstance(value, list) and value and depth <= _DEEPEST:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{pointer}/{index}", depth + 1)
    elif value is not MISSING:
        yield Leaf(pointer, value)


def _paths(old: str, new: str, lost: list[Leaf], gained: list[Leaf]) -> None:
    """Compare paths by segment: what is not in the new one any more, wherever it stands, is lost."""
    there = [unquote(segment) for segment in new.split("/") if segment]
    for segment in [unquote(segment) for segment in old.split("/") if segment]:
        match = next((one for one in there if one == segment), None) or next(
            (one for one in there if is_respelled(segment, one)), None
        )
        if match is None:
            lost.append(Leaf("/path", segment))
        else:
            there.remove(match)
    gained += [Leaf("/path", segment) for segment in there]


def _unmatched(lost: Sequence[Leaf], gained: Sequence[Leaf]) -> list[Leaf]:
    """Return what stands nowhere else now. Each new value accounts for one that is gone."""
    open_ones = list(gained)
    out: list[Leaf] = []
    for leaf in lost:
        match = next((one for one in open_ones if _stands_for(leaf.value, one.value)), None)
        if match is None:
            out.append(leaf)
        else:
            open_ones.remove(match)
    return out


def _stands_for(old: Json, new: Json) -> bool:
    return same_json(old, new) or says_the_same(old, new)
