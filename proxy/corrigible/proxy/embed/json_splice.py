"""Where feedback goes in a JSON text: spliced in, so that every native byte stays as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from corrigible.rules.pointer import resolve, segments
from corrigible.schema.exchange import Json

MEMBER = "recovery_feedback"
_SPACE = " \t\n\r"
_BYTES_OF_SPACE = _SPACE.encode()
_EMPTY = {'"': '""', "[": "[]", "{": "{}"}
_decode = json.JSONDecoder(strict=False).raw_decode


class Span(NamedTuple):
    """Where a value stands in a text."""

    start: int
    end: int


def span(text: str, pointer: str) -> Span | None:
    """Return where the value at a pointer stands; of a member named twice the last one, as JSON readers take it."""
    span = Span(_skip(text, 0), len(text.rstrip(_SPACE)))
    for part in segments(pointer):
        spanned: Span | None = None
        if text[span.start] == "{":
            for name, value in _members(text, span.start):
                if name == part:
                    spanned = value
        elif text[span.start] == "[" and part.isdecimal():
            for index, value in enumerate(_elements(text, span.start)):
                if index == int(part):
                    spanned = value
        if spanned is None:
            return None
        span = spanned
    return span


def splice(text: bytes, parsed: Json, additions: Mapping[str, Sequence[bytes]]) -> bytes:
    """Put JSON texts at the end of the objects (`"name":value`) and arrays (`value`) at some pointers.

    `text` is JSON in UTF-8 and `parsed` its value. Every byte of it stays, in its order; where there is neither object
    nor array, nothing is added.
    """
    end = len(text.rstrip(_BYTES_OF_SPACE)) - 1
    cuts: list[tuple[int, bytes]] = []
    for pointer, pieces in additions.items():
        value = resolve(parsed, pointer) if pointer else parsed
        if not pieces or not isinstance(value, (dict, list)):
            continue
        place = _closing(text, parsed, pointer, end) if pointer else end
        if place is not None:
            added = b",".join(pieces)
            cuts.append((place, b"," + added if value else added))
    cuts.sort()
    out: list[bytes] = []
    start = 0
    for place, piece in cuts:
        out.append(text[start:place])
        out.append(piece)
        start = place
    out.append(text[start:])
    return b"".join(out)


def blank(text: str, pointers: Sequence[str]) -> str:
    """Empty the strings, arrays and objects at some pointers, and null the other values."""
    for pointer in pointers:
        spanned = span(text, pointer)
        if spanned is not None:
            text = text[: spanned.start] + _EMPTY.get(text[spanned.start], "null") + text[spanned.end :]
    return text


def _closing(text: bytes, parsed: Json, pointer: str, end: int) -> int | None:
    """Return where the object or array at a pointer closes; `end` is where the outermost one does."""
    # The common case, {"error": {...}}: one member, so the object ends right before the outer one does.
    if len(parsed) == 1 and pointer.count("/") == 1:
        return len(text[:end].rstrip(_BYTES_OF_SPACE)) - 1
    decoded = text.decode()
    spanned = span(decoded, pointer)
    if spanned is None or decoded[spanned.start] not in "{[":
        return None
    return len(decoded[: spanned.end].encode()) - 1


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
