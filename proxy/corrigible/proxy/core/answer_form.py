"""Whether a refusal is about the media type of the answer: the operation produces none that was asked for.

Knows: statuses, what an operation is described to produce. Does not know: suggestions.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.adapters.base import Described
from corrigible.rules.lookup_headers import accepts
from corrigible.rules.safety.decisive import READS
from corrigible.rules.schema_repair.body import ACCEPT
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Protocol

from .api_profile import RefusalCase

_NOT_ACCEPTABLE: Final = 406
_UNSUPPORTED: Final = 415
_TYPE: Final = re.compile(r"[a-z]+/[a-z0-9.+-]{1,80}")


def violation_of_accept(case: RefusalCase, description: Described | None) -> SchemaViolation | None:
    """Return what is wrong with the `Accept` of a request; None where the description does not tell."""
    request, operation = case.request, case.match.operation
    accept = request.headers.get("accept", "")
    # Where no body was sent, the only media type that can be refused is that of the answer.
    is_of_answer = case.exchange.status == _NOT_ACCEPTABLE or (
        case.exchange.status == _UNSUPPORTED and request.body is None and request.method in READS
    )
    if not is_of_answer or request.protocol is not Protocol.HTTP or not accept:
        return None
    if description is None or not operation:
        return None
    produced = [media for media in description.produced(operation) if _TYPE.fullmatch(media)]
    if not produced or any(accepts(accept, media) for media in produced):
        return None  # the server contradicts its description, which is of no help then
    return SchemaViolation(ACCEPT, "enum", {"enum": produced}, accept)


def is_produced(case: RefusalCase, description: Described | None) -> bool:
    """Whether a request accepts what its operation is described to produce."""
    accept = case.request.headers.get("accept", "*/*")
    produced = description.produced(case.match.operation) if description is not None and case.match.operation else ()
    return any(accepts(accept, media) for media in produced)
