"""Limits that an answer states, in the schemas of the questions about that place.

Knows: results of rules, what an error states. Does not know: how an answer is read, descriptions.
"""

from __future__ import annotations

from typing import Final

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

_OF_NUMBERS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems"),
    }
)
"""Keywords whose values are numbers: no text of an answer gets into a question."""
_CLOSED: Final = ("enum", "const", "not")
"""A schema with one of these says more than a limit does."""


def with_stated_limits(result: RuleResult, error: Violation) -> RuleResult:
    """Return the result with the stated limits in what is asked for at the error's own place."""
    limits = {name: value for name, value in error.stated.items() if name in _OF_NUMBERS}
    if not limits or not error.pointer:
        return result
    return result.with_suggestions([_with_limits(one, error.pointer, limits) for one in result.suggestions])


def _with_limits(suggestion: dict[str, Json], pointer: str, limits: dict[str, Json]) -> dict[str, Json]:
    if "placeholders" not in suggestion:
        return suggestion
    placeholders = [
        {**one, "schema": {**one["schema"], **limits}}
        if one["pointer"] == pointer and not any(name in one["schema"] for name in _CLOSED)
        else one
        for one in suggestion["placeholders"]
    ]
    return {**suggestion, "placeholders": placeholders}
