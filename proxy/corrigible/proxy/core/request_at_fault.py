"""Whether the request may be what is wrong, by the status or code of its refusal.

Knows: statuses, codes. Does not know: descriptions, rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.safety.decisive import words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol, Request

ABOUT_THE_REQUEST: Final = frozenset({400, 404, 405, 410, 415, 422, 501})
"""Statuses (RFC 9110, RFC 4918) that may mean that the request is not what the description says."""
BAD_REQUEST: Final = 400
METHOD_NOT_ALLOWED: Final = 405
NOT_ACCEPTABLE: Final = 406
SERVER_FAULT: Final = 500
"""Says nothing of the request, unless its text states what the value at one of its places has to be."""
UNAUTHORIZED: Final = 401
OF_UNKNOWN: Final = ("additionalProperties", "unevaluatedProperties")
"""Keywords of members that are not declared."""
BY_THE_TEXT_ONLY: Final = frozenset({"UNKNOWN", "INTERNAL", "FAILED_PRECONDITION"})
"""Codes of google.rpc that say nothing of the request: only a text that states a limit of one of its places does."""
CHOSE_NONE: Final = frozenset({"UNKNOWN", "INTERNAL"})
"""Codes of a service that chose none."""
_LOGIN: Final = frozenset(
    {"login", "logon", "signin", "authenticate", "authentication", "token", "session", "sessions"}
)


def may_be_judged(error: Violation, status: int, request: Request) -> bool:
    """Whether the request may be what is wrong."""
    if status == UNAUTHORIZED:
        return is_login(request)
    is_told = error.type == "INVALID_ARGUMENT" and status == SERVER_FAULT  # the text says so, not the code
    if request.protocol is Protocol.GRPC and (error.type in CHOSE_NONE or is_told) and error.message:
        return True
    if error.type in BY_THE_TEXT_ONLY or status == SERVER_FAULT:
        return bool(error.pointer and (error.stated or error.constraint in ("required", *OF_UNKNOWN)))
    return status in ABOUT_THE_REQUEST or status == NOT_ACCEPTABLE


def is_login(request: Request) -> bool:
    """Whether a request asks for credentials with those of its body: it can be refused for a member that it lacks."""
    called = words(request.path.rstrip("/").rpartition("/")[2])
    return request.method == "POST" and isinstance(request.body, Mapping) and not _LOGIN.isdisjoint(called)
