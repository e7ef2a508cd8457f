"""A change of nothing but members that the server does not let be changed, though the description has them.

"Property 'name' is not allowed for this method" of a PATCH with `name` alone: it is no misspelling, and without it
nothing would be left of the change. So it is said that this is the end. Beside other members nothing is said.

Knows: a refusal, what the operation declares. Does not know: rules, where else a member may be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.schema.exchange import Protocol

from .api_profile import RefusalCase
from .request_at_fault import OF_UNKNOWN
from .terminal_answer import Told, escalation

_STATUSES: Final = frozenset({400, 403, 409, 422})
_TOLD: Final = Told(
    "The server does not let this be changed by this operation, though the description has it there. Unless something"
    " else is changed first, the same request is refused again.",
    "a member that can be changed",
    "somebody_else",
    "The server does not let this member be changed.",
    "READ_ONLY",
)


def barred_members(case: RefusalCase) -> Repair | None:
    """Return what is told where all members of a change are refused as such, and each is declared; else None."""
    request, operation, described = case.request, case.match.operation, case.profile.described
    if request.method != "PATCH" or request.protocol is not Protocol.HTTP or case.exchange.status not in _STATUSES:
        return None
    if described is None or not operation or not isinstance(request.body, Mapping) or not request.body:
        return None
    if any(one.constraint not in OF_UNKNOWN for one in case.errors):
        return None
    sent = {f"/body/{escape(str(name))}" for name in request.body}
    if sent != {one.pointer for one in case.errors}:
        return None
    if not all(described.declared_place(request, operation, place).schema for place in sent):
        return None
    return escalation(_TOLD, {"method": request.method, "path": request.path})
