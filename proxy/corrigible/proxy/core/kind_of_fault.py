"""An error that tells a kind of fault in a word that is the name of a member, too: `Invalid format, expected ...`.

Knows: the text of an error, what is wrong with a request. Does not know: where an error was found to be, repairs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import segments
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation

_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "format": frozenset({"format", "pattern"}),
    "pattern": frozenset({"pattern"}),
    "type": frozenset({"type"}),
    "length": frozenset({"minLength", "maxLength", "minItems", "maxItems"}),
    "range": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
}
"""Words for a fault of a value, and the keywords that it can be of."""
_TOLD: Final = re.compile(r"(?i)\W*(?:invalid|wrong|bad|incorrect|unsupported) (?P<kind>\w{1,20})(?:\W|$)")


def of_kind(error: Violation, violations: Sequence[SchemaViolation]) -> list[SchemaViolation]:
    """Return the violations of the kind that a text begins with, where that word was taken for a member's name."""
    told = _TOLD.match(error.message)
    kind = told["kind"].lower() if told is not None else ""
    if kind not in _KINDS or segments(error.pointer)[-1].lower() != kind:
        return []
    return [one for one in violations if one.keyword in _KINDS[kind]]
