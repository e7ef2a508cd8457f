"""What a 404 is about at a path that names nothing: what the body or the query refers to, by the kind that it says.

"No Project matches the given query." (Django) is about `project`, and is a lack of it where it was not sent.

Knows: one sentence, what was sent, what the description requires. Does not know: state, paths with variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import escape, segments
from corrigible.rules.safety.nearness import letters
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.violation import Violation

from .api_profile import RefusalCase

_NOT_FOUND: Final = 404
_READ: Final = 200
_KIND: Final = re.compile(
    r"(?i)(?:no (?P<a>[a-z]\w{1,60}) match(?:es|ed)? (?:the|your) (?:given )?query"
    r"|(?:the |this )?(?P<b>[a-z]\w{1,60}) (?:does not exist|(?:was )?not found))[.!]?"
)
_ENDINGS: Final = ("", "id", "s")

ViolationsAt = Callable[[str], Sequence[SchemaViolation]]


def absent_by_name(case: RefusalCase, error: Violation, violations_at: ViolationsAt) -> SchemaViolation | None:
    """Return the value that refers to what is not there, or that it was not sent; None where that is not clear."""
    if case.exchange.status != _NOT_FOUND or not case.match.operation or case.match.params or error.pointer:
        return None
    said = _KIND.fullmatch(error.message[:_READ].strip())
    if said is None:
        return None
    kind = letters(said["a"] or said["b"])
    names = {kind + ending for ending in _ENDINGS}
    parts = {"body": case.request.body, "query": case.request.query}
    sent = [
        (f"/{part}/{escape(name)}", letters(name), value)
        for part, members in parts.items()
        if isinstance(members, Mapping)
        for name, value in members.items()
        if letters(name).startswith(kind)
    ]
    if len(sent) == 1:
        ((place, name, value),) = sent
        is_name = isinstance(value, str | int) and not isinstance(value, bool)
        if name not in names or not is_name or is_secret(place, value):
            return None
        return SchemaViolation(place, "value", {"not": {"const": value}}, value)
    missing = [one for one in violations_at("") if one.keyword == "required"]
    named = [one for one in missing if letters(segments(one.pointer)[-1]) in names]
    return named[0] if not sent and len(named) == 1 else None
