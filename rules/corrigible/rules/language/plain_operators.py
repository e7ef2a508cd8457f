"""The operators of plain expressions: each makes an evaluator of those of its operands.

Knows: CEL's rules for scalars, lists and maps. Does not know: trees, names of functions, the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.budget import UNITS_OF_VALUE, Exhausted, Oversized, spend, take, take_content

from .plain_methods import ODD

Values = dict[str, Any]
Evaluator = Callable[[Any], Any]
"""From the values in scope to the value of an expression, or to `ODD`."""

LARGEST: Final = 2**63
"""CEL's integers have 64 bits."""
SCALARS: Final = frozenset({str, bool, int, type(None)})
CONTAINERS: Final = frozenset({dict, list})


def member_of(root: str, names: Sequence[str]) -> Evaluator:
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


def indexed(owner: Evaluator, index: Evaluator) -> Evaluator:
    def found(values: Values) -> Any:
        of, key = owner(values), index(values)
        if type(of) is dict:
            return of.get(key, ODD) if type(key) is str else ODD
        return of[key] if type(of) is list and type(key) is int and 0 <= key < len(of) else ODD

    return found


def chosen(condition: Evaluator, then: Evaluator, otherwise: Evaluator) -> Evaluator:
    def evaluated(values: Values) -> Any:
        holds = condition(values)
        if holds is True:
            return then(values)
        return otherwise(values) if holds is False else ODD

    return evaluated


def listed(items: Sequence[Evaluator]) -> Evaluator:
    def made(values: Values) -> Any:
        found = [item(values) for item in items]
        if any(one is ODD for one in found):
            return ODD
        for one in found:
            take_content(one)
        return found

    return made


def mapped(entries: Sequence[tuple[Evaluator, Evaluator]]) -> Evaluator:
    def made(values: Values) -> Any:
        found = {}
        for key_of, value_of in entries:
            key, value = key_of(values), value_of(values)
            if type(key) is not str or value is ODD or key in found:
                return ODD
            take_content(key)
            take_content(value)
            found[key] = value
        return found

    return made


def joined(left: Evaluator, right: Evaluator, *, decisive: bool) -> Evaluator:
    """Join two conditions: one that is `decisive` gives the value of both."""

    def evaluated(values: Values) -> Any:
        value = left(values)
        if value is decisive:
            return decisive
        if type(value) is not bool:
            return ODD
        value = right(values)
        return value if type(value) is bool else ODD

    return evaluated


def typed(inner: Evaluator, wanted: frozenset[type], *, equal: bool) -> Evaluator:
    def judged(values: Values) -> Any:
        value = inner(values)
        kind = type(value)
        if kind is int and not -LARGEST <= value < LARGEST:
            return ODD
        if kind in SCALARS or kind in CONTAINERS or kind is float:
            return (kind in wanted) is equal
        return ODD

    return judged


def _same(one: Any, other: Any) -> Any:
    """Return whether two scalars are equal, or ODD. Values of different types differ, but for numbers."""
    kind = type(one)
    if kind is type(other):
        if kind is str or kind is bool or one is None:
            return one == other
        if kind is int:
            return one == other if -LARGEST <= one < LARGEST and -LARGEST <= other < LARGEST else ODD
        return ODD
    if kind in SCALARS:
        return False if type(other) in SCALARS or type(other) in CONTAINERS else ODD
    return False if kind in CONTAINERS and type(other) in SCALARS else ODD


def compared_with(value_of: Evaluator, literal: Any, *, equal: bool) -> Evaluator:
    kind = type(literal)

    def evaluated(values: Values) -> Any:
        value = value_of(values)
        if type(value) is kind:
            if kind is int and not -LARGEST <= value < LARGEST:
                return ODD
            return (value == literal) is equal
        return not equal if type(value) in SCALARS or type(value) in CONTAINERS else ODD

    return evaluated


def compared(left: Evaluator, right: Evaluator, *, equal: bool) -> Evaluator:
    def evaluated(values: Values) -> Any:
        found = _same(left(values), right(values))
        return ODD if found is ODD else found is equal

    return evaluated


def contained(item: Evaluator, container: Evaluator) -> Evaluator:
    def within(values: Values) -> Any:
        wanted, there = item(values), container(values)
        if type(there) is dict:
            return wanted in there if type(wanted) is str else ODD
        if type(there) is not list or wanted is ODD:
            return ODD
        spend(len(there) >> 4)
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
    return -LARGEST <= number < LARGEST


def _sum(left: Evaluator, right: Evaluator) -> Evaluator:
    def result(values: Values) -> Any:
        one, other = left(values), right(values)
        if type(one) is not type(other):
            return ODD
        if type(one) is str:
            take(UNITS_OF_VALUE + len(one) + len(other))
            return one + other
        if type(one) is list:
            take_content(one)
            take_content(other)
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


ARITHMETIC: Final[Mapping[str, Callable[[Evaluator, Evaluator], Evaluator]]] = {
    "+": _sum,
    "-": _numbers(lambda one, other: one - other),
    "*": _numbers(lambda one, other: one * other),
    "<": _ordering(lambda one, other: one < other),
    "<=": _ordering(lambda one, other: one <= other),
    ">": _ordering(lambda one, other: one > other),
    ">=": _ordering(lambda one, other: one >= other),
}


def quantified(variable: str, items: Evaluator, condition: Evaluator, *, decisive: bool, cost: int) -> Evaluator:
    """`cost` is how many steps each element takes."""

    def found(values: Values) -> Any:
        there = items(values)
        if type(there) is not list and type(there) is not dict:
            return ODD
        inner = dict(values)
        for item in there:
            spend(cost)
            take(UNITS_OF_VALUE * cost)
            inner[variable] = item
            value = condition(inner)
            if value is decisive:
                return decisive
            if type(value) is not bool:
                return ODD
        return not decisive

    return found


def selected(
    variable: str, items: Evaluator, condition: Evaluator | None, result: Evaluator | None, *, cost: int
) -> Evaluator:
    def evaluated(values: Values) -> Any:
        there = items(values)
        if type(there) is not list:  # a map's names come in an order of the runtime's own
            return ODD
        inner, found = dict(values), []
        for item in there:
            spend(cost)
            take(UNITS_OF_VALUE * cost)
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
            if result is not None:
                take_content(value)
            found.append(value)
        return found

    return evaluated


def called_with(function: Callable[..., Any], arguments: Sequence[Evaluator], *, counts: bool = True) -> Evaluator:
    """`counts` says whether the function makes its value, rather than returns one that is there."""

    def evaluated(values: Values) -> Any:
        given = [argument(values) for argument in arguments]
        if any(one is ODD for one in given):
            return ODD
        found = _kept(function, given)
        if counts and found is not ODD:
            take_content(found)
        return found

    return evaluated


def _kept(function: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Call a function. What it refuses is refused by the runtime, with the text of the expression."""
    try:
        return function(*given)
    except (Exhausted, Oversized):
        raise
    except Exception:
        return ODD
