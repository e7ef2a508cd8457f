"""The functions of CEL that packs may call: signature, meaning, example, and what each does on plain values.

Their signatures say which values each takes: expressions are checked by them when a pack is loaded, and values when an
expression is evaluated. The reference of packs is made of them.

Knows: CEL's standard library, its extensions strings and math. Does not know: trees, names in scope.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib.resources import files
from typing import Any, Final, NamedTuple

import re2

from corrigible.rules.budget import UNITS_OF_VALUE, spend, take
from corrigible.rules.pattern import compiled_without_groups

LARGEST: Final = 2**63
"""CEL's integers have 64 bits; those from here to twice as much are unsigned ones."""


class Failed(Exception):
    """An operation has no value for its operands."""


class Type(NamedTuple):
    """A type as a value: that of `type(x)`."""

    name: str


TYPES: Final = {
    name: Type(name) for name in ("bool", "double", "int", "list", "map", "null_type", "string", "type", "uint")
}
_NAMES: Final = {str: "string", bool: "bool", float: "double", list: "list", dict: "map", type(None): "null_type"}


def kind_of(value: Any) -> str:
    """Return CEL's name for the type of a value."""
    if type(value) is int:
        return "int" if -LARGEST <= value < LARGEST else "uint"
    return _NAMES.get(type(value), "type")


def fits(number: int) -> int:
    """Return an integer of 64 bits. Raises Failed for a larger one."""
    if -LARGEST <= number < LARGEST:
        return number
    raise Failed("integer overflow")


