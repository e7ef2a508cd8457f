"""The parameter of the query that the text of a 404 refuses: `Invalid page number` of `?page=one`.

Some servers answer 404 to a page that is no number, as they do to one beyond the last. The path is right then.

Knows: a refusal. Does not know: descriptions, look-ups.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.safety.decisive import words
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation

from .api_profile import RefusalCase

_NOT_FOUND: Final = 404
_READ: Final = 300
_REFUSED: Final = re.compile(
    r"(?i)(?:^|[.:;!]\s|\n)(?:an? |the )?(?:invalid|illegal|malformed|bad|wrong) (?:value (?:for|of) )?(?:the )?"
    r"['\"`]?(?P<name>[a-z][\w-]{1,40})['\"`]?(?: (?:value|number|parameter|param|argument))?"
    r"(?:\W*(?:$|\n)|: \S.{0,80}$)"
)
"""A sentence that refuses what it names, and says no more."""
_GENERAL: Final = frozenset(
    {"value", "id", "name", "request", "path", "url", "data", "input", "query", "type", "format"}
)
"""Words that say of nothing in particular that it is meant."""


def refused_parameter(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the value of the only parameter of the query that a text is about; None where there is none."""
    request = case.request
    if case.exchange.status != _NOT_FOUND or error.pointer or not case.match.operation or not request.query:
        return None
    told = _REFUSED.search(error.message[:_READ])
    if told is None:
        return None
    meant = set(words(told["name"])) - _GENERAL
    in_path = {word for variable in case.match.params for word in words(variable)}
    if not meant or not meant.isdisjoint(in_path):
        return None
    named = [name for name in request.query if not meant.isdisjoint(words(name))]
    exact = [name for name in named if set(words(name)) == meant]
    chosen = exact or named
    if len(chosen) != 1 or not isinstance(request.query[chosen[0]], str):
        return None
    value = request.query[chosen[0]]
    return SchemaViolation(f"/query/{escape(chosen[0])}", "value", {"not": {"const": value}}, value)
