"""How much the runtime makes of an expression at the most: it counts nothing itself, and size shows when it is made.

Every part of an expression gets an upper bound from those of its own parts, beginning with the values in scope. What
has no bound here is not evaluated.

Knows: CEL's trees and functions, values. Does not know: the runtime, rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from corrigible.rules.budget import MOST_UNITS, UNITS_OF_VALUE, Oversized
from corrigible.rules.functions.edits import MOST_CHANGES
from corrigible.rules.pointer import MISSING, resolve

from . import cel_syntax as cel
from .shorthand import BY_NAME, DOCUMENTS

_V: Final = UNITS_OF_VALUE


class Size(NamedTuple):
    """The most that a value is: a scalar has no elements."""

    units: int
    """Of all of it, written out."""
    elements: int = 0
    """Of a list or a map."""
    each: int = 0
    """Units of the largest element, member or name of a member."""
    pointer: int = 0
    """Letters of the longest pointer into it."""


_SCALAR: Final = Size(_V)
_SHORT: Final = Size(_V + 64)
"""A number, a date, a key: as text."""


def _text(units: int) -> Size:
    return Size(_V + units)


def _inner(of: Size) -> Size:
    """Return any part of a value."""
    return Size(of.each, of.each // _V, of.each, of.pointer)


def _either(sizes: Sequence[Size]) -> Size:
    return Size(*(max(column) for column in zip(*sizes, strict=True)))


def _listed(elements: int, each: Size) -> Size:
    return Size(_V + elements * each.units, elements, each.units, each.pointer + 8)


def measured(value: Any) -> Size:
    """Return the size of a value that is there."""
    if isinstance(value, str):
        return Size(_V + len(value))
    if isinstance(value, Mapping):
        units, each, pointer = _V, 0, 0
        for name, inner in value.items():
            letters = len(name) if isinstance(name, str) else 8
            size = measured(inner)
            units += _V + letters + size.units
            each = max(each, _V + letters, size.units)
            pointer = max(pointer, 1 + 2 * letters + size.pointer)  # `~` and `/` are escaped as two letters
        return Size(units, len(value), each, pointer)
    if isinstance(value, list | tuple):
        sizes = [measured(one) for one in value]
        units = _V + sum(one.units for one in sizes)
        each = max((one.units for one in sizes), default=0)
        return Size(units, len(sizes), each, 8 + max((one.pointer for one in sizes), default=0))
    return _SCALAR


class Bound:
    """The bound of one expression."""

    __slots__ = ("_tree",)

    def __init__(self, tree: cel.Tree) -> None:
        self._tree = tree

    def units(self, values: Mapping[str, Any]) -> int:
        """Return what evaluating with these values makes and walks through. Raises NotRead and Oversized."""
        walk = _Walk(values)
        result = walk.size(self._tree, {})
        walk.take(3 * result.units)  # it is made into Python's values, and put in order
        return walk.units


class _Walk:
    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.units = 0
        self.times = 1
        """How often what is looked at is evaluated."""

    def take(self, units: int) -> None:
        self.units += self.times * units
        if self.units > MOST_UNITS:
            raise Oversized(f"could make more than {MOST_UNITS:,} letters, a value counted as {_V}")

    def size(self, tree: cel.Tree, bound: Mapping[str, Size]) -> Size:
        self.take(_V)
        there = self._there(tree, bound)
        if there is not MISSING:
            return measured(there)
        match tree:
            case cel.Literal(value):
                return measured(value)
            case cel.Name(name):
                return bound.get(name, _SCALAR)  # what is not in scope is an error, or the name of a type
            case cel.Member(owner) | cel.Index(owner):
                if isinstance(tree, cel.Index):
                    self.size(tree.index, bound)
                return _inner(self.size(owner, bound))
            case cel.Unary(_, operand):
                return self.size(operand, bound)
            case cel.Binary(sign, left, right):
                return self._binary(sign, self.size(left, bound), self.size(right, bound))
            case cel.Choice(condition, then, otherwise):
                self.size(condition, bound)
                return _either([self.size(then, bound), self.size(otherwise, bound)])
            case cel.ListOf(items):
                return self._collected([self.size(one, bound) for one in items], len(items))
            case cel.MapOf(entries):
                sizes = [self.size(one, bound) for entry in entries for one in entry]
                return self._collected(sizes, len(entries))
            case cel.Call():
                return self._call(tree, bound)
        raise cel.NotRead("cannot be bounded")

    def _there(self, tree: cel.Tree, bound: Mapping[str, Size]) -> Any:
        """Return the value in scope, or the part of one, that a tree names; MISSING for anything else."""
        match tree:
            case cel.Name(name) if name not in bound:
                return self.values.get(name, MISSING)
            case cel.Member(owner, name) | cel.Index(owner, cel.Literal(name)):
                of = self._there(owner, bound)
                return of.get(name, MISSING) if isinstance(of, Mapping) and isinstance(name, str) else MISSING
            case cel.Call(None, name, (cel.Literal(str() as pointer),)) if name.startswith("at_"):
                document = name.removeprefix("at_")
                return resolve(self.values[document], pointer) if document in self.values else MISSING
        return MISSING

    def _collected(self, sizes: Sequence[Size], elements: int) -> Size:
        units = _V + sum(one.units for one in sizes)
        self.take(units)
        each = max((one.units for one in sizes), default=0)
        return Size(units, elements, each, 8 + units)

    def _binary(self, sign: str, left: Size, right: Size) -> Size:
        if sign == "+":
            units = left.units + right.units
            self.take(units)
            pointer = max(left.pointer, right.pointer) + 1
            return Size(units, left.elements + right.elements, max(left.each, right.each), pointer)
        if sign == "in":
            self.take(_V * right.elements + min(right.units, right.elements * left.units))
        elif sign in ("==", "!="):
            self.take(min(left.units, right.units))
        return _SCALAR

    def _call(self, tree: cel.Call, bound: Mapping[str, Size]) -> Size:
        owner, name, arguments = tree
        if owner == cel.Name("cel") and name == "bind" and len(arguments) == 3:
            variable, value, result = arguments
            return self.size(result, {**bound, _name(variable): self.size(value, bound)})
        if name in _OPTIONAL_MACROS and owner is not None and len(arguments) == 2:
            return self.size(arguments[1], {**bound, _name(arguments[0]): self.size(owner, bound)})
        if name in _MACROS and owner is not None and len(arguments) in (2, 3):
            return self._macro(tree, bound)
        if name == "has":
            return _SCALAR
        if name == cel.ODD:
            (literal,) = arguments
            return _text(4 * len(str(literal.value)))
        if owner in (cel.Name("math"), cel.Name("optional")):
            given = [self.size(one, bound) for one in arguments]
            return _either([_SCALAR, *given]) if owner == cel.Name("optional") else _SCALAR
        given = [] if owner in (None, cel.Name("strings")) else [self.size(owner, bound)]
        given += [self.size(one, bound) for one in arguments]
        looks, _, document = name.partition("_")
        if owner is None and looks == "at" and document in DOCUMENTS:
            above, slash, _ = _beginning(arguments[0]).rpartition("/")
            there = resolve(self.values.get(document), above) if slash else MISSING
            if there is not MISSING:
                return _inner(measured(there))  # whatever comes behind the slash
        if owner is None and looks in BY_NAME and document in DOCUMENTS:
            name, given = looks, [measured(self.values.get(document)), *given]
        elif owner is None and name in _OURS:
            self.take(sum(one.units for one in given))  # they are handed over as Python's values
        known = (_OURS if owner is None and name in _OURS else _STANDARD).get(name)
        if known is None or not given:
            raise cel.NotRead(f'cannot be bounded: how large the value of "{name}" is')
        try:
            walked, size = known(*given[:4])
        except TypeError:  # another number of arguments than any such function has
            raise cel.NotRead(f'cannot be bounded: "{name}" with {len(arguments)} arguments') from None
        self.take(walked + size.units)
        return size

    def _macro(self, tree: cel.Call, bound: Mapping[str, Size]) -> Size:
        items = self.size(tree.owner, bound)
        if items.elements == 0:
            return Size(_V)
        before, self.times = self.times, self.times * items.elements
        inner = {**bound, _name(tree.arguments[0]): _inner(items)}
        sizes = [self.size(one, inner) for one in tree.arguments[1:]]
        self.times = before
        if tree.name not in ("map", "filter"):
            return _SCALAR
        # The runtime copies the list with every element that it adds.
        self.take(3 * items.elements**2)
        if tree.name == "filter":
            return items
        made = _listed(items.elements, sizes[-1])
        self.take(made.units)
        return made


def _beginning(tree: cel.Tree) -> str:
    """Return the text that the value of an expression begins with, as far as it is written."""
    while isinstance(tree, cel.Binary) and tree.sign == "+":
        tree = tree.left
    return tree.value if isinstance(tree, cel.Literal) and isinstance(tree.value, str) else ""


def _name(tree: cel.Tree) -> str:
    if not isinstance(tree, cel.Name):
        raise cel.NotRead("cannot be bounded: a variable without a name")
    return tree.name


_MACROS: Final = frozenset({"map", "filter", "all", "exists", "exists_one", "existsOne"})
_OPTIONAL_MACROS: Final = frozenset({"optMap", "optFlatMap"})

Made = tuple[int, Size]
"""What is walked through, and what comes out."""


def _scalar(*given: Size) -> Made:
    return sum(one.units for one in given), _SCALAR


def _same(*given: Size) -> Made:
    return given[0].units, given[0]


def _any(*given: Size) -> Made:
    return 0, _either(given)


def _sought(text: Size, *part: Size) -> Made:
    return text.units * (1 + sum(one.units for one in part) // 64), _SCALAR


def _matched(text: Size, pattern: Size) -> Made:
    return 4 * text.units + 64 * pattern.units, _SCALAR


def _split(text: Size, *_: Size) -> Made:
    letters = max(0, text.units - _V)
    return text.units, Size(_V * (letters + 2) + letters, letters + 1, text.units, 8)


def _replaced(text: Size, old: Size, new: Size, *_: Size) -> Made:
    return text.units * (1 + old.units // 64), _text(text.units + (1 + text.units - _V) * (new.units - _V))


def _formatted(text: Size, given: Size) -> Made:
    return 0, _text(1024 * text.units + 8 * given.units)


_STANDARD: Final[Mapping[str, Callable[..., Made]]] = {
    **dict.fromkeys(("size", "int", "uint", "double", "bool", "type", "timestamp", "duration", "hasValue"), _scalar),
    **dict.fromkeys(("startsWith", "endsWith"), _scalar),
    **dict.fromkeys(
        (
            *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours"),
            *("getMinutes", "getSeconds", "getMilliseconds"),
        ),
        _scalar,
    ),
    **dict.fromkeys(("contains", "indexOf", "lastIndexOf"), _sought),
    **dict.fromkeys(("dyn", "value", "lowerAscii", "upperAscii", "trim", "substring", "reverse"), _same),
    **dict.fromkeys(("or", "orValue"), _any),
    "matches": _matched,
    "string": lambda value: (value.units, _text(value.units + 64)),
    "bytes": lambda value: (value.units, _text(4 * value.units)),
    "charAt": lambda text, _: (text.units, Size(_V + 1)),
    "quote": lambda text: (text.units, _text(2 * text.units)),
    "split": _split,
    "join": lambda items, between=_SCALAR: (0, _text(items.units + items.elements * between.units)),
    "replace": _replaced,
    "format": _formatted,
    cel.OPTIONAL: lambda of, index=None: (0, of if index is None else _inner(of)),
}
"""CEL's own functions and those of its extensions, by name; a method's owner is the first that is given."""


def _found(document: Size, _: Size) -> Made:
    places = document.units // _V
    return places, _listed(places, _text(document.pointer))


def _named(document: Size, _: Size) -> Made:
    return document.elements, _listed(document.units // _V, _text(max(document.each, document.pointer)))


def _edited(document: Size, changes: Size) -> Made:
    made = 4 * (document.units + changes.units) + MOST_CHANGES * 8 * (_V + document.pointer)
    return made, Size(made, MOST_CHANGES * 4, made, made)


_OURS: Final[Mapping[str, Callable[..., Made]]] = {
    **dict.fromkeys(("includes", "is_base64", "integer", "unix", "quantity", "seconds"), _scalar),
    **dict.fromkeys(("quantity_text", "fresh_key"), lambda *given: (sum(one.units for one in given), _SHORT)),
    **dict.fromkeys(("base64", "base64_meant", "pointer_of"), lambda text: (text.units, _text(2 * text.units + 16))),
    "respell": lambda text, keep, filler: (
        text.units + 64 * keep.units,
        _text(text.units * (1 + filler.units - _V)),
    ),
    "at": lambda document, _: (0, _either([document, _inner(document)])),
    "or_value": _any,
    "find": _found,
    "names": _named,
    "edits": _edited,
    "flat": lambda items: (items.units, Size(items.units, items.units // _V, items.each, items.pointer)),
    "nearest": lambda text, known: (64 * known.elements, Size(known.units + _V, known.elements, known.each, 8)),
    "differing": lambda have, want: (have.units + want.units, _listed(want.elements, _text(want.each))),
    "whole_number": lambda value, words: (value.units, _inner(words)),
    "by_depth": _same,
    "first_fitting": lambda rows, wanted: (rows.units + rows.elements * wanted.units, _inner(rows)),
    "indexes": lambda items: (0, _listed(items.elements, _SCALAR)),
    "last_of_each": lambda items, key, order: (items.units + items.elements * (key.units + order.units), items),
}
"""Functions of this project, all that `expression.DEFINITIONS` has."""
