"""CEL's methods and conversions on plain values, as far as Python's are the same; else `ODD`.

Knows: CEL's standard library and its strings extension. Does not know: trees, the runtime.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import re2

from corrigible.rules.budget import UNITS_OF_VALUE, spend, take
from corrigible.rules.pattern import compiled

ODD: Final = object()
"""The runtime has to evaluate the expression on these values."""
TYPES: Final[Mapping[str, type]] = {"list": list, "map": dict, "string": str, "int": int, "bool": bool, "double": float}
"""CEL's names of types."""
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_BLANKS: Final = " \t\n\v\f\r"
_LARGEST: Final = 2**53
"""Up to here every integer is a double."""
_SHORT: Final = 256
_KEPT_PATTERNS: Final = 512


def ordered(value: Any) -> Any:
    """Return maps by name: the runtime hands their entries out in an order that no two processes share."""
    if type(value) is dict:
        return {name: ordered(value[name]) for name in sorted(value, key=str)}
    if type(value) is list:
        return [ordered(one) for one in value]
    return value


def size(value: Any) -> Any:
    """Return how many code points, elements or members there are."""
    return len(value) if type(value) in (str, list, dict) else ODD


def text_of(value: Any) -> Any:
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) is int and -(2**63) <= value < 2**63 else ODD


def to_double(value: Any) -> Any:
    if type(value) is float:
        return value
    return float(value) if type(value) is int and -_LARGEST <= value <= _LARGEST else ODD


@functools.lru_cache(_KEPT_PATTERNS)
def _pattern(text: str) -> Any:
    """Return a compiled pattern of RE2, which has no types; None for what is none."""
    try:
        return compiled(text)
    except re2.error:
        return None


def _matches(text: str, pattern: str) -> Any:
    spend(len(text) >> 6)
    compiled = _pattern(pattern) if _is_whole(pattern) and _is_whole(text) else None
    return ODD if compiled is None else compiled.search(text) is not None


def _is_whole(text: str) -> bool:
    """Whether a text can be encoded: half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text)


def _of_texts(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of texts: any other value is ODD."""

    def called(*given: Any) -> Any:
        if not all(type(one) is str for one in given):
            return ODD
        if len(given[0]) > _SHORT:
            take(len(given[0]))  # it is walked through, and may be written anew
        return function(*given)

    return called


def _replaced(text: Any, old: Any, new: Any, count: Any = -1) -> Any:
    if not (type(text) is type(old) is type(new) is str and type(count) is int):
        return ODD
    if not old:
        return ODD
    found = text.count(old)
    take(UNITS_OF_VALUE + len(text) + (found if count < 0 else min(found, count)) * max(0, len(new) - len(old)))
    return text.replace(old, new, count)


def _split(text: Any, separator: Any, parts: Any = -1) -> Any:
    if type(text) is not str or type(separator) is not str or type(parts) is not int or not text or not separator:
        return ODD
    take(len(text) + UNITS_OF_VALUE * (2 + text.count(separator)))
    return text.split(separator, parts - 1 if parts > 0 else -1) if parts else []


def _trimmed(text: str) -> Any:
    return text.strip(_BLANKS) if text.isascii() and not any(one in text for one in "\x1c\x1d\x1e\x1f") else ODD


def _joined(items: Any, between: Any = "") -> Any:
    if type(items) is not list or type(between) is not str or not all(type(one) is str for one in items):
        return ODD
    take(UNITS_OF_VALUE + sum(map(len, items)) + len(between) * len(items))
    return between.join(items)


def _part(text: Any, start: Any, *end: Any) -> Any:
    if type(text) is not str or type(start) is not int:
        return ODD
    (last,) = end or (len(text),)
    if type(last) is not int or not 0 <= start <= last <= len(text):
        return ODD
    take(last - start)
    return text[start:last]


METHODS: Final[Mapping[tuple[str, int], Callable[..., Any]]] = {
    ("contains", 1): _of_texts(lambda text, part: part in text),
    ("startsWith", 1): _of_texts(str.startswith),
    ("endsWith", 1): _of_texts(str.endswith),
    ("lowerAscii", 0): _of_texts(lambda text: text.translate(_LOWER)),
    ("upperAscii", 0): _of_texts(lambda text: text.translate(_UPPER)),
    ("matches", 1): _of_texts(_matches),
    ("replace", 2): _replaced,
    ("replace", 3): _replaced,
    ("split", 1): _split,
    ("split", 2): _split,
    ("trim", 0): _of_texts(_trimmed),
    ("indexOf", 1): _of_texts(lambda text, part: text.find(part) if part else ODD),
    ("lastIndexOf", 1): _of_texts(lambda text, part: text.rfind(part) if part else ODD),
    ("join", 0): _joined,
    ("join", 1): _joined,
    ("substring", 1): _part,
    ("substring", 2): _part,
    ("size", 0): size,
}
"""By name and number of arguments."""
