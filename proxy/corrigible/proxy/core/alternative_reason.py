"""Why another operation is looked for: what a refusal says about the operation that was called, apart from its values.

Knows: statuses, headers, what servers say of routes. Does not know: mappings, what is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.functions.builtin import unix
from corrigible.schema.exchange import Exchange, Protocol

from .api_profile import RefusalCase
from .nothing_said import says_nothing

_READ: Final = 500
"""Characters of a message."""
_NOT_FOUND: Final = 404
_GONE: Final = 410
_ALWAYS_UNKNOWN: Final = frozenset({405, 501})
_SERVER_FAULT: Final = 500
_OF_ROUTES: Final = frozenset({"PATH_UNKNOWN", "METHOD_NOT_ALLOWED", "NOT_IMPLEMENTED"})
"""Codes by which formats and rules say that a server lacks an operation."""
_ROUTE: Final = re.compile(
    r"(?i)\bno (?:matching |such )?(?:path|route|endpoint|handler|static resource|api)\b"
    r"|\bunrecognized request url\b|\bpage not found\b|\bcannot (?:get|head|post|put|patch|delete) /"
    r"|\b(?:path|route|endpoint|url|method|operation|api version)\b.{0,80}\b"
    r"(?:not (?:found|exist|known|supported|allowed|implemented|available)|unknown|removed|retired)\b"
    r"|\bunknown (?:path|route|endpoint|url|method|operation|service|api)\b"
    r"|\bcould not find the requested resource$"
)
_OF_THE_API: Final = re.compile(r"(?i)\b(?:endpoint|route|api|version|method|operation|deprecated|sunset|retired)\b")


class Reason(StrEnum):
    """What is wrong with the operation that was called."""

    UNKNOWN = "The server does not have the operation that was called."
    ABSENT = "Nothing is at the path that was called, and another one has it."
    """Whether the operation or what it names is not there is not known: only a read that was seen to work helps."""
    GONE = "The operation that was called is gone."
    DEPRECATED = "The operation that was called is deprecated."
    FORBIDDEN = "The operation that was called is forbidden to this caller."
    LIMITED = "The operation that was called takes no more requests just now."


CODES: Final = {
    Reason.UNKNOWN: "OPERATION_UNKNOWN",
    Reason.ABSENT: "PATH_ABSENT",
    Reason.GONE: "OPERATION_GONE",
    Reason.DEPRECATED: "OPERATION_DEPRECATED",
    Reason.FORBIDDEN: "FORBIDDEN",
    Reason.LIMITED: "TOO_MANY_REQUESTS",
}
_BY_STATUS: Final = {403: Reason.FORBIDDEN, 429: Reason.LIMITED}
_STATUSES: Final = frozenset({*_ALWAYS_UNKNOWN, *_BY_STATUS, _NOT_FOUND, _GONE, _SERVER_FAULT})


def may_be_about_the_operation(exchange: Exchange) -> bool:
    """Whether a refusal may be about its operation: cheap, since most are not."""
    return exchange.status in _STATUSES or "deprecation" in exchange.headers or "sunset" in exchange.headers


def reason_for_another(case: RefusalCase, results: Sequence[RuleResult], *, names_a_thing: bool) -> Reason | None:
    """Return why another operation may help; None where the refusal is about what was sent, or is not known to be.

    `names_a_thing`: the path has values in it, so that a 404 may be about what they name. So may one about a body.
    """
    status, is_rpc = case.exchange.status, case.request.protocol is Protocol.GRPC
    if status in _ALWAYS_UNKNOWN:
        return Reason.UNKNOWN
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    codes = {error.code for error in case.errors} | {result.rule.verbose_code for result in results}
    if not is_rpc and status in (_NOT_FOUND, _SERVER_FAULT) and not _OF_ROUTES.isdisjoint(codes):
        return Reason.UNKNOWN
    is_bare = not names_a_thing and case.request.body is None and all(says_nothing(one, status) for one in _texts(case))
    if not is_rpc and status == _NOT_FOUND and (is_bare or _is_undescribed(case) or _says(case, _ROUTE)):
        return Reason.UNKNOWN
    if not is_rpc and status == _NOT_FOUND and not results and case.request.method == "GET":
        return Reason.ABSENT
    if status == _GONE and (is_bare or _is_undescribed(case) or _says(case, _OF_THE_API)):
        return Reason.GONE
    if status < 400 or status >= _SERVER_FAULT:
        return None
    return _by_headers(case.exchange, results)


def _by_headers(exchange: Exchange, results: Sequence[RuleResult]) -> Reason | None:
    """Return the reason that `Deprecation` (RFC 9745) or `Sunset` (RFC 8594) give; a repair goes before it."""
    sunset = exchange.headers.get("sunset", "")
    if sunset and (end := unix(sunset)) is not None and end <= exchange.started:
        return Reason.GONE
    return Reason.DEPRECATED if not results and (sunset or "deprecation" in exchange.headers) else None


def _is_undescribed(case: RefusalCase) -> bool:
    """Whether the description that was given to the proxy lacks the operation."""
    description = case.profile.description
    return description is not None and description.operations.find(case.request.method, case.request.path) is None


def _says(case: RefusalCase, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(text[:_READ].strip()) is not None for text in _texts(case))


def _texts(case: RefusalCase) -> list[str]:
    return [error.message for error in case.errors] + ([case.text] if isinstance(case.text, str) else [])
