"""Expressions that are evaluated in Python: a call into the runtime takes ten times as long.

An expression becomes a tree of small functions. Values that these do not judge as CEL does for certain are `ODD`: then
the runtime evaluates the whole expression, and its errors are the ones that are told.

Knows: CEL's trees and its rules for scalars. Does not know: the runtime, rules, environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.budget import spend
from corrigible.rules.functions.builtin import at

from . import cel_syntax as cel
from .plain_methods import METHODS, ODD, TYPES, ordered, size, text_of, to_double
from .shorthand import BY_NAME, DOCUMENTS, TYPED, rewrite

Values = dict[str, Any]
Evaluator = Callable[[Any], Any]
"""From the values in scope to the value of an expression, or to `ODD`."""

Functions = Mapping[str, Callable[..., Any]]

_TYPED_PLACES: Final = frozenset(f"at_{name}" for name in TYPED)
_LARGEST: Final = 2**63
"""CEL's integers have 64 bits."""
_SCALARS: Final = frozenset({str, bool, int, type(None)})
_CONTAINERS: Final = frozenset({dict, list})
_MACROS: Final = frozenset({"map", "filter", "all", "exists"})


def plain(text: str, functions: Functions, looking: Functions) -> Evaluator | None:
    """Return the evaluator of an expression, which compiles as CEL; None where the runtime is needed for all values.

    `functions` are those of ours, as the runtime calls them; `looking` those that look at a document by its name.
    """
    try:
        tree = cel.read(rewrite(text))
        evaluator = _Compiler(functions, looking).compiled(tree)
    except cel.NotRead:
        return None
    if isinstance(tree, cel.Name | cel.Member) or _is_typed_place(tree):
        return evaluator  # a part of a document keeps the order of its members

    def in_order(values: Values) -> Any:
        value = evaluator(values)
        return ordered(value) if type(value) in _CONTAINERS else value

    return in_order


def _is_typed_place(tree: cel.Tree) -> bool:
    return isinstance(tree, cel.Call) and tree.name in _TYPED_PLACES and isinstance(tree.arguments[0], cel.Literal)


