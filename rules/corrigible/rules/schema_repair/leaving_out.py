"""A request without a member that must not be there, as it stands otherwise.

| the member                                            | is                                              |
|-------------------------------------------------------|-------------------------------------------------|
| the identifier that the path ends with                | left out: the request still says which thing    |
| any other                                             | left out, flagged; of a write it is confirmed   |
| one that other parts of the request cannot do without | asked about                                     |
| a secret                                              | not touched: the edit would repeat it           |

Knows: violations, requests. Does not know: who says that the member must not be there.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, edit, guarded_edit, is_secret, left_out


def without(violation: SchemaViolation, request: Request, message: str) -> Proposal | None:
    """Return the request without a member that must not be there.

    Of the identifier that the path ends with nothing is lost: the request still says it.
    """
    value = value_at(request, violation.pointer)
    if value is MISSING or is_secret(violation.pointer, value):
        return None
    try:
        ops = guarded_edit(request, violation.pointer, value, {"op": "remove", "path": violation.pointer})
    except PatchError:
        return ask(violation, request, message, schema={})
    if _is_said_by_path(violation.pointer, value, request):
        return Proposal([edit(violation, request, ops, message)])
    return Proposal([left_out(violation, request, ops, message)])


def _is_said_by_path(pointer: str, value: Json, request: Request) -> bool:
    """Whether a member of the body is the identifier that the path ends with."""
    where, *names = segments(pointer)
    if where != "body" or len(names) != 1 or isinstance(value, bool) or not isinstance(value, str | int):
        return False
    last = unquote(request.path.rstrip("/").rpartition("/")[2])
    return _ID.search(names[0]) is not None and bool(last) and scalar_text(value) == last


_ID: Final = re.compile(r"^(?:id|ID|Id|name|key|slug|uuid|uid|guid)$|(?:_id|_uuid|[a-z]Id|[a-z]ID)$")
"""What members are called that say which thing is meant."""
