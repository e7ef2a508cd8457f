"""What expressions may call: signature, meaning and examples of each function, for the reference of packs.

Knows: the functions of packs, by their Python definitions; those of CEL, by name. Does not know: Markdown, rules.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from .expression import ARGUMENTS, DEFINITIONS


class Function(NamedTuple):
    name: str
    signature: str
    """`nearest(text: string, candidates: list) -> list(string)`"""
    description: str
    examples: tuple[str, ...]
    """Expressions of `body`, `request` and literals alone."""


EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "at": ("at(request, '/body/items/0/name')", "at(body, '/nothing')"),
    "base64": ("base64('secret')",),
    "base64_meant": ("base64_meant('c2VjcmV0cw')", "base64_meant('plain text')"),
    "edits": ("edits(request, [['/body/items/0/name', 'milk'], ['/body/currency']])",),
    "find": ("find(request, '/body/items/*/name')", "find(request, '**/name')"),
    "flat": ("flat([[1, 2], [3], 4])",),
    "fresh_key": ("fresh_key('order-7')",),
    "includes": ("includes({'amount': 500, 'currency': 'eur'}, {'amount': '500'})",),
    "integer": ("integer('12')", "integer(12.0)", "integer('twelve')"),
    "is_base64": ("is_base64('c2VjcmV0')",),
    "names": ("names(body, '')", "names(body, '/items/0')"),
    "nearest": ("nearest('currncy', ['amount', 'currency'])", "nearest('x', ['amount'])"),
    "or_value": ("or_value(body.discount, 0)",),
    "quantity": ("quantity('600m')", "quantity('1Gi')", "quantity('a lot')"),
    "quantity_text": ("quantity_text(2147483648.0, '1Mi')",),
    "respell": ("respell('My Order #7', '[a-zA-Z0-9-]', '-')",),
    "unix": ("unix('Sun, 22 Nov 2026 10:00:00 GMT')",),
    "pointer_of": ("pointer_of('line_items[0][price]')",),
    "by_depth": ("by_depth(['/body/a/b', '/body/c'])",),
    "differing": ("differing({'amount': 500, 'currency': 'eur'}, {'amount': 500, 'currency': 'usd'})",),
    "first_fitting": ("first_fitting([{'id': 1, 'kind': 'a'}, {'id': 2, 'kind': 'b'}], {'kind': 'b'})",),
    "indexes": ("indexes(['a', 'b', 'c'])",),
    "last_of_each": (
        "last_of_each([{'name': 'a', 'run': 1}, {'name': 'a', 'run': 2}, {'name': 'b', 'run': 1}], '/name', '/run')",
    ),
    "seconds": ("seconds('10 min')", "seconds('10')"),
    "whole_number": ("whole_number('ten', {'ten': 10})", "whole_number('30.0', {})"),
}
"""Examples for each function of packs."""


def pack_functions() -> list[Function]:
    """Return the functions that CEL itself does not have, by name."""
    return [
        Function(name, _signature(name, DEFINITIONS[name]), _description(DEFINITIONS[name]), EXAMPLES[name])
        for name in sorted(DEFINITIONS)
    ]


def _signature(name: str, function: Callable[..., Any]) -> str:
    hints = get_type_hints(function)
    arguments = ", ".join(f"{argument}: {_type(hints[argument])}" for argument in ARGUMENTS[name])
    return f"{name}({arguments}) -> {_type(hints['return'])}"


def _type(hint: Any) -> str:
    """Return CEL's name for a type of Python; `any` is what CEL calls dyn."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, types.UnionType):
        return " or ".join(_type(one) for one in get_args(hint))
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (list, Sequence):
        return "list" if inner[0] is Any else f"list({_type(inner[0])})"
    if origin in (dict, Mapping):
        return "map"
    raise TypeError(f"no name for {hint} in CEL")


_PLAIN: Final = {
    **{Any: "any", str: "string", int: "int", float: "double", bool: "bool", types.NoneType: "null"},
}


def _description(function: Callable[..., Any]) -> str:
    text = " ".join((inspect.getdoc(function) or "").split()).replace("Raises ValueError", "The rule fails")
    return f"Gives {text.removeprefix('Return ')}"


class StandardGroup(NamedTuple):
    title: str
    functions: tuple[Function, ...]


def _standard(*rows: tuple[str, str, str]) -> tuple[Function, ...]:
    return tuple(Function(signature, signature, description, (example,)) for signature, description, example in rows)