class _Compiler:
    def __init__(self, functions: Functions, looking: Functions) -> None:
        self._functions, self._looking = functions, looking

    def compiled(self, tree: cel.Tree) -> Evaluator:
        """Return the evaluator of a tree. Raises NotRead."""
        match tree:
            case cel.Literal(value):
                return lambda _: value
            case cel.Name(name):
                return lambda values: values.get(name, ODD)
            case cel.Member():
                return self._member(tree)
            case cel.Index(owner, index):
                return _index(self.compiled(owner), self.compiled(index))
            case cel.Unary(sign, operand):
                return self._unary(sign, operand)
            case cel.Binary(sign, left, right):
                return self._binary(sign, left, right)
            case cel.Choice(condition, then, otherwise):
                return _choice(*map(self.compiled, (condition, then, otherwise)))
            case cel.ListOf(items):
                return _list([self.compiled(item) for item in items])
            case cel.MapOf(entries):
                return _map([(self.compiled(key), self.compiled(value)) for key, value in entries])
            case cel.Call():
                return self._call(tree)

    def _member(self, tree: cel.Member) -> Evaluator:
        names, owner = [tree.name], tree.owner
        while isinstance(owner, cel.Member):
            names.append(owner.name)
            owner = owner.owner
        names.reverse()
        if isinstance(owner, cel.Name):
            if owner.name == "optional" or owner.name == "math":
                raise cel.NotRead(owner.name)
            return _member(owner.name, names)
        inner = self.compiled(owner)

        def member(values: Values) -> Any:
            here = inner(values)
            for name in names:
                if type(here) is not dict:
                    return ODD
                here = here.get(name, ODD)
            return here

        return member

    def _unary(self, sign: str, operand: cel.Tree) -> Evaluator:
        if sign == "-" and isinstance(operand, cel.Literal) and type(operand.value) in (int, float):
            number = -operand.value  # type: ignore[operator]
            return lambda _: number
        inner = self.compiled(operand)
        if sign == "!":
            return lambda values: not value if type(value := inner(values)) is bool else ODD

        def negated(values: Values) -> Any:
            value = inner(values)
            return -value if type(value) is int and -_LARGEST < value < _LARGEST else ODD

        return negated

    def _binary(self, sign: str, left: cel.Tree, right: cel.Tree) -> Evaluator:
        if sign in ("&&", "||"):
            return _joined(self.compiled(left), self.compiled(right), decisive=sign == "||")
        if sign in ("==", "!="):
            kind = _type_asked(left, right)
            if kind is not None:
                asked, wanted = kind
                return _of_type(self.compiled(asked), wanted, equal=sign == "==")
            if isinstance(right, cel.Literal) and type(right.value) in _SCALARS:
                return _compared(self.compiled(left), right.value, equal=sign == "==")
            return _equal(self.compiled(left), self.compiled(right), equal=sign == "==")
        if sign == "in":
            return _within(self.compiled(left), self.compiled(right))
        return _ARITHMETIC[sign](self.compiled(left), self.compiled(right))

    def _call(self, tree: cel.Call) -> Evaluator:
        if tree.owner is not None:
            return self._method(tree)
        name, arguments = tree.name, tree.arguments
        if name == "has":
            (asked,) = arguments
            return self._has(asked)
        if name == "dyn":
            return self.compiled(arguments[0])
        if name in ("size", "string", "double"):
            called = {"size": size, "string": text_of, "double": to_double}[name]
            inner = self.compiled(arguments[0])
            return lambda values: called(inner(values))
        if name == "int":
            inner = self.compiled(arguments[0])
            return lambda values: value if type(value := inner(values)) is int else ODD
        looks, _, document = name.partition("_")
        if looks in BY_NAME and document in DOCUMENTS:
            return self._looked_up(looks, document, arguments)
        function = self._functions.get(name)
        if function is None:
            raise cel.NotRead(name)
        return _called(function, [self.compiled(one) for one in arguments])

    def _looked_up(self, looks: str, document: str, arguments: Sequence[cel.Tree]) -> Evaluator:
        (argument,) = arguments
        looking = self._looking[looks]
        inner = self.compiled(argument)
        if looks == "at" and document in TYPED and isinstance(argument, cel.Literal):
            pointer = argument.value
            return lambda values: at(values[document], pointer) if document in values else ODD  # type: ignore[arg-type]
        return _called(looking, [lambda values: values.get(document, ODD), inner])

    def _has(self, asked: cel.Tree) -> Evaluator:
        if not isinstance(asked, cel.Member):
            raise cel.NotRead("has")
        owner, name = self.compiled(asked.owner), asked.name
        return lambda values: name in found if type(found := owner(values)) is dict else ODD

    def _method(self, tree: cel.Call) -> Evaluator:
        name, arguments = tree.name, tree.arguments
        if tree.owner == cel.Name("cel") and name == "bind":
            return self._bound(arguments)
        if name in _MACROS and len(arguments) >= 2 and isinstance(arguments[0], cel.Name):
            return self._macro(tree.owner, name, arguments)
        owner = self.compiled(tree.owner)
        method = METHODS.get((name, len(arguments)))
        if method is None:
            raise cel.NotRead(name)
        inner = [self.compiled(one) for one in arguments]
        if not inner:
            return lambda values: method(owner(values))
        if len(inner) == 1:
            only = inner[0]
            return lambda values: method(owner(values), only(values))
        return lambda values: method(owner(values), *(one(values) for one in inner))

    def _bound(self, arguments: Sequence[cel.Tree]) -> Evaluator:
        variable, value, result = arguments
        if not isinstance(variable, cel.Name):
            raise cel.NotRead("bind")
        name, bound, inner = variable.name, self.compiled(value), self.compiled(result)

        def evaluated(values: Values) -> Any:
            found = bound(values)
            return ODD if found is ODD else inner({**values, name: found})

        return evaluated

    def _macro(self, owner: cel.Tree, name: str, arguments: Sequence[cel.Tree]) -> Evaluator:
        assert isinstance(arguments[0], cel.Name)
        variable, items = arguments[0].name, self.compiled(owner)
        last = self.compiled(arguments[-1])
        if name in ("all", "exists"):
            if len(arguments) != 2:
                raise cel.NotRead(name)
            return _any(variable, items, last, decisive=name == "exists")
        if name == "filter":
            if len(arguments) != 2:
                raise cel.NotRead(name)
            return _selected(variable, items, last, None)
        condition = self.compiled(arguments[1]) if len(arguments) == 3 else None
        return _selected(variable, items, condition, last)


