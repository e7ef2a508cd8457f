"""CEL as rules use it: the scope, the functions of packs, expressions that are checked once and made ready on need."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, get_args, get_origin, get_type_hints

from corrigible.rules.budget import Oversized, begin_expression, spend
from corrigible.rules.errors import CorrigibleError, did_you_mean
from corrigible.rules.functions import builtin
from corrigible.rules.pointer import parameter_pointer
from corrigible.rules.repair_functions import repair_functions
from corrigible.rules.safety.nearness import nearest

from .evaluator import WORDS, Compiled, Own, PackFunction, Values, compiled
from .standard import Failed, Function
from .syntax import ExpressionError

SCOPE: Mapping[str, str] = {
    "body": "map: the body of the request; `{}` if there is none, or if it is no object. A missing member is null.",
    "captures": "map of strings: the named groups of `match.message`.",
    "error": "map: the error: `code`, `message`, `pointer`, `constraint`, `stated`, `type`, `param`, `number`, and the "
    "further members that the format reads.",
    "errors": "list of maps: all errors of the answer, each with its `number`.",
    "exchange": "map: `id`, `started` (seconds since 1970) and `elapsed` (seconds).",
    "headers": "map of strings: the headers of the request, names in small letters, no credentials. A missing one is "
    "null.",
    "operation": "string: the name of the operation, empty if it is unknown.",
    "params": "map of strings: the parameters of the path.",
    "query": "map: the parameters of the query. A missing one is null.",
    "request": "map: the request document: `method`, `path`, `query`, `headers`, `body`.",
    "response": "map: the answer: `status`, `headers`, `body`.",
    "spec": "map: the JSON Schema that the API's description has for the body, else for the query.",
    "tables": "map: the tables of the pack, by name: `tables/NAME.yaml` is `tables.NAME`.",
}
"""The names every expression may use, and what each is; look-ups and `let` add their own."""

Functions = Mapping[str, PackFunction]
_SENTENCE: Final = re.compile(r"[A-Za-z][\w-]*(?: [\w-]+)*")


class EvaluationError(CorrigibleError):
    """A compiled expression failed on these values."""


class Expression:
    """A checked expression. Made ready when it is first needed: most rules of a large pack never match."""

    __slots__ = ("_environment", "_evaluate", "_functions", "expanded", "kind", "members", "names", "text")

    def __init__(self, text: str, scope: Environment, functions: Functions) -> None:
        """Raises ExpressionError."""
        found = scope.compiled(text, functions)
        self.text = text
        """As the author wrote it."""
        self.expanded = found.written
        """Its text and, for each call, that of the pack's functions."""
        self.names, self.members = found.names, found.members
        self.kind = found.kind
        """CEL's type of its value, such as `bool`; empty where only the values tell."""
        self._environment, self._functions = scope, functions
        self._evaluate: Callable[[Any], Any] = self._first

    def _first(self, values: Values) -> Any:
        """Evaluate for the first time: what is never evaluated takes no memory."""
        self._evaluate = evaluate = self._environment.compiled(self.text, self._functions).evaluate
        return evaluate(values)

    def evaluate(self, values: Values) -> Any:
        """Return a plain Python value. Raises EvaluationError (a missing key, no such overload, overflow, ...)."""
        spend()
        begin_expression()
        try:
            return self._evaluate(values)
        except (Failed, Oversized) as problem:
            raise EvaluationError(f"{self.text}: {problem}") from problem
        except RecursionError:  # names that are evaluated when they are needed may need each other
            raise EvaluationError(f"{self.text}: nested too deep") from None

    def holds(self, values: Values) -> bool:
        """Return whether the expression is true; anything but a boolean is an EvaluationError."""
        value = self.evaluate(values)
        if value is True or value is False:
            return value
        raise EvaluationError(f"{self.text}: gives {type(value).__name__}, not a boolean")


class Environment:
    """The names in scope of one rule."""

    __slots__ = ("names",)

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def compile(self, text: str, functions: Functions = MappingProxyType({})) -> Expression:
        """Compile one expression. Raises ExpressionError with the reason on one line."""
        return Expression(text, self, functions)

    def compiled(self, text: str, functions: Functions, parameters: Iterable[str] = ()) -> Compiled:
        """Check an expression, and make it ready. `parameters` are those of the function whose body it is."""
        try:
            return compiled(text, self.names, OWN, functions, parameters)
        except ExpressionError as problem:
            if _SENTENCE.fullmatch(text) and ";" not in str(problem):
                problem.args = (f"{problem}; a text has quotes of its own: \"'{text}'\"",)
            raise


@functools.cache
def environment(extra: frozenset[str] = frozenset()) -> Environment:
    """Return the environment with the common scope and some further names."""
    return Environment(frozenset(SCOPE) | extra)


DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    **{
        one.__name__: one
        for one in (
            *(
                builtin.at,
                builtin.base64,
                builtin.base64_meant,
                builtin.edits,
                builtin.find,
                builtin.flat,
                builtin.fresh_key,
                builtin.includes,
                builtin.integer,
                builtin.is_base64,
                builtin.names,
                nearest,
            ),
            *(builtin.or_value, builtin.quantity, builtin.quantity_text, builtin.respell, builtin.unix),
        )
    },
    "pointer_of": parameter_pointer,
    **repair_functions(),
}
"""The functions that CEL itself does not have, as Python has them."""
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
    "unix": ("unix('Sun, 22 Nov 2026 10:00:00 GMT')", "unix('2026-11-22T10:00:00Z')"),
    "pointer_of": ("pointer_of('line_items[0][price]')",),
    "by_depth": ("by_depth(['/body/a/b', '/body/c'])",),
    "differing": ("differing({'amount': 500, 'currency': 'eur'}, {'amount': 500, 'currency': 'usd'})",),
    "first_fitting": ("first_fitting([{'id': 1, 'kind': 'a'}, {'id': 2, 'kind': 'b'}], {'kind': 'b'})",),
    "indexes": ("indexes(['a', 'b', 'c'])",),
    "json_text": ("json_text({'city': 'Porto'})",),
    "json_value": ("json_value('[1, 2]')", "json_value('Porto')"),
    "last_of_each": (
        "last_of_each([{'name': 'a', 'run': 1}, {'name': 'a', 'run': 2}, {'name': 'b', 'run': 1}], '/name', '/run')",
    ),
    "seconds": ("seconds('10 min')", "seconds('10')"),
    "whole_number": ("whole_number('ten', {'ten': 10})", "whole_number('30.0', {})"),
}
"""Examples for each function of packs."""


ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(inspect.signature(one).parameters) for name, one in DEFINITIONS.items()},
    "pointer_of": ("name",),
}
_PYTHON: Final = {
    **{Any: "any", str: "string", int: "int", float: "double", bool: "bool", types.NoneType: "null"},
}
_GIVES: Final = {
    **dict.fromkeys(("includes", "is_base64"), "bool"),
    **dict.fromkeys(("base64", "base64_meant", "fresh_key", "json_text", "pointer_of", "respell"), "string"),
    **dict.fromkeys(("edits", "find", "flat", "names", "nearest"), "list"),
}
OWN: Final = {name: Own(one, ARGUMENTS[name], _GIVES.get(name, "")) for name, one in DEFINITIONS.items()}


def pack_functions() -> list[Function]:
    """Return the functions that CEL itself does not have, by name, for the reference of packs."""
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
    if hint in _PYTHON:
        return _PYTHON[hint]
    if isinstance(hint, types.UnionType):
        return " or ".join(_type(one) for one in get_args(hint))
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (list, Sequence):
        return "list" if inner[0] is Any else f"list({_type(inner[0])})"
    if origin in (dict, Mapping):
        return "map"
    raise TypeError(f"no name for {hint} in CEL")


def _description(function: Callable[..., Any]) -> str:
    text = " ".join((inspect.getdoc(function) or "").split()).replace("Raises ValueError", "The rule fails")
    return f"Gives {text.removeprefix('Return ')}"


_MEMBERS: Final = {
    "request": ("method", "path", "query", "headers", "body"),
    "response": ("status", "headers", "body"),
    "exchange": ("id", "started", "elapsed"),
}
"""Names of the common scope that have these members and no others."""


def wrong_result(expression: Expression, wanted: str) -> str | None:
    """Return what is wrong with the kind of an expression's value; `wanted` is one such as `a list`."""
    given = WORDS.get(expression.kind)
    return None if given in (None, wanted) else f"the expression gives {given}, expected {wanted}"


def unknown_captures(expression: Expression, captures: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with each capture that no group of `match.message` has."""
    for root, name in sorted(expression.members):
        if root == "captures" and name and name not in captures:
            groups = f"it has {', '.join(captures)}" if captures else "it has none"
            hint = did_you_mean(name, captures) or f"; {groups}"
            yield f'match.message has no group "{name}"{hint}'


def unknown_members(expression: Expression) -> Iterator[str]:
    """Yield what is wrong with each member that `request`, `response` and `exchange` never have."""
    for root, name in sorted(expression.members):
        if name and root in _MEMBERS and name not in _MEMBERS[root]:
            hint = did_you_mean(name, _MEMBERS[root]) or f"; it has {', '.join(_MEMBERS[root])}"
            yield f'{root} has no member "{name}"{hint}'