def as_double(number: float) -> float:
    """Return a number as a double. Raises Failed for an integer that is none of CEL."""
    if type(number) is int and not -LARGEST <= number < 2 * LARGEST:
        raise Failed("integer overflow")
    return float(number)


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal: numbers by what they are worth, values of other types never."""
    kind = type(one)
    if kind is type(other) and kind is not list and kind is not dict:
        if kind is str:
            spend(len(one) >> 10)
        return bool(one == other)
    waiting = [(one, other)]
    while waiting:
        one, other = waiting.pop()
        kind = type(one)
        if kind is not type(other):
            if {kind, type(other)} == {int, float} and as_double(one) == as_double(other):
                continue
            return False
        if kind is list or kind is dict:
            spend(len(one) >> 3)
            if len(one) != len(other):
                return False
            if kind is list:
                waiting += zip(one, other, strict=True)
                continue
            for name, value in one.items():
                if name not in other:
                    return False
                waiting.append((value, other[name]))
        elif one != other:
            return False
    return True


def _int(value: Any) -> int:
    if type(value) is str:
        if _INTEGER.fullmatch(value) is None or len(value) > _LONGEST_NUMBER:
            raise Failed("cannot convert string to int")
        value = int(value)
    elif type(value) is float and not -LARGEST < value < LARGEST:
        raise Failed("double out of int64 range")
    return fits(int(value))


_INTEGER: Final = re.compile(r"[\t-\r ]*[+-]?[0-9]+[\t-\r ]*")
_NUMBER: Final = re.compile(
    r"[\t-\r ]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)[\t-\r ]*", re.IGNORECASE
)
_LONGEST_NUMBER: Final = 400


def _double(value: Any) -> float:
    if type(value) is str and (_NUMBER.fullmatch(value) is None or len(value) > _LONGEST_NUMBER):
        raise Failed("cannot convert string to double")
    return float(value) if type(value) is str else as_double(value)


def _string(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        as_double(value)
    return _decimal(value) if type(value) is float else str(value)


def _decimal(number: float) -> str:
    """Return the shortest digits of a number, with an exponent below 1e-4 and from 1e6 on as C++ writes them."""
    if not math.isfinite(number) or number == 0:
        return repr(number).removesuffix(".0")
    digits = len(Decimal(repr(number)).normalize().as_tuple().digits)
    if 1e-4 <= abs(number) < 1e6:
        return repr(number).removesuffix(".0")
    return f"{number:.{digits - 1}e}"


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if value in ("true", "True", "TRUE", "t", "1", "false", "False", "FALSE", "f", "0"):
        return value[0] in "tT1"
    raise Failed("cannot convert string to bool")


_OF_A_PATTERN: Final = 100
"""Steps to compile a pattern that is not kept: so often at least there is a look at the clock."""


@functools.lru_cache(256)
def _pattern(text: str) -> Any:
    """Return a compiled pattern of RE2, which has no types; None for what is none, or is too large.

    A pack of ours has 107, and one exchange may ask for all: there is room for the packs of a proxy together.
    """
    spend(_OF_A_PATTERN + (len(text) >> 2))
    try:
        return compiled_without_groups(text)
    except (re2.error, UnicodeEncodeError):
        return None


def _matches(text: str, pattern: str) -> bool:
    spend(len(text) >> 6)
    take(8 * len(pattern))
    found = _pattern(pattern)
    if found is None:
        raise Failed(f"not an RE2 pattern: {pattern[:200]}")
    try:
        return found.search(text) is not None
    except UnicodeEncodeError:
        raise Failed("a text with half of a surrogate pair") from None


def _char_at(text: str, index: int) -> str:
    return text[_within(text, index) : index + 1]


def _within(text: str, index: int) -> int:
    if 0 <= index <= len(text):
        return index
    raise Failed(f"index out of range: {index}")


def _index_of(text: str, part: str, start: int = 0) -> int:
    return text.find(part, _within(text, start))


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    return text.rfind(part) if last is None else text.rfind(part, 0, _within(text, last) + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else _within(text, end)
    if _within(text, start) > last:
        raise Failed(f"index out of range: {start}")
    return text[start:last]


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old)
    take(UNITS_OF_VALUE + len(text) + (found if count < 0 else min(found, count)) * max(0, len(new) - len(old)))
    return text.replace(old, new, min(count, found + 1))


def _split(text: str, separator: str, parts: int = -1) -> list[str]:
    take(len(text) + UNITS_OF_VALUE * (2 + text.count(separator)))
    if parts == 0:
        return []
    if not separator:
        whole = len(text) if parts < 0 else min(parts - 1, len(text))
        return [*text[:whole], *([text[whole:]] if text[whole:] else [])] or [""]
    return text.split(separator, min(parts - 1, len(text)) if parts > 0 else -1)


def _join(items: list[Any], between: str = "") -> str:
    if not all(type(one) is str for one in items):
        raise Failed("only texts are joined: map them by string(x)")
    take(UNITS_OF_VALUE + sum(map(len, items)) + len(between) * len(items))
    return between.join(items)


_WHITE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _extreme(is_better: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def extreme(*given: Any) -> Any:
        numbers = given[0] if len(given) == 1 and type(given[0]) is list else given
        spend(len(numbers) >> 4)
        if not numbers or not all(type(one) is int or type(one) is float for one in numbers):
            raise Failed("numbers are needed")
        best = numbers[0]
        for one in numbers[1:]:
            best = one if is_better(one, best) else best
        return best

    return extreme


def _rounded(number: float) -> float:
    """Round to the nearest integer, halves away from zero."""
    if not math.isfinite(number):
        return number
    whole = float(math.trunc(number))
    return whole + math.copysign(1.0, number) if abs(number - whole) >= 0.5 else math.copysign(whole, number)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda number: math.copysign(float(function(number)), number) if math.isfinite(number) else number


def _absolute(number: Any) -> Any:
    return number if number >= 0 else fits(abs(number)) if type(number) is int else abs(number)


def _sign(number: Any) -> Any:
    return number if number == 0 or number != number else type(number)((number > 0) - (number < 0))


class Function(NamedTuple):
    name: str
    """With `math.` before it where it belongs there."""
    signature: str
    """`string.charAt(index: int) -> string`; arguments in brackets may be left out."""
    description: str
    examples: tuple[str, ...]
    """Expressions of `body`, `request` and literals alone."""
    kinds: tuple[frozenset[str] | None, ...] = ()
    """Of the owner of a method and of each argument, None for any."""
    least: int = 0
    """How many of them there have to be."""
    gives: str = ""
    """The kind of its value, empty where only the values tell."""
    is_method: bool = False
    call: Callable[..., Any] | None = None
    """None for a macro."""


_SIGNATURE: Final = re.compile(r"(?:([\w ]+)\.)?(\w+)\((.*)\) -> (\w+)")


def _kinds(text: str) -> frozenset[str] | None:
    """Return the kinds of values that a signature names by `string`, `list or map`, `number`."""
    if text == "any":
        return None
    return frozenset(text.replace("number", "int or double or uint").split(" or "))


def _long(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that walks through its text, or writes it anew: many letters count."""

    def called(text: str, *given: Any) -> Any:
        if len(text) > 256:
            take(len(text))
        return function(text, *given)

    return called


