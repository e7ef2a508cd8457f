"""Expressions made ready: a tree of CEL becomes a tree of small functions of the values in scope.

What is made is counted before it is made (`take`), each step of a loop too: an expression of a few letters could ask
for more than there is memory. What CEL refuses by the types of an expression's parts is refused here, with its place.

Knows: CEL's operators and macros, which functions there are. Does not know: rules, files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn, TypeGuard

from corrigible.rules.budget import UNITS_OF_VALUE, Exhausted, Oversized, spend, take, take_content
from corrigible.rules.errors import did_you_mean

from . import syntax as cel
from .standard import CALLED, INSTEAD, TYPES, Failed, Function, as_double, equal, fits, kind_of
from .syntax import ExpressionError

Values = Mapping[str, Any]
Evaluator = Callable[[Any], Any]
"""From the values in scope to the value of an expression. Raises Failed."""
TYPED: Final = ("body", "query", "headers")
"""Parts of the request whose members are null where they are missing."""
_MOST_LEVELS: Final = 100
_PARTS: Final = frozenset({"at", "or_value"})
"""Functions whose value is one that they are given, or a part of it."""
_KINDS: Final = {
    **{bool: "bool", float: "double", str: "string", type(None): "null_type"},
    int: "int",
}
WORDS: Final = {
    **{"bool": "a boolean", "string": "a text", "int": "a number", "double": "a number", "list": "a list"},
    **{"map": "a map", "null_type": "null", "type": "a type", "uint": "a number"},
}
"""Kinds of values as authors are told of them."""


class Part(NamedTuple):
    evaluate: Evaluator
    kind: str = ""
    """CEL's type of the value, empty where only the values tell."""


class Own(NamedTuple):
    """A function that CEL does not have."""

    call: Callable[..., Any]
    arguments: tuple[str, ...]
    kind: str


class PackFunction(NamedTuple):
    """A named expression of pack.yaml."""

    name: str
    parameters: tuple[str, ...]
    body: Compiled


class Compiled(NamedTuple):
    """An expression that can be evaluated."""

    evaluate: Evaluator
    kind: str
    names: frozenset[str]
    """Names in scope and functions that it uses."""
    members: frozenset[tuple[str, str]]
    """Members of names in scope, such as `("captures", "limit")`; an empty member where all of it is used."""
    written: str
    """Its text and, for each call, that of the pack's functions."""
    levels: int
    cost: int
    """Steps that it takes, loops left out."""