STANDARD: Final = (
    StandardGroup(
        "Values and conversions",
        _standard(
            ("size(string or list or map) -> int", "Characters, elements or members.", "size(['a', 'b'])"),
            ("type(any) -> type", "The type: `string`, `int`, `list`, ...", "type(1) == int"),
            ("int(any) -> int", "Of a number, a number as text, or a timestamp.", "int('12')"),
            ("double(any) -> double", "Of a number or a number as text.", "double('1.5')"),
            ("string(any) -> string", "The text of a scalar.", "string(12)"),
            ("bool(any) -> bool", "Of `'true'` and `'false'`.", "bool('true')"),
            ("dyn(any) -> any", "The value, so that both sides of `?:` may have different types.", "dyn(1)"),
            ("timestamp(string) -> timestamp", "A date of RFC 3339.", "int(timestamp('2026-11-22T10:00:00Z'))"),
            ("duration(string) -> duration", "Such as `90s`, `1h`.", "duration('90s').getSeconds()"),
        ),
    ),
    StandardGroup(
        "Lists and maps",
        _standard(
            ("has(a.b) -> bool", "Whether the member exists.", "has(request.body)"),
            ("a in list or map -> bool", "Whether an element or a member exists.", "'a' in ['a', 'b']"),
            ("list.all(x, condition) -> bool", "Whether the condition holds for all.", "[1, 2].all(n, n > 0)"),
            ("list.exists(x, condition) -> bool", "Whether it holds for one or more.", "[1, 2].exists(n, n > 1)"),
            ("list.exists_one(x, condition) -> bool", "Whether it holds for one alone.", "[1, 2].exists_one(n, n > 1)"),
            ("list.filter(x, condition) -> list", "Those for which it holds.", "[1, 2, 3].filter(n, n > 1)"),
            ("list.map(x, value) -> list", "A value for each.", "[1, 2].map(n, n * 2)"),
            ("list.map(x, condition, value) -> list", "The two in one.", "[1, 2].map(n, n > 1, n * 2)"),
            ("list.join(separator: string) -> string", "The texts in one.", "['a', 'b'].join('-')"),
        ),
    ),
    StandardGroup(
        "Texts",
        _standard(
            ("string.matches(pattern) -> bool", "Whether an RE2 pattern is found in it.", "'v12'.matches('^v[0-9]+$')"),
            ("string.contains(string) -> bool", "", "'abc'.contains('b')"),
            ("string.startsWith(string) -> bool", "", "'abc'.startsWith('a')"),
            ("string.endsWith(string) -> bool", "", "'abc'.endsWith('c')"),
            ("string.charAt(int) -> string", "", "'abc'.charAt(1)"),
            ("string.indexOf(string) -> int", "-1 if it is not found.", "'abc'.indexOf('c')"),
            ("string.lastIndexOf(string) -> int", "", "'abab'.lastIndexOf('b')"),
            ("string.substring(from: int, to: int) -> string", "`to` may be left out.", "'abcd'.substring(1, 3)"),
            ("string.replace(old, new, most: int) -> string", "`most` may be left out.", "'a-b-c'.replace('-', '_')"),
            ("string.split(separator, most: int) -> list(string)", "`most` may be left out.", "'a,b,c'.split(',')"),
            ("string.trim() -> string", "Without white space at both ends.", "' a '.trim()"),
            ("string.lowerAscii() -> string", "", "'ABC'.lowerAscii()"),
            ("string.upperAscii() -> string", "", "'abc'.upperAscii()"),
            ("string.reverse() -> string", "", "'abc'.reverse()"),
            (
                "string.format(list) -> string",
                "`%s`, `%d`, `%f`, `%e`, `%x`.",
                "'%s is %d'.format(['a', 1])",
            ),
            ("strings.quote(string) -> string", "With quotes and escapes.", "strings.quote('a')"),
        ),
    ),
    StandardGroup(
        "Numbers",
        _standard(
            ("math.greatest(number, ...) -> number", "Of arguments, or of a list.", "math.greatest(1, 3, 2)"),
            ("math.least(number, ...) -> number", "", "math.least([1, 3, 2])"),
            ("math.ceil(double) -> double", "", "math.ceil(1.2)"),
            ("math.floor(double) -> double", "", "math.floor(1.8)"),
            ("math.round(double) -> double", "", "math.round(1.5)"),
            ("math.trunc(double) -> double", "", "math.trunc(1.8)"),
            ("math.abs(number) -> number", "", "math.abs(-1)"),
            ("math.sign(number) -> number", "-1, 0 or 1.", "math.sign(-2)"),
            ("math.sqrt(number) -> double", "", "math.sqrt(4)"),
            ("math.isNaN(double), math.isInf(double), math.isFinite(double) -> bool", "", "math.isFinite(1.0)"),
            (
                "math.bitAnd, math.bitOr, math.bitXor, math.bitShiftLeft, math.bitShiftRight (int, int) -> int",
                "",
                "math.bitAnd(3, 1)",
            ),
        ),
    ),
    StandardGroup(
        "Missing values and names",
        _standard(
            ("a.?b.?c.orValue(default) -> any", "Null counts as missing.", "request.?body.?discount.orValue(0)"),
            ("a.?b.hasValue() -> bool", "", "request.?body.?discount.hasValue()"),
            ("optional.of(any), optional.none() -> optional", "An optional value.", "optional.none().orValue(2)"),
            ("optional.optMap(x, value) -> optional", "", "optional.of(1).optMap(n, n + 1).orValue(0)"),
            ("cel.bind(name, value, expression) -> any", "A name inside of one expression.", "cel.bind(n, 2, n * n)"),
        ),
    ),
)
"""The functions of CEL and its extensions strings, math, optional and bindings."""
