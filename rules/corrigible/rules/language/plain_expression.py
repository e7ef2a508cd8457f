"""Expressions that are plain enough to be evaluated in Python: a call into the runtime takes ten times as long.

Of the expressions in packs every third is one: a literal, a member, a sum of texts, or conditions on members that are
joined by `&&` or `||`. Values that these functions do not judge as CEL does for certain are `ODD`: the runtime decides.

Knows: CEL's text and its equality of scalars. Does not know: the runtime, rules, environments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.functions.builtin import at

from .shorthand import TYPED

Evaluator = Callable[[Mapping[str, Any]], Any]
"""From the values in scope to the value of an expression, or to `ODD`."""

ODD: Final = object()
"""The runtime has to evaluate the expression on these values."""

_NAMES = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_OPERAND = re.compile(
    rf"""(?P<literal>'[^'\\\n]*'|"[^"\\\n]*"|-?\d{{1,18}}(?![\w.])|(?:true|false|null)\b(?!\s*[.(\[]))"""
    rf"|(?P<not>!?)(?:has\((?P<has>{_NAMES})\)|(?P<member>{_NAMES})(?!\w|\s*[(\[.{{]))",
    re.ASCII,
)
_OPERATOR = re.compile(r"\s*(==|!=|&&|\|\||\+)\s*")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_SCALARS = (str, bool, int, type(None))
_CONTAINERS = (dict, list)
_LARGEST = 2**63
"""CEL's integers have 64 bits."""


def plain(text: str) -> Evaluator | None:
    """Return the evaluator of a plain expression, which compiles as CEL; None for any other."""
    operands: list[Evaluator] = []
    operators: set[str] = set()
    end = 0
    while True:
        operand, end = _operand(text, end)
        if operand is None:
            return None
        operands.append(operand)
        if end == len(text):
            break
        operator = _OPERATOR.match(text, end)
        if operator is None:
            return None
        operators.add(operator[1])
        end = operator.end()
    if not operators:
        return operands[0]
    if operators == {"+"}:
        return _sum(operands)
    if operators <= {"&&"} or operators <= {"||"}:
        return _joined(operands, decisive="||" in operators)
    return None


def _operand(text: str, start: int) -> tuple[Evaluator | None, int]:
    """Return the evaluator of a literal, a member, or a condition on one member, and where it ends."""
    match = _OPERAND.match(text, start)
    if match is None:
        return None, start
    if match["literal"] is not None:
        return _constant(_literal(match["literal"])), match.end()
    if match["has"] is not None:
        names = match["has"].split(".")
        asks = _has(names) if len(names) > 1 else None
        return (_negated(asks) if match["not"] and asks is not None else asks), match.end()
    member = _member(match["member"].split("."))
    if match["not"]:
        return _negated(member), match.end()
    comparison = _OPERATOR.match(text, match.end())
    if comparison is not None and comparison[1] in ("==", "!="):
        other = _OPERAND.match(text, comparison.end())
        if other is None or other["literal"] is None:
            return None, start
        return _compared(member, _literal(other["literal"]), equal=comparison[1] == "=="), other.end()
    return member, match.end()


def _literal(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return text[1:-1] if text[0] in "'\"" else int(text)


def _constant(value: Any) -> Evaluator:
    return lambda _: value


def _member(names: Sequence[str]) -> Evaluator:
    root = names[0]
    if root in TYPED and len(names) > 1:
        pointer = "/" + "/".join(names[1:])
        return lambda values: at(values[root], pointer) if root in values else ODD

    def member(values: Mapping[str, Any]) -> Any:
        here: Any = values
        for name in names:
            if type(here) is not dict:
                return ODD
            here = here.get(name, ODD)
        return here

    return member


def _has(names: Sequence[str]) -> Evaluator:
    if names[0] in TYPED:
        value_of = _member(names)
        return lambda values: ODD if (value := value_of(values)) is ODD else value is not None
    *parents, last = names
    owner_of = _member(parents)
    return lambda values: last in owner if type(owner := owner_of(values)) is dict else ODD


def _negated(condition: Evaluator) -> Evaluator:
    return lambda values: not value if type(value := condition(values)) is bool else ODD


def _compared(value_of: Evaluator, literal: Any, *, equal: bool) -> Evaluator:
    """Compare with a scalar. To CEL values of different types are different, but for numbers of different types."""
    kind = type(literal)

    def compared(values: Mapping[str, Any]) -> Any:
        value = value_of(values)
        if type(value) is kind:
            if kind is int and not -_LARGEST <= value < _LARGEST:
                return ODD
            return (value == literal) is equal
        return not equal if type(value) in _SCALARS or type(value) in _CONTAINERS else ODD

    return compared


def _joined(conditions: Sequence[Evaluator], *, decisive: bool) -> Evaluator:
    """Join conditions: the first that is `decisive` gives the value of all."""

    def joined(values: Mapping[str, Any]) -> Any:
        for condition in conditions:
            value = condition(values)
            if type(value) is not bool:
                return ODD
            if value is decisive:
                return decisive
        return not decisive

    return joined


def _sum(operands: Sequence[Evaluator]) -> Evaluator:
    def text(values: Mapping[str, Any]) -> Any:
        parts = [operand(values) for operand in operands]
        return "".join(parts) if all(type(part) is str for part in parts) else ODD

    return text
