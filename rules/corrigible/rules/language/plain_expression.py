"""Expressions that are evaluated in Python: a call into the runtime takes ten times as long.

An expression becomes a tree of small functions. Values that these do not judge as CEL does for certain are `ODD`: then
the runtime evaluates the whole expression, and its errors are the ones that are told.

Knows: CEL's trees, and which functions there are. Does not know: the runtime, rules, environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.functions.builtin import at

from . import cel_syntax as cel
from .plain_methods import METHODS, ODD, TYPES, ordered, size, text_of, to_double
from .plain_operators import (
    ARITHMETIC,
    CONTAINERS,
    LARGEST,
    SCALARS,
    Evaluator,
    Values,
    called_with,
    chosen,
    compared,
    compared_with,
    contained,
    indexed,
    joined,
    listed,
    mapped,
    member_of,
    quantified,
    selected,
    typed,
)
from .shorthand import BY_NAME, DOCUMENTS, TYPED, rewrite

Functions = Mapping[str, Callable[..., Any]]

_TYPED_PLACES: Final = frozenset(f"at_{name}" for name in TYPED)
_PARTS: Final = frozenset({"at", "or_value"})
"""Functions whose value is one that they are given, or a part of it."""
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
        return ordered(value) if type(value) in CONTAINERS else value

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
                return indexed(self.compiled(owner), self.compiled(index))
            case cel.Unary(sign, operand):
                return self._unary(sign, operand)
            case cel.Binary(sign, left, right):
                return self._binary(sign, left, right)
            case cel.Choice(condition, then, otherwise):
                return chosen(*map(self.compiled, (condition, then, otherwise)))
            case cel.ListOf(items):
                return listed([self.compiled(item) for item in items])
            case cel.MapOf(entries):
                return mapped([(self.compiled(key), self.compiled(value)) for key, value in entries])
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
            return member_of(owner.name, names)
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
            return -value if type(value) is int and -LARGEST < value < LARGEST else ODD

        return negated

    def _binary(self, sign: str, left: cel.Tree, right: cel.Tree) -> Evaluator:
        if sign in ("&&", "||"):
            return joined(self.compiled(left), self.compiled(right), decisive=sign == "||")
        if sign in ("==", "!="):
            kind = _type_asked(left, right)
            if kind is not None:
                asked, wanted = kind
                return typed(self.compiled(asked), frozenset({wanted}), equal=sign == "==")
            if isinstance(right, cel.Literal) and type(right.value) in SCALARS:
                return compared_with(self.compiled(left), right.value, equal=sign == "==")
            return compared(self.compiled(left), self.compiled(right), equal=sign == "==")
        if sign == "in" and (listed_kinds := _types_asked(left, right)) is not None:
            asked, kinds = listed_kinds
            return typed(self.compiled(asked), kinds, equal=True)
        if sign == "in":
            return contained(self.compiled(left), self.compiled(right))
        if sign not in ARITHMETIC:
            raise cel.NotRead(sign)
        return ARITHMETIC[sign](self.compiled(left), self.compiled(right))

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
        return called_with(function, [self.compiled(one) for one in arguments], counts=name not in _PARTS)

    def _looked_up(self, looks: str, document: str, arguments: Sequence[cel.Tree]) -> Evaluator:
        (argument,) = arguments
        looking = self._looking[looks]
        inner = self.compiled(argument)
        if looks == "at" and document in TYPED and isinstance(argument, cel.Literal):
            pointer = argument.value
            return lambda values: at(values[document], pointer) if document in values else ODD  # type: ignore[arg-type]
        return called_with(looking, [lambda values: values.get(document, ODD), inner])

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
        cost = max(1, sum(map(cel.count, arguments[1:])) // 16)
        if name in ("all", "exists"):
            if len(arguments) != 2:
                raise cel.NotRead(name)
            return quantified(variable, items, last, decisive=name == "exists", cost=cost)
        if name == "filter":
            if len(arguments) != 2:
                raise cel.NotRead(name)
            return selected(variable, items, last, None, cost=cost)
        condition = self.compiled(arguments[1]) if len(arguments) == 3 else None
        return selected(variable, items, condition, last, cost=cost)


def _types_asked(left: cel.Tree, right: cel.Tree) -> tuple[cel.Tree, frozenset[type]] | None:
    """Return what `type(x) in [list, map]` asks about, and the types."""
    match left, right:
        case cel.Call(None, "type", (asked,)), cel.ListOf(items):
            names = [one.name for one in items if isinstance(one, cel.Name) and one.name in TYPES]
            return (asked, frozenset(TYPES[name] for name in names)) if len(names) == len(items) else None
    return None


def _type_asked(left: cel.Tree, right: cel.Tree) -> tuple[cel.Tree, type] | None:
    """Return what `type(x) == list` asks about, and the type."""
    match left, right:
        case cel.Call(None, "type", (asked,)), cel.Name(name) if name in TYPES:
            return asked, TYPES[name]
        case cel.Call(None, "type", (asked,)), cel.Call(None, "type", (cel.Literal(None),)):
            return asked, type(None)
    return None


__all__ = ["ODD", "Evaluator", "plain"]
