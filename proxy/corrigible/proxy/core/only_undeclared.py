"""The only member that is not declared, where a refusal says nothing and nothing else is wrong.

Some servers refuse what their descriptions allow: those of hapi and joi do.

Knows: a refusal, what its description says of a place. Does not know: how the member is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.schema_violation import SchemaViolation

from .api_profile import RefusalCase
from .nothing_said import says_nothing
from .request_at_fault import BAD_REQUEST

_REFUSES_VALUES: Final = frozenset({400, 422})
_MOST: Final = 32
"""Members that are looked at: in a larger request another one may be what is wrong."""

ViolationsAt = Callable[[str], Sequence[SchemaViolation]]


def only_undeclared(case: RefusalCase, message: str, violations_at: ViolationsAt) -> list[SchemaViolation]:
    """Return it, of the body or of the query; nothing where there is none, or another one."""
    if case.exchange.status not in _REFUSES_VALUES or not says_nothing(message, BAD_REQUEST):
        return []
    parts = {"body": case.request.body, "query": case.request.query}
    places = [f"/{part}/{escape(name)}" for part, sent in parts.items() if isinstance(sent, Mapping) for name in sent]
    if len(places) > _MOST:
        return []
    found = [one for place in places for one in violations_at(place) if one.pointer == place]
    return found if len(found) == 1 and found[0].keyword == "additionalProperties" else []
