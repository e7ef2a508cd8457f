"""Where feedback goes in a JSON text: spliced in, so that every native byte stays as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from corrigible.rules.pointer import segments
from corrigible.schema.exchange import Json

MEMBER = "recovery_feedback"
_SPACE = " \t\n\r"
_EMPTY = {'"': '""', "[": "[]", "{": "{}"}
_decode = json.JSONDecoder(strict=False).raw_decode


class Span(NamedTuple):
    """Where a value stands in a text."""

    start: int
    end: int


def span(text: str, pointer: str) -> Span | None:
    """Return where the value at a pointer stands; of a member named twice the last one, as JSON readers take it."""
    here = Span(_skip(text, 0), len(text.rstrip(_SPACE)))
    for part in segments(pointer):
        found: Span | None = None
        if text[here.start] == "{":
            for name, value in _members(text, here.start):
                if name == part:
                    found = value
        elif text[here.start] == "[" and part.isdecimal():
            for index, value in enumerate(_elements(text, here.start)):
                if index == int(part):
                    found = value
        if found is None:
            return None
        here = found
    return here


Members = Sequence[tuple[str, str]]
"""Plain names and JSON texts."""


def add_members(text: str, parsed: Json, additions: Mapping[str, Members]) -> str:
    """Add members to the objects at some pointers; where there is no object, nothing is added."""
    cuts: list[tuple[int, str]] = []
    for pointer, members in additions.items():
        place = _closing(text, parsed, pointer) if members else None
        if place is not None:
            added = ",".join([f'"{name}":{value}' for name, value in members])
            cuts.append((place, added if text[_before(text, place)] == "{" else "," + added))
    cuts.sort()
    pieces: list[str] = []
    done = 0
    for place, piece in cuts:
        pieces += (text[done:place], piece)
        done = place
    pieces.append(text[done:])
    return "".join(pieces)


def blank(text: str, pointers: Sequence[str]) -> str:
    """Empty the strings, arrays and objects at some pointers, and null the other values."""
    for pointer in pointers:
        found = span(text, pointer)
        if found is not None:
            text = text[: found.start] + _EMPTY.get(text[found.start], "null") + text[found.end :]
    return text


def _closing(text: str, parsed: Json, pointer: str) -> int | None:
    """Return where the closing brace of the object at a pointer stands."""
    end = _before(text, len(text))
    if not pointer:
        return end if isinstance(parsed, dict) else None
    # The common case, {"error": {...}}: one member, so the object ends right before the outer one does.
    if isinstance(parsed, dict) and len(parsed) == 1 and pointer.count("/") == 1:
        value = next(iter(parsed.values()))
        if pointer[1:] in parsed and isinstance(value, dict):
            return _before(text, end)
    found = span(text, pointer)
    return found.end - 1 if found is not None and text[found.start] == "{" else None


def _before(text: str, at: int) -> int:
    """Return where the last visible character before a place stands."""
    at -= 1
    while text[at] in _SPACE:
        at -= 1
    return at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _members(text: str, at: int) -> Iterator[tuple[str, Span]]:
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _decode(text, start)
        yield name, Span(start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _elements(text: str, at: int) -> Iterator[Span]:
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _decode(text, at)
        yield Span(at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