_CALLS: Final[Mapping[str, Callable[..., Any]]] = {
    **{"size": len, "type": lambda value: TYPES[kind_of(value)], "dyn": lambda value: value},
    **{"int": _int, "double": _double, "string": _string, "bool": _bool, "join": _join, "matches": _matches},
    **{"contains": _long(lambda text, part: part in text), "charAt": _char_at, "replace": _replace, "split": _split},
    **{"startsWith": _long(str.startswith), "endsWith": _long(str.endswith), "substring": _long(_substring)},
    **{"indexOf": _long(_index_of), "lastIndexOf": _long(_last_index_of), "reverse": _long(lambda text: text[::-1])},
    "trim": _long(lambda text: text.strip(_WHITE)),
    "lowerAscii": _long(lambda text: text.translate(_LOWER)),
    "upperAscii": _long(lambda text: text.translate(_UPPER)),
    "greatest": _extreme(lambda one, best: one > best),
    "least": _extreme(lambda one, best: one < best),
    **{"ceil": _whole(math.ceil), "floor": _whole(math.floor), "trunc": _whole(math.trunc), "round": _rounded},
    **{"abs": _absolute, "sign": _sign, "isNaN": math.isnan, "isInf": math.isinf, "isFinite": math.isfinite},
    "sqrt": lambda number: math.nan if number < 0 else math.sqrt(as_double(number)),
}
"""What each function does; those without one are macros."""
_TABLE: Final = files(__package__).joinpath("standard.txt").read_text("utf-8")
"""Signature, meaning and an example of each function, by group."""


def _function(row: str) -> Function:
    signature, description, example = row.split(" | ")
    match = _SIGNATURE.fullmatch(signature)
    call = _CALLS.get(match[2]) if match is not None else None
    if match is None or call is None:
        return Function("", signature, description, (example,))
    owner, name, listed, gives = match.groups()
    is_method = owner is not None and owner != "math"
    arguments = listed.replace("[", "").replace("]", "").split(", ") if listed else []
    kinds = [_kinds(one.rpartition(": ")[2]) for one in ([owner, *arguments] if is_method else arguments)]
    least = 1 if "..." in listed else len(kinds) - listed.count("[")
    whole_name = name if owner != "math" else f"math.{name}"
    known = gives if gives in TYPES else ""
    return Function(whole_name, signature, description, (example,), tuple(kinds), least, known, is_method, call)


STANDARD: Final[Mapping[str, tuple[Function, ...]]] = {
    group.partition("\n")[0]: tuple(map(_function, group.splitlines()[1:])) for group in _TABLE.split("# ")[1:]
}
"""The functions of CEL by group, as the reference of packs lists them."""
CALLED: Final = {(one.name, one.is_method): one for group in STANDARD.values() for one in group if one.call is not None}
"""Those that are no macros, by name and whether they are methods."""
INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("timestamp", "getFullYear", "getMonth", "getDate", "getHours"), "unix(date) gives its seconds"),
    **dict.fromkeys(("duration", "getSeconds", "getMinutes", "getMilliseconds"), "seconds('10 min') gives them"),
    **dict.fromkeys(("uint", "bytes"), "JSON has no such values; int(x), base64(text)"),
    **dict.fromkeys(("format", "quote"), "join texts by + and string(x)"),
    **dict.fromkeys(("existsOne",), "exists_one(x, condition)"),
    **dict.fromkeys(("transformList", "transformMap"), "list.map(x, value)"),
    **dict.fromkeys(("of", "none", "ofNonZeroValue", "optMap", "optFlatMap", "value", "or"), "a.?b.orValue(default)"),
    "covers": 'it is now called "includes"',
    "wildcards": 'it is now called "find"',
}
"""What CEL has and packs have not, and how it is written instead."""
