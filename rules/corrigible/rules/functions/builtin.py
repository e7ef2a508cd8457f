"""What expressions may call besides CEL's own: pure functions on plain values."""

from __future__ import annotations

import base64 as codec
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any

import re2

from corrigible.rules.budget import UNITS_OF_VALUE, spend, take, walk
from corrigible.rules.pointer import MISSING, escape, resolve, segments

_RFC3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})")
_KEYS = uuid.UUID("6f0f7c02-6b0e-5a53-9f52-0b6f2a7f3a11")


def integer(value: Any) -> int | None:
    """Return the integer that a number or a text is; null for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else None
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
        return int(value)
    return None


def unix(date: Any) -> int | None:
    """Return the Unix seconds of a date of HTTP (RFC 9110 section 5.6.7) or of RFC 3339; null for anything else."""
    text = str(date)
    try:
        moment = datetime.fromisoformat(text) if _RFC3339.fullmatch(text) else parsedate_to_datetime(text)
        return math.floor((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def at(document: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer (RFC 6901); null if there is none."""
    value = resolve(document, pointer)
    return None if value is MISSING else value


def includes(have: Any, want: Any) -> bool:
    """Return whether `have` has every member of `want`. Scalars are compared as text; an empty value equals none."""
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(includes(have.get(name), inner) for name, inner in want.items())
    if isinstance(want, list):
        return (
            isinstance(have, list)
            and len(have) == len(want)
            and all(includes(have_item, other) for have_item, other in zip(have, want, strict=True))
        )
    if isinstance(have, (Mapping, list)):
        return False
    return _text(have) == _text(want)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def names(document: Any, pointer: str) -> list[str]:
    """Return the names of the members of the object at a JSON pointer; none if no object is there."""
    value = resolve(document, pointer)
    return list(value) if isinstance(value, Mapping) else []


def fresh_key(seed: str) -> str:
    """Return a new idempotency key; the same seed gives the same key."""
    return str(uuid.uuid5(_KEYS, seed))


def or_value(value: Any, default: Any) -> Any:
    """Return the value, or the default if it is null."""
    return default if value is None else value


def find(document: Any, pattern: str) -> list[str]:
    """Return the JSON pointers of all places in a document that fit a pattern.

    `*` is any one member or element, `**` any number of levels: `**/name` is `name` at any depth.
    """
    walk()
    parts = segments(pattern if pattern.startswith("/") else f"/{pattern}")
    return list(dict.fromkeys(_fitting(document, parts, "")))


def _fitting(node: Any, parts: Sequence[str], walked: str) -> Iterator[str]:
    spend()
    if not parts:
        take(UNITS_OF_VALUE + len(walked))
        yield walked
        return
    if parts[0] == "**":
        yield from _fitting(node, parts[1:], walked)
        for name in _inner(node):
            step = "/" + escape(name)
            yield from _fitting(resolve(node, step), parts, walked + step)
        return
    names = _inner(node) if parts[0] == "*" else [parts[0]]
    for name in names:
        step = "/" + escape(name)
        inner = resolve(node, step)
        if inner is not MISSING:
            yield from _fitting(inner, parts[1:], walked + step)


def _inner(node: Any) -> list[str]:
    """Return the steps that lead one level deeper."""
    if isinstance(node, Mapping):
        return list(map(str, node))
    return list(map(str, range(len(node)))) if isinstance(node, list) else []


def flat(lists: Sequence[Any]) -> list[Any]:
    """Return the elements of the lists in a list, one level deep; an element that is no list stays."""
    return [inner for one in lists for inner in (one if isinstance(one, list) else [one])]


def base64(text: str) -> str:
    """Return the base64 of the UTF-8 of a text (RFC 4648 section 4)."""
    return codec.b64encode(str(text).encode()).decode()


def is_base64(text: Any) -> bool:
    """Return whether a text is base64, line breaks allowed."""
    try:
        codec.b64decode("".join(str(text).split()), validate=True)
    except ValueError:
        return False
    return isinstance(text, str)


def base64_meant(text: Any) -> str:
    """Return the base64 of a text that lacks only its padding, or is in the URL alphabet; empty for plain text.

    Short words are base64 by accident: they decode to no text.
    """
    clean = "".join(str(text).split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    padded = clean + "=" * (-len(clean) % 4)
    if not isinstance(text, str) or len(clean) < _SHORTEST_CODE or not is_base64(padded):
        return ""
    try:
        return padded if codec.b64decode(padded).decode().isprintable() else ""
    except UnicodeDecodeError:
        return padded if len(clean) >= _LONGEST_WORD else ""


_SHORTEST_CODE = 4
_LONGEST_WORD = 20
"""Longer texts of letters and digits alone are codes, whatever they decode to."""


def respell(text: str, keep: str, filler: str) -> str:
    """Return a text in which each run of characters outside a class such as `[a-z0-9-]` is one filler.

    No filler is left at either end, nor two in a row.
    """
    if not (keep.startswith("[") and keep.endswith("]")) or keep.startswith("[^"):
        raise ValueError(f"{keep}: not a class such as [a-z0-9-]")
    take(UNITS_OF_VALUE + len(str(text)) * (1 + len(filler)))
    out = str(re2.sub(f"[^{keep[1:-1]}]+", filler.replace("\\", "\\\\"), str(text)))
    if filler:
        mark = re.escape(filler)
        out = re.sub(f"(?:{mark}){{2,}}", lambda _: filler, out)
        out = re.sub(f"^(?:{mark})+|(?:{mark})+$", "", out)
    return out


_BINARY = {suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {
    suffix: Decimal(10) ** power
    for suffix, power in {
        "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
    }.items()
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?")
_MOST_DIGITS = 30


def quantity(text: Any) -> float | None:
    """Return a Kubernetes quantity in base units (cores, bytes, pieces); null for anything else."""
    number = _read(text)
    return None if number is None else float(number)


def quantity_text(number: float, like: Any) -> str | None:
    """Return a number as a Kubernetes quantity with a suffix like that of another; null if that cannot be exact.

    `like` decides between binary (`Mi`) and decimal (`M`, `m`); the largest suffix that leaves an integer is used.
    """
    value = Decimal(repr(float(number))).normalize()
    match = _QUANTITY.fullmatch(str(like).strip())
    binary = match is not None and match[3] in _BINARY
    # A little noise of binary floating point is not part of the number: nothing smaller than a nano can be said.
    value = value.quantize(_DECIMAL["n"]) if abs(value) < 10**15 else value
    units = {"": Decimal(1), **_BINARY} if binary else _DECIMAL
    largest = units["Ei" if binary else (match and match[3]) or ""]
    for suffix, unit in sorted(units.items(), key=lambda suffix_unit: suffix_unit[1], reverse=True):
        if unit > max(largest, Decimal(1)):
            continue  # 2000 stays 2000, and becomes 2k only beside another k
        count = value / unit
        if count == count.to_integral_value():
            return f"{count:f}".partition(".")[0] + suffix
    return None


def _read(text: Any) -> Decimal | None:
    if not isinstance(text, (str, int, float)):
        return None
    stripped = str(text).strip()
    match = _QUANTITY.fullmatch(stripped) if len(stripped) <= _MOST_DIGITS else None
    if match is None:
        return None
    try:
        number = Decimal(match[1])
    except InvalidOperation:
        return None
    if match[2]:
        return number * Decimal(10) ** int(match[2])
    suffix = match[3] or ""
    return number * (_BINARY.get(suffix) or _DECIMAL[suffix])
