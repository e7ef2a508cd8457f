"""A DELETE of a resource that is gone already, as the text of a 410 says: the wish is fulfilled.

`410 Gone` alone may mean a resource that cannot be had now, and in a path with several names another one than the last.
Then this module gives no result.

Knows: a refusal. Does not know: look-ups, descriptions.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol

from .api_profile import RefusalCase
from .terminal_answer import already_done

_GONE: Final = 410
_READ: Final = 300
_DONE: Final = r"(?:deleted|removed|destroyed|trashed|purged|erased)"
_SAYS_SO: Final = re.compile(
    rf"(?i)^\W*(?:sorry,? )?(?:(?:the|this|that|your) )?(?:requested )?[\w-]{{2,40}} (?:\S{{1,80}} )?"
    rf"(?:(?:has|was|is) already (?:been )?{_DONE}|has been {_DONE}(?: already)?)\W*$"
)
"""A sentence that says nothing but this of one thing."""


def gone_already(case: RefusalCase, error: Violation) -> Repair | None:
    """Return what tells that there is nothing left to do; None where the text does not say so of what was named."""
    request, named = case.request, list(case.match.params.values())
    if case.exchange.status != _GONE or request.method != "DELETE" or request.protocol is not Protocol.HTTP:
        return None
    if error.pointer not in ("", "/path") or len(case.errors) > 1 or request.body or len(named) != 1:
        return None
    if unquote(request.path.rstrip("/").rpartition("/")[2]) != named[0]:
        return None
    if _SAYS_SO.search(error.message[:_READ].strip()) is None:
        return None
    return already_done(request)