def compiled(
    text: str, names: Iterable[str], own: Mapping[str, Own], functions: Mapping[str, PackFunction], later: Iterable[str]
) -> Compiled:
    """Make an expression ready. Raises ExpressionError. `later` are further names, evaluated when they are needed."""
    compiler = _Compiler(frozenset(names), own, functions, text, dict.fromkeys(later, True))
    part = compiler.part(cel.read(text))
    return Compiled(
        *part,
        frozenset(compiler.mentioned),
        frozenset(compiler.members),
        compiler.written,
        compiler.deepest,
        max(1, compiler.parts // 16),
    )


_OUTSIDE: Final = ""
"""No name: the values that an expression was given, without its own variables. Bodies of functions see these."""


def _with_variables(values: Values) -> dict[str, Any]:
    """Return values to which the variables of a macro may be added."""
    return {_OUTSIDE: values, **values}


class _Later:
    """The value of a name that is evaluated when it is needed first: CEL does so with `cel.bind`."""

    __slots__ = ("_evaluate", "_problem", "_value", "_values")

    def __init__(self, evaluate: Evaluator, values: Values) -> None:
        self._evaluate: Evaluator | None = evaluate
        self._values: Values = values
        self._value: Any = None
        self._problem: str | None = None

    def value(self) -> Any:
        if self._evaluate is not None:
            try:
                self._value = self._evaluate(self._values)
            except Failed as problem:
                self._problem = str(problem)
            self._evaluate, self._values = None, {}
        if self._problem is not None:
            raise Failed(self._problem)
        return self._value


class _Compiler:
    def __init__(
        self,
        names: frozenset[str],
        own: Mapping[str, Own],
        functions: Mapping[str, PackFunction],
        text: str,
        bound: dict[str, bool],
    ) -> None:
        self._names, self._own, self._functions = names, own, functions
        self._bound = bound
        """Variables by name, and whether they are evaluated later."""
        self.mentioned: set[str] = set()
        self.members: set[tuple[str, str]] = set()
        self.written = text
        self.parts = self.deepest = self._level = 0

    def part(self, tree: cel.Tree) -> Part:
        """Return the evaluator of a tree. Raises ExpressionError."""
        self.parts += 1
        self._level += 1
        self._reach(self._level, tree.at)
        made: Part = getattr(self, _METHODS[type(tree)])(tree)
        self._level -= 1
        return made

    def _reach(self, level: int, at: int) -> None:
        self.deepest = max(self.deepest, level)
        if level > _MOST_LEVELS:
            raise ExpressionError(at, f"nested deeper than {_MOST_LEVELS} levels: move a part to a let")

    def _refuse(self, sign: str, at: int, *kinds: str, hint: str = "") -> NoReturn:
        words = " and ".join(WORDS[kind] for kind in kinds if kind)
        raise ExpressionError(at, f'no matching overload: "{sign}" does not take {words}{hint}')

    def _of_kind(self, tree: cel.Tree, sign: str, at: int, *kinds: str, hint: str = "") -> Part:
        """Return the evaluator of an operand. Raises ExpressionError where its value is surely of another kind."""
        part = self.part(tree)
        if part.kind and part.kind not in kinds:
            self._refuse(sign, at, part.kind, hint=hint)
        return part

    def _literal(self, tree: cel.Literal) -> Part:
        value = tree.value
        return Part(lambda _: value, _KINDS[type(value)])

    def _name(self, tree: cel.Name) -> Part:
        name = tree.name
        if name in self._bound:
            if self._bound[name]:
                return Part(lambda values: values[name].value())
            return Part(lambda values: values[name])
        if name in self._names:
            self.members.add((name, ""))
            return self._of_scope(name)
        if name in TYPES:
            kind = TYPES[name]
            return Part(lambda _: kind, "type")
        hint = did_you_mean(name, [*self._names, *self._own, *self._functions, *self._bound])
        raise ExpressionError(tree.at, f"undeclared reference to '{name}'{hint}")

    def _of_scope(self, name: str) -> Part:
        self.mentioned.add(name)

        def found(values: Values) -> Any:
            try:
                return values[name]
            except KeyError:
                raise Failed(f'nothing has the name "{name}" yet') from None

        return Part(found)

    def _chain(self, tree: cel.Tree) -> tuple[cel.Tree, list[str]]:
        """Return what a chain of members, `.a` or `['a']`, begins with, and their names."""
        names: list[str] = []
        while True:
            match tree:
                case cel.Member(owner, name, False):
                    names.insert(0, name)
                case cel.Index(owner, cel.Literal(str() as name)):
                    names.insert(0, name)
                case _:
                    return tree, names
            tree = owner

    def _member(self, tree: cel.Member | cel.Index) -> Part:
        if isinstance(tree, cel.Member) and tree.is_optional:
            raise ExpressionError(tree.at, "a.?b ends with .orValue(default) or .hasValue() here")
        root, names = self._chain(tree)
        if not names:
            assert isinstance(tree, cel.Index)
            return self._index(tree)
        self.parts += len(names)
        if isinstance(root, cel.Name) and root.name == "optional":
            self._unknown("optional.none", root.at)
        owner = self._owner(root, names[0])
        if self._is_in_scope(root) and root.name in TYPED:
            return _tolerant(owner.evaluate, names)
        if owner.kind not in ("", "map"):
            hint = ": charAt(i) gives a letter" if owner.kind == "string" else ""
            self._refuse(f".{names[0]}", tree.at, owner.kind, hint=hint)
        return _members(owner, names)

    def _is_in_scope(self, tree: cel.Tree) -> TypeGuard[cel.Name]:
        return isinstance(tree, cel.Name) and tree.name in self._names and tree.name not in self._bound

    def _owner(self, tree: cel.Tree, member: str) -> Part:
        """Return the evaluator of what a member is taken of."""
        if not self._is_in_scope(tree):
            return self.part(tree)
        self.members.add((tree.name, member))
        return self._of_scope(tree.name)

    def _index(self, tree: cel.Index) -> Part:
        owner = self._of_kind(tree.owner, "[]", tree.at, "list", "map").evaluate
        index = self._of_kind(tree.index, "[]", tree.at, "string", "int", "double", "bool").evaluate

        def found(values: Values) -> Any:
            there, key = owner(values), index(values)
            if type(there) is dict:
                if type(key) is str and key in there:
                    return there[key]
                if type(key) not in (str, bool, int, float):
                    raise Failed(f"Invalid map key type: '{kind_of(key)}'")
                for name, value in there.items() if type(key) is not str else ():
                    if type(name) is not str and equal(name, key):
                        return value
                raise Failed(f"Key not found in map : {key}")
            if type(there) is not list:
                raise Failed(f"Invalid container type: '{kind_of(there)}'")
            if type(key) not in (int, float) or key != key or math.isinf(key) or key != int(key):
                raise Failed(f"Index error: expected integer type, got {kind_of(key)}")
            if not 0 <= key < len(there):
                raise Failed(f"Index error: index={int(key)} size={len(there)}")
            return there[int(key)]

        return Part(found)

    def _unary(self, tree: cel.Unary) -> Part:
        kinds = ("bool",) if tree.sign == "!" else ("int", "double")
        inner, kind = self._of_kind(tree.operand, tree.sign, tree.at, *kinds)

        def denied(values: Values) -> bool:
            if type(value := inner(values)) is bool:
                return not value
            raise _overload("!_", value)

        def negated(values: Values) -> Any:
            if type(value := inner(values)) is int:
                return fits(-fits(value))
            if type(value) is float:
                return -value
            raise _overload("-_", value)

        return Part(denied, "bool") if tree.sign == "!" else Part(negated, kind)

    def _binary(self, tree: cel.Binary) -> Part:
        sign = tree.sign
        (left, one), (right, other) = self.part(tree.left), self.part(tree.right)
        known = {one, other} - {""}
        if sign in ("&&", "||"):
            if known - {"bool"}:
                self._refuse(sign, tree.at, *sorted(known - {"bool"}))
            return Part(_joined(left, right, decisive=sign == "||"), "bool")
        if sign in ("==", "!="):
            if len(known) == 2 and known != {"int", "double"}:
                self._refuse(sign, tree.at, one, other, hint=": they never equal each other")
            if isinstance(tree.right, cel.Literal) and type(tree.right.value) in (str, bool, type(None)):
                return Part(_same_as(left, tree.right.value, equal=sign == "=="), "bool")
            if sign == "==":
                return Part(lambda values: equal(left(values), right(values)), "bool")
            return Part(lambda values: not equal(left(values), right(values)), "bool")
        if sign == "in":
            if other not in ("", "list", "map"):
                self._refuse(sign, tree.at, other, hint="; whether a text is in another one is asked by contains")
            return Part(_contained(left, right), "bool")
        taken, gives = _TAKEN[sign]
        if known - taken or (len(known) == 2 and not (gives == "bool" and known == {"int", "double"})):
            hint = ": string(x) makes a text of it" if sign == "+" and "string" in known else ""
            hint = ": double(x) makes the other of it" if known == {"int", "double"} else hint
            self._refuse(sign, tree.at, one, other, hint=hint)
        return Part(_OPERATORS[sign](left, right), gives or next(iter(known), ""))

    def _choice(self, tree: cel.Choice) -> Part:
        condition = self._of_kind(tree.condition, "?:", tree.at, "bool", hint=" as a condition").evaluate
        (then, one), (otherwise, other) = self.part(tree.then), self.part(tree.otherwise)

        def chosen(values: Values) -> Any:
            holds = condition(values)
            if holds is True:
                return then(values)
            if holds is False:
                return otherwise(values)
            raise _overload("_?_:_", holds)

        return Part(chosen, one if one == other else "")

    def _list(self, tree: cel.ListOf) -> Part:
        items = [self.part(item).evaluate for item in tree.items]

        def listed(values: Values) -> list[Any]:
            found = []
            for item in items:
                found.append(value := item(values))
                take_content(value)
            return found

        return Part(listed, "list")

    def _map(self, tree: cel.MapOf) -> Part:
        key_kinds, hint = ("string", "int", "bool"), " as the key of a map"
        entries = [
            (self._of_kind(key, "{}", tree.at, *key_kinds, hint=hint).evaluate, self.part(value).evaluate)
            for key, value in tree.entries
        ]

        def mapped(values: Values) -> dict[Any, Any]:
            found: dict[Any, Any] = {}
            for key_of, value_of in entries:
                key, value = key_of(values), value_of(values)
                if type(key) not in (str, int, bool):
                    raise Failed(f"Invalid map key type: '{kind_of(key)}'")
                if key in found:
                    raise Failed("duplicate key in map")
                take_content(key)
                take_content(value)
                found[key] = value
            return found

        return Part(mapped, "map")

    def _call(self, tree: cel.Call) -> Part:
        owner, name, arguments, at = tree
        if isinstance(owner, cel.Name) and owner.name in ("math", "cel", "optional", "strings"):
            if owner.name == "math" and (f"math.{name}", False) in CALLED:
                return self._standard(CALLED[f"math.{name}", False], arguments, at)
            if owner.name == "cel" and name == "bind":
                return self._bind(arguments, at)
            if owner.name not in (*self._names, *self._bound):
                self._unknown(f"{owner.name}.{name}", at)
        if owner is not None:
            if name in ("orValue", "hasValue"):
                return self._optional(tree)
            if name in _MACROS and len(arguments) in (2, 3):
                return self._macro(tree)
            if (name, True) not in CALLED:
                self._unknown(name, at, methods=True)
            return self._standard(CALLED[name, True], (owner, *arguments), at)
        if name == "has":
            return self._has(tree)
        if name in self._functions:
            return self._of_pack(self._functions[name], arguments, at)
        if (name, False) in CALLED:
            return self._standard(CALLED[name, False], arguments, at)
        if name not in self._own:
            self._unknown(name, at)
        self.mentioned.add(name)
        own = self._own[name]
        if len(arguments) != len(own.arguments):
            wanted = f"{name}({', '.join(own.arguments)})"
            raise ExpressionError(
                at, f"no matching overload: {name} is called with {len(arguments)} arguments, {wanted}"
            )
        given = [self.part(one).evaluate for one in arguments]
        return Part(_called(own.call, given, counts=name not in _PARTS), own.kind)

    def _unknown(self, name: str, at: int, *, methods: bool = False) -> NoReturn:
        last = name.rpartition(".")[2]
        if last in INSTEAD:
            instead = INSTEAD[last]
            hint = f"; {instead}" if instead.startswith("it is") else f": packs do not have it, {instead}"
            raise ExpressionError(at, f"undeclared reference to '{name}'{hint}")
        known = [one for one, is_method in CALLED if is_method is methods]
        known += _MACROS if methods else (*self._own, *self._functions, *(self._names - {name}))
        hint = did_you_mean(name, known)
        raise ExpressionError(at, f"undeclared reference to '{name}'{hint}")

    def _standard(self, function: Function, arguments: Sequence[cel.Tree], at: int) -> Part:
        parts = [self.part(one) for one in arguments]
        kinds = function.kinds
        if "..." in function.signature:
            kinds = (None,) * len(parts)
        if not function.least <= len(parts) <= len(kinds):
            raise ExpressionError(at, f"no matching overload: {function.signature}")
        for wanted, part in zip(kinds, parts, strict=False):
            if part.kind and wanted is not None and part.kind not in wanted:
                self._refuse(function.name, at, part.kind, hint=f": {function.signature}")
        call, first = function.call, parts[0].evaluate
        assert call is not None
        checked = [None if one is None else frozenset(map(_TYPE.__getitem__, one)) for one in kinds]
        if len(parts) == 1 and (taken := checked[0]) is not None:

            def of_one(values: Values) -> Any:
                value = first(values)
                if type(value) not in taken:
                    raise _overload(function.name, value)
                return call(value)

            return Part(of_one, function.gives)
        evaluators = [part.evaluate for part in parts]

        def of_all(values: Values) -> Any:
            given = [one(values) for one in evaluators]
            for value, wanted in zip(given, checked, strict=False):
                if wanted is not None and type(value) not in wanted:
                    raise _overload(function.name, *given)
            return call(*given)

        return Part(of_all, function.gives)

    def _of_pack(self, function: PackFunction, arguments: Sequence[cel.Tree], at: int) -> Part:
        if len(arguments) != len(function.parameters):
            wanted = f"{function.name}({', '.join(function.parameters)})"
            problem = f"{function.name} is called with {len(arguments)} arguments, pack.yaml has {wanted}"
            raise ExpressionError(at, problem)
        body = function.body
        self._reach(self._level + body.levels, at)
        self.mentioned |= body.names
        self.members |= body.members
        self.written += f" {body.written}"
        if len(self.written) > cel.LONGEST:
            raise ExpressionError(at, f"more than {cel.LONGEST:,} characters with the pack's functions written out")
        given = [(name, self.part(one).evaluate) for name, one in zip(function.parameters, arguments, strict=True)]
        evaluate, cost = body.evaluate, body.cost

        def called(values: Values) -> Any:
            spend(cost)
            take(UNITS_OF_VALUE * cost)
            inner = _with_variables(values.get(_OUTSIDE, values))
            for name, argument in given:
                inner[name] = _Later(argument, values)
            return evaluate(inner)

        return Part(called, body.kind)

    def _within(self, variable: str, tree: cel.Tree, *, later: bool) -> Part:
        """Return the evaluator of what knows one name more."""
        before = self._bound
        self._bound = {**before, variable: later}
        part = self.part(tree)
        self._bound = before
        return part

    def _bind(self, arguments: Sequence[cel.Tree], at: int) -> Part:
        if len(arguments) != 3 or not isinstance(arguments[0], cel.Name):
            raise ExpressionError(at, "cel.bind(name, value, expression) has a name, a value and what uses it")
        name, value = arguments[0].name, self.part(arguments[1]).evaluate
        result, kind = self._within(name, arguments[2], later=True)
        return Part(lambda values: result({**_with_variables(values), name: _Later(value, values)}), kind)

    def _optional(self, tree: cel.Call) -> Part:
        """Return the evaluator of `a.b.?c.d.orValue(default)`: from `c` on, null is as good as missing."""
        chain: list[cel.Member] = []
        while isinstance(owner := chain[0].owner if chain else tree.owner, cel.Member):
            chain.insert(0, owner)
        while chain and not chain[0].is_optional:
            chain.pop(0)
        if not chain or len(tree.arguments) != (tree.name == "orValue"):
            self.part(tree.owner)
            problem = "write a.?b.?c.orValue(default), with names alone behind the first question mark"
            raise ExpressionError(tree.at, f"{tree.name} fits no a.?b: {problem}")
        names = [member.name for member in chain]
        value_of = _tolerant(self._owner(chain[0].owner, names[0]).evaluate, names).evaluate
        if not tree.arguments:
            return Part(lambda values: value_of(values) is not None, "bool")
        default = self.part(tree.arguments[0]).evaluate
        return Part(lambda values: default(values) if (value := value_of(values)) is None else value)

    def _has(self, tree: cel.Call) -> Part:
        asked = tree.arguments[0] if len(tree.arguments) == 1 else None
        if asked is not None and self._is_in_scope(root := self._chain(asked)[0]) and root.name in TYPED:
            value = self.part(asked).evaluate
            return Part(lambda values: value(values) is not None, "bool")
        if not isinstance(asked, cel.Member) or asked.is_optional:
            raise ExpressionError(tree.at, "has(a.b) asks for one member of a map")
        name, owner = asked.name, self._owner(asked.owner, asked.name).evaluate

        def there(values: Values) -> bool:
            if type(found := owner(values)) is dict:
                return name in found
            raise Failed(f'there is no map that could have "{name}"')

        return Part(there, "bool")

    def _macro(self, tree: cel.Call) -> Part:
        owner, name, arguments, at = tree
        variable = arguments[0]
        if not isinstance(variable, cel.Name) or (len(arguments) == 3 and name != "map"):
            raise ExpressionError(
                at, f"{name} is called as list.{name}(x, ...): a name for the element, what is asked of it"
            )
        items = self._of_kind(owner, name, at, "list", "map").evaluate
        before = self.parts
        inner = [self._within(variable.name, one, later=False) for one in arguments[1:]]
        cost = max(1, (self.parts - before) // 16)
        condition = inner[0] if name != "map" or len(inner) == 2 else None
        if condition is not None and condition.kind not in ("", "bool"):
            self._refuse(name, at, condition.kind, hint=" as a condition")
        loop = _Loop(variable.name, items, cost)
        if name in ("all", "exists"):
            return Part(loop.quantified(inner[0].evaluate, decisive=name == "exists"), "bool")
        if name == "exists_one":
            selected = loop.selected(inner[0].evaluate, None)
            return Part(lambda values: len(selected(values)) == 1, "bool")
        result = inner[-1].evaluate if name == "map" else None
        return Part(loop.selected(None if condition is None else condition.evaluate, result), "list")


_METHODS: Final[Mapping[type, str]] = {
    **{cel.Literal: "_literal", cel.Name: "_name", cel.Member: "_member", cel.Index: "_member", cel.Unary: "_unary"},
    **{cel.Binary: "_binary", cel.Choice: "_choice", cel.ListOf: "_list", cel.MapOf: "_map", cel.Call: "_call"},
}
_MACROS: Final = ("map", "filter", "all", "exists", "exists_one")
_TYPE: Final[Mapping[str, type]] = {
    **{"bool": bool, "double": float, "int": int, "uint": int, "list": list, "map": dict, "string": str},
}


def _overload(name: str, *values: Any) -> Failed:
    return Failed(f"No matching overloads found : {name}({', '.join(map(kind_of, values))})")


def _members(owner: Part, names: Sequence[str]) -> Part:
    inner = owner.evaluate

    def member(values: Values) -> Any:
        here = inner(values)
        for name in names:
            if type(here) is not dict:
                raise Failed(f'there is no map that could have "{name}"')
            if name not in here:
                raise Failed(f'Key not found in map : "{name}"')
            here = here[name]
        return here

    return Part(member)


def _tolerant(owner: Evaluator, names: Sequence[str]) -> Part:
    """Return the member that names lead to, null where there is none."""

    def member(values: Values) -> Any:
        here = owner(values)
        for name in names:
            if type(here) is not dict:
                return None
            here = here.get(name)
        return here

    return Part(member)


def _joined(left: Evaluator, right: Evaluator, *, decisive: bool) -> Evaluator:
    """Join two conditions: one that is `decisive` gives the value of both, whatever the other one is."""

    def joined(values: Values) -> Any:
        try:
            one = left(values)
        except Failed:
            if right(values) is decisive:
                return decisive
            raise
        if one is decisive:
            return decisive
        other = right(values)
        if other is decisive:
            return decisive
        if type(one) is bool and type(other) is bool:
            return not decisive
        raise _overload("_||_" if decisive else "_&&_", one, other)

    return joined


def _same_as(value_of: Evaluator, literal: Any, *, equal: bool) -> Evaluator:
    """Compare with a text, a boolean or null, to which values of other types are never equal."""
    kind = type(literal)

    def compared(values: Values) -> Any:
        value = value_of(values)
        return bool(type(value) is kind and value == literal) is equal

    return compared


def _contained(item: Evaluator, container: Evaluator) -> Evaluator:
    def within(values: Values) -> Any:
        wanted, there = item(values), container(values)
        if type(there) is dict:
            if type(wanted) is str:
                return wanted in there
            if type(wanted) not in (int, float, bool):
                raise _overload("@in", wanted, there)
            spend(len(there) >> 4)
            return any(type(name) is not str and equal(name, wanted) for name in there)
        if type(there) is not list:
            raise _overload("@in", wanted, there)
        spend(len(there) >> 4)
        if type(wanted) is str:  # nothing but a text equals a text
            return wanted in there
        return any(equal(wanted, one) for one in there)

    return within


def _arithmetic(sign: str, exact: Callable[[int, int], int], close: Callable[[float, float], float] | None) -> Any:
    """Return what makes an operator of two numbers of the same type, that of integers and that of doubles."""

    def made(left: Evaluator, right: Evaluator) -> Evaluator:
        def result(values: Values) -> Any:
            one, other = left(values), right(values)
            if type(one) is int and type(other) is int:
                return fits(exact(fits(one), fits(other)))
            if close is not None and type(one) is float and type(other) is float:
                return close(one, other)
            raise _overload(f"_{sign}_", one, other)

        return result

    return made


def _sum(left: Evaluator, right: Evaluator) -> Evaluator:
    def result(values: Values) -> Any:
        one, other = left(values), right(values)
        kind = type(one)
        if kind is type(other):
            if kind is str:
                take(UNITS_OF_VALUE + len(one) + len(other))
                return one + other
            if kind is int:
                return fits(fits(one) + fits(other))
            if kind is list:
                take_content(one)
                take_content(other)
                return one + other
            if kind is float:
                return one + other
        raise _overload("_+_", one, other)

    return result


def _divided(one: int, other: int) -> int:
    """Divide towards zero, as CEL does."""
    if other == 0:
        raise Failed("divide by zero")
    return abs(one) // abs(other) * (1 if (one < 0) is (other < 0) else -1)


def _remainder(one: int, other: int) -> int:
    if other == 0:
        raise Failed("modulus by zero")
    return one - other * fits(_divided(one, other))


def _quotient(one: float, other: float) -> float:
    if other:
        return one / other
    return math.nan if not one or one != one else math.copysign(math.inf, one) * math.copysign(1.0, other)


def _ordering(sign: str, holds: Callable[[Any, Any], Any]) -> Callable[[Evaluator, Evaluator], Evaluator]:
    def made(left: Evaluator, right: Evaluator) -> Evaluator:
        def result(values: Values) -> Any:
            one, other = left(values), right(values)
            kind = type(one)
            if kind is type(other) and kind in _ORDERED:
                return holds(one, other)
            if {kind, type(other)} == _NUMBERS:
                return holds(as_double(one), as_double(other))
            raise _overload(f"_{sign}_", one, other)

        return result

    return made


_NUMBERS: Final = {int, float}
_ORDERED: Final = frozenset({int, float, str, bool})
_OPERATORS: Final[Mapping[str, Callable[[Evaluator, Evaluator], Evaluator]]] = {
    "+": _sum,
    "-": _arithmetic("-", lambda one, other: one - other, lambda one, other: one - other),
    "*": _arithmetic("*", lambda one, other: one * other, lambda one, other: one * other),
    "/": _arithmetic("/", _divided, _quotient),
    "%": _arithmetic("%", _remainder, None),
    "<": _ordering("<", lambda one, other: one < other),
    "<=": _ordering("<=", lambda one, other: one <= other),
    ">": _ordering(">", lambda one, other: one > other),
    ">=": _ordering(">=", lambda one, other: one >= other),
}
_TAKEN: Final = {
    "+": ({"int", "double", "string", "list"}, ""),
    **dict.fromkeys("-*/", ({"int", "double"}, "")),
    "%": ({"int"}, "int"),
    **dict.fromkeys(("<", "<=", ">", ">="), ({"int", "double", "string", "bool"}, "bool")),
}
"""Kinds that an operator takes, two of the same, and what it gives where that is another one."""


class _Loop(NamedTuple):
    """A macro: what is asked of each element of a list, or of each name of a map."""

    variable: str
    items: Evaluator
    cost: int
    """Steps that each element takes."""

    def _elements(self, values: Values) -> list[Any] | dict[Any, Any]:
        there = self.items(values)
        if type(there) is list or type(there) is dict:
            return there
        raise _overload("<iter_range>", there)

    def _step(self) -> None:
        spend(self.cost)
        take(UNITS_OF_VALUE * self.cost)

    def quantified(self, condition: Evaluator, *, decisive: bool) -> Evaluator:
        variable = self.variable

        def found(values: Values) -> Any:
            inner, problem = _with_variables(values), None
            for item in self._elements(values):
                self._step()
                inner[variable] = item
                try:
                    value = condition(inner)
                except Failed as failed:  # an element that decides counts, whatever others are
                    problem = failed
                    continue
                if value is decisive:
                    return decisive
                if type(value) is not bool:
                    problem = _overload("_||_" if decisive else "_&&_", value)
            if problem is not None:
                raise problem
            return not decisive

        return found

    def selected(self, condition: Evaluator | None, result: Evaluator | None) -> Evaluator:
        variable = self.variable

        def evaluated(values: Values) -> list[Any]:
            inner, found = _with_variables(values), []
            for item in self._elements(values):
                self._step()
                inner[variable] = item
                if condition is not None:
                    holds = condition(inner)
                    if type(holds) is not bool:
                        raise _overload("<jump_condition>", holds)
                    if not holds:
                        continue
                value = item if result is None else result(inner)
                if result is not None:
                    take_content(value)
                found.append(value)
            return found

        return evaluated


def _called(function: Callable[..., Any], arguments: Sequence[Evaluator], *, counts: bool) -> Evaluator:
    """`counts` says whether the function makes its value, rather than returns one that is there."""

    def called(values: Values) -> Any:
        given = [argument(values) for argument in arguments]
        try:
            found = function(*given)
        except (Exhausted, Oversized):
            raise
        except Exception as problem:  # it was given values of other types than it takes
            raise Failed(str(problem) or type(problem).__name__) from problem
        if counts:
            take_content(found)
        return found

    return called