def _member(root: str, names: Sequence[str]) -> Evaluator:
    if len(names) == 1:
        (only,) = names

        def one(values: Values) -> Any:
            here = values.get(root)
            return here.get(only, ODD) if type(here) is dict else ODD

        return one

    def member(values: Values) -> Any:
        here: Any = values.get(root)
        for name in names:
            if type(here) is not dict:
                return ODD
            here = here.get(name, ODD)
        return here

    return member


def _index(owner: Evaluator, index: Evaluator) -> Evaluator:
    def found(values: Values) -> Any:
        of, key = owner(values), index(values)
        if type(of) is dict:
            return of.get(key, ODD) if type(key) is str else ODD
        return of[key] if type(of) is list and type(key) is int and 0 <= key < len(of) else ODD

    return found


def _choice(condition: Evaluator, then: Evaluator, otherwise: Evaluator) -> Evaluator:
    def chosen(values: Values) -> Any:
        holds = condition(values)
        if holds is True:
            return then(values)
        return otherwise(values) if holds is False else ODD

    return chosen


def _list(items: Sequence[Evaluator]) -> Evaluator:
    def made(values: Values) -> Any:
        found = [item(values) for item in items]
        return ODD if any(one is ODD for one in found) else found

    return made


def _map(entries: Sequence[tuple[Evaluator, Evaluator]]) -> Evaluator:
    def made(values: Values) -> Any:
        found = {}
        for key_of, value_of in entries:
            key, value = key_of(values), value_of(values)
            if type(key) is not str or value is ODD or key in found:
                return ODD
            found[key] = value
        return found

    return made


def _joined(left: Evaluator, right: Evaluator, *, decisive: bool) -> Evaluator:
    """Join two conditions: one that is `decisive` gives the value of both."""

    def joined(values: Values) -> Any:
        value = left(values)
        if value is decisive:
            return decisive
        if type(value) is not bool:
            return ODD
        value = right(values)
        return value if type(value) is bool else ODD

    return joined


def _type_asked(left: cel.Tree, right: cel.Tree) -> tuple[cel.Tree, type] | None:
    """Return what `type(x) == list` asks about, and the type."""
    match left, right:
        case cel.Call(None, "type", (asked,)), cel.Name(name) if name in TYPES:
            return asked, TYPES[name]
        case cel.Call(None, "type", (asked,)), cel.Call(None, "type", (cel.Literal(None),)):
            return asked, type(None)
    return None


def _of_type(inner: Evaluator, wanted: type, *, equal: bool) -> Evaluator:
    def judged(values: Values) -> Any:
        value = inner(values)
        kind = type(value)
        if kind is int and not -_LARGEST <= value < _LARGEST:
            return ODD
        if kind in _SCALARS or kind in _CONTAINERS or kind is float:
            return (kind is wanted) is equal
        return ODD

    return judged


def _same(one: Any, other: Any) -> Any:
    """Return whether two scalars are equal, or ODD. Values of different types differ, but for numbers."""
    kind = type(one)
    if kind is type(other):
        if kind is str or kind is bool or one is None:
            return one == other
        if kind is int:
            return one == other if -_LARGEST <= one < _LARGEST and -_LARGEST <= other < _LARGEST else ODD
        return ODD
    if kind in _SCALARS:
        return False if type(other) in _SCALARS or type(other) in _CONTAINERS else ODD
    return False if kind in _CONTAINERS and type(other) in _SCALARS else ODD


def _compared(value_of: Evaluator, literal: Any, *, equal: bool) -> Evaluator:
    kind = type(literal)

    def compared(values: Values) -> Any:
        value = value_of(values)
        if type(value) is kind:
            if kind is int and not -_LARGEST <= value < _LARGEST:
                return ODD
            return (value == literal) is equal
        return not equal if type(value) in _SCALARS or type(value) in _CONTAINERS else ODD

    return compared


