"""The only member that is not declared, where a refusal says no more than which part of the request is wrong.

Servers of hapi and joi refuse what their descriptions, made by hapi-swagger, allow.

Knows: a refusal, what its description says of a place. Does not know: how the member is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.schema_violation import SchemaViolation

from .api_profile import RefusalCase

_BAD_REQUEST: Final = 400
_HAPI: Final = re.compile(r"(?i)invalid request (payload|query) input\W*")
_MOST: Final = 32
"""Members that are looked at: in a larger request another one may be what is wrong."""

ViolationsAt = Callable[[str], Sequence[SchemaViolation]]


def only_undeclared(case: RefusalCase, message: str, violations_at: ViolationsAt) -> list[SchemaViolation]:
    """Return it, of the body or of the query; nothing where there is none, or another one."""
    said = _HAPI.fullmatch(message.strip()) if case.exchange.status == _BAD_REQUEST else None
    if said is None:
        return []
    part, sent = ("query", case.request.query) if said[1].lower() == "query" else ("body", case.request.body)
    places = [f"/{part}/{escape(name)}" for name in sent] if isinstance(sent, Mapping) else []
    if len(places) > _MOST:
        return []
    found = [one for place in places for one in violations_at(place) if one.pointer == place]
    return found if len(found) == 1 and found[0].keyword == "additionalProperties" else []
