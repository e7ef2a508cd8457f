"""Compares a native body with the annotated one: every native member, in its order, numbers to the digit.

Knows: JSON texts. Does not know: HTTP, feedback, whose answer it is.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final

from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.schema.document import to_pointer
from corrigible.schema.exchange import Json

from .finding import ABSENT, Absent, Finding

NOTHING: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where an answer is not what it was."""

    pointer: str
    message: str
    expected: Json | Absent = ABSENT
    got: Json | Absent = ABSENT
    within: str = "/body"
    """What the pointer leads into, as a place of the answer."""

    def finding(self, requirement: str, sent: HttpRequest | None, label: str = "", joint: str = ": ") -> Finding:
        """Return what is wrong; `label` says of what."""
        message = f"{label}{joint}{self.message}" if label else self.message
        return Finding(requirement, message, self.expected, self.got, sent, place=self.within + self.pointer)


class _Number(str):
    """The text of a number, as it was written."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """Members as they were written: in order, repeated ones too."""

    __slots__ = ()


def differences(native: bytes, actual: bytes, *, grown: Container[str] = NOTHING) -> Iterator[Difference]:
    """Yield what got lost, changed or moved, and what was added to any object or array but those at `grown`.

    Elements may only be added after the native ones, members anywhere.
    """
    try:
        before = _read(native)
    except ValueError:
        if native != actual:
            texts = (native.decode("utf-8", "replace"), actual.decode("utf-8", "replace"))
            yield Difference("", "an answer that is no JSON changed", *texts)
        return
    try:
        after = _read(actual)
    except ValueError:
        yield Difference("", "the answer is JSON no more", _as_json(before), actual.decode("utf-8", "replace"))
        return
    yield from _compare(before, after, "", grown)


def _read(text: bytes) -> Any:
    return json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=_Object)


def _compare(before: Any, after: Any, pointer: str, grown: Container[str]) -> Iterator[Difference]:
    place = pointer or "the answer"
    match before, after:
        case _Object(), _Object():
            yield from _members(before, after, pointer, grown)
        case list(), list() if not isinstance(before, _Object) and not isinstance(after, _Object):
            if len(after) < len(before) or (len(after) > len(before) and pointer not in grown):
                yield Difference(pointer, f"{place} has other elements", _as_json(before), _as_json(after))
                return
            for index, (was, is_now) in enumerate(zip(before, after, strict=False)):
                yield from _compare(was, is_now, f"{pointer}/{index}", grown)
        case _ if type(before) is not type(after) or before != after:
            yield Difference(pointer, f"{place} is not what it was", _as_json(before), _as_json(after))


def _members(before: _Object, after: _Object, pointer: str, grown: Container[str]) -> Iterator[Difference]:
    names = [name for name, _ in before]
    kept = [(name, value) for name, value in after if name in names]
    added = [name for name, _ in after if name not in names]
    place = pointer or "the answer"
    if added and pointer not in grown:
        yield Difference(pointer, f"{place} has members that it had not: {', '.join(added)}", [], list(added))
    if sorted(names) != sorted(name for name, _ in kept):
        lost_names = sorted({name for name in names if names.count(name) != [n for n, _ in kept].count(name)})
        sentence = f"members of {place} are gone or there twice: {', '.join(lost_names)}"
        yield Difference(pointer, sentence, list(names), [name for name, _ in kept])
        return
    if names != [name for name, _ in kept]:
        yield Difference(pointer, f"the members of {place} are in another order", names, [name for name, _ in kept])
        return
    for (name, was), (_, is_now) in zip(before, kept, strict=True):
        yield from _compare(was, is_now, pointer + to_pointer((name,)), grown)


def _as_json(value: Any) -> Json:
    """Return a value as plain JSON, for people."""
    match value:
        case _Object():
            return {name: _as_json(inner) for name, inner in value}
        case list():
            return [_as_json(inner) for inner in value]
        case _Number():
            try:
                return json.loads(value)
            except ValueError:
                return str(value)
        case _:
            return value
