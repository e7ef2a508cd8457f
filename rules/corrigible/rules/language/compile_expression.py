"""The expressions, templates and pointers of one rule file, compiled. Mistakes are gathered with their lines.

Knows: CEL, pointers, names. Does not know: what the expressions are for.
"""

from __future__ import annotations

import re
from typing import Any

from corrigible.rules.errors import AuthoringError
from corrigible.schema.document import pointer_problem

from .expression import RESERVED, Environment, Expression, ExpressionError, environment
from .expression_lint import unknown_captures, unknown_members, wrong_result
from .rule import Template
from .shorthand import Functions, words
from .yaml_source import Source, Trail

LONGEST_EXPRESSION = 200
TOO_LONG = (
    f"an expression of {{length}} characters, {LONGEST_EXPRESSION} are the most: move it to a let, a function of "
    "pack.yaml or a Python function"
)
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class ExpressionCompiler:
    def __init__(self, source: Source, functions: Functions) -> None:
        self.source = source
        self.functions = functions
        self.errors: list[AuthoringError] = []
        self.lint: list[AuthoringError] = []
        """What works and is to be mended all the same."""
        self.captures: frozenset[str] = frozenset()
        """The names of the groups of `match.message`."""
        self.mentioned: set[str] = set()
        self.expressions: list[Expression] = []

    def _named(self, name: str, trail: Trail) -> None:
        if name in environment().names:
            self._wrong(trail, f'"{name}" hides a name that every rule has')
        elif name in RESERVED:
            self._wrong(trail, f'"{name}" is a word of CEL itself')
        elif _NAME.fullmatch(name) is None:
            self._wrong(trail, f'"{name}" is no name for CEL: letters, digits and "_"')

    def _wrong(self, trail: Trail, problem: str) -> None:
        self.errors.append(self.source.error(trail, problem))

    def _doubt(self, trail: Trail, problem: str, kind: str) -> None:
        self.lint.append(self.source.error(trail, problem, kind=kind))

    def _cel(self, text: str, trail: Trail, scope: Environment, gives: str = "") -> Expression:
        """Compile an expression; `gives` is what its value has to be, such as `a list`."""
        try:
            expression = scope.compile(text, self.functions)
            self.mentioned |= words(expression.expanded)
            self.expressions.append(expression)
            if len(text) > LONGEST_EXPRESSION:
                self._doubt(trail, TOO_LONG.format(length=len(text)), "long-expression")
            if gives and (problem := wrong_result(expression, gives)) is not None:
                self._doubt(trail, problem, "wrong-result")
            for problem in unknown_captures(expression, self.captures):
                self._doubt(trail, problem, "unknown-capture")
            for problem in unknown_members(expression):
                self._doubt(trail, problem, "unknown-member")
            return expression
        except ExpressionError as problem:
            self._wrong(trail, str(problem))
            return environment().compile("null")

    def _condition(self, text: str | bool | None, trail: Trail, scope: Environment) -> Expression | None:
        if text is None or text is True:
            return None
        return self._cel("false" if text is False else text, trail, scope, "a boolean")

    def _template(self, value: Any, trail: Trail, scope: Environment) -> Template:
        if isinstance(value, str):
            return self._cel(value, trail, scope)
        if isinstance(value, dict):
            return {key: self._template(inner, (*trail, key), scope) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._template(inner, (*trail, index), scope) for index, inner in enumerate(value)]
        return value

    def _pointer(self, text: str, trail: Trail, scope: Environment) -> str | Expression:
        if not text.startswith("/"):
            return self._cel(text, trail, scope, "a text")
        if (problem := pointer_problem(text)) is not None:
            self._wrong(trail, f'"{text}" {problem}')
        elif text.endswith("/"):
            self._doubt(trail, f'"{text}" ends with a slash: that is a member without a name', "trailing-slash")
        return text