def _equal(left: Evaluator, right: Evaluator, *, equal: bool) -> Evaluator:
    def compared(values: Values) -> Any:
        found = _same(left(values), right(values))
        return ODD if found is ODD else found is equal

    return compared


def _within(item: Evaluator, container: Evaluator) -> Evaluator:
    def within(values: Values) -> Any:
        wanted, there = item(values), container(values)
        if type(there) is dict:
            return wanted in there if type(wanted) is str else ODD
        if type(there) is not list or wanted is ODD:
            return ODD
        if type(wanted) is str:  # to CEL as to Python, nothing but a text equals a text
            return wanted in there
        found = [_same(wanted, one) for one in there]
        return ODD if ODD in found else True in found

    return within


def _numbers(exact: Callable[[Any, Any], Any]) -> Callable[[Evaluator, Evaluator], Evaluator]:
    def made(left: Evaluator, right: Evaluator) -> Evaluator:
        def result(values: Values) -> Any:
            one, other = left(values), right(values)
            if type(one) is int and type(other) is int:
                found = exact(one, other)
                return found if _fits(one) and _fits(other) and _fits(found) else ODD
            return ODD

        return result

    return made


def _fits(number: int) -> bool:
    return -_LARGEST <= number < _LARGEST


def _sum(left: Evaluator, right: Evaluator) -> Evaluator:
    def result(values: Values) -> Any:
        one, other = left(values), right(values)
        if type(one) is not type(other):
            return ODD
        if type(one) is str or type(one) is list:
            return one + other
        if type(one) is int:
            found = one + other
            return found if _fits(one) and _fits(other) and _fits(found) else ODD
        return ODD

    return result


def _ordering(holds: Callable[[Any, Any], bool]) -> Callable[[Evaluator, Evaluator], Evaluator]:
    def made(left: Evaluator, right: Evaluator) -> Evaluator:
        def result(values: Values) -> Any:
            one, other = left(values), right(values)
            if type(one) is not type(other):
                return ODD
            if type(one) is int:
                return holds(one, other) if _fits(one) and _fits(other) else ODD
            return holds(one, other) if type(one) is float or type(one) is str else ODD

        return result

    return made


_ARITHMETIC: Final[Mapping[str, Callable[[Evaluator, Evaluator], Evaluator]]] = {
    "+": _sum,
    "-": _numbers(lambda one, other: one - other),
    "*": _numbers(lambda one, other: one * other),
    "<": _ordering(lambda one, other: one < other),
    "<=": _ordering(lambda one, other: one <= other),
    ">": _ordering(lambda one, other: one > other),
    ">=": _ordering(lambda one, other: one >= other),
}


def _any(variable: str, items: Evaluator, condition: Evaluator, *, decisive: bool) -> Evaluator:
    def found(values: Values) -> Any:
        there = items(values)
        if type(there) is not list and type(there) is not dict:
            return ODD
        inner = dict(values)
        for item in there:
            spend()
            inner[variable] = item
            value = condition(inner)
            if value is decisive:
                return decisive
            if type(value) is not bool:
                return ODD
        return not decisive

    return found


def _selected(variable: str, items: Evaluator, condition: Evaluator | None, result: Evaluator | None) -> Evaluator:
    def selected(values: Values) -> Any:
        there = items(values)
        if type(there) is not list:  # a map's names come in an order of the runtime's own
            return ODD
        inner, found = dict(values), []
        for item in there:
            spend()
            inner[variable] = item
            if condition is not None:
                holds = condition(inner)
                if type(holds) is not bool:
                    return ODD
                if not holds:
                    continue
            value = item if result is None else result(inner)
            if value is ODD:
                return ODD
            found.append(value)
        return found

    return selected


def _called(function: Callable[..., Any], arguments: Sequence[Evaluator]) -> Evaluator:
    def called(values: Values) -> Any:
        given = [argument(values) for argument in arguments]
        if any(one is ODD for one in given):
            return ODD
        return _kept(function, given)

    return called


def _kept(function: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Call a function. What it refuses is refused by the runtime, with the text of the expression."""
    try:
        return function(*given)
    except Exception:
        return ODD


__all__ = ["ODD", "Evaluator", "plain"]
