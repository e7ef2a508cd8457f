"""Whether the request may be what is wrong: by the status or code of its refusal, or by the text under another status.

Many servers answer mistakes of callers with 500 or 412. Such an answer is read as if its status were 400, and one
that only says that the caller is too fast as 429. What a server says of itself (a crash, a time-out, another machine)
is none of the request's. 412 is about a condition in the headers of the request (RFC 9110, section 13): where none was
sent, nor the text is about a version, it says that an argument is wrong.

Knows: statuses, codes, what texts say. Does not know: descriptions, rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.formats.statement import is_fault
from corrigible.adapters.reader.evidence import tells_of_nothing
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Exchange, Protocol, Request

ABOUT_THE_REQUEST: Final = frozenset({400, 404, 405, 410, 415, 422, 501})
"""Statuses (RFC 9110, RFC 4918) that may mean that the request is not what the description says."""
BAD_REQUEST: Final = 400
METHOD_NOT_ALLOWED: Final = 405
NOT_ACCEPTABLE: Final = 406
SERVER_FAULT: Final = 500
"""Says nothing of the request, unless its text states what the value at one of its places has to be."""
UNAUTHORIZED: Final = 401
_PRECONDITION_FAILED: Final = 412
_TOO_MANY_REQUESTS: Final = 429
_MAY_BE_ABOUT_PACE: Final = frozenset({400, 422})
"""Statuses that some servers give to who is too fast: of others there are rules, or they say something else."""
OF_UNKNOWN: Final = ("additionalProperties", "unevaluatedProperties")
"""Keywords of members that are not declared."""
BY_THE_TEXT_ONLY: Final = frozenset({"UNKNOWN", "INTERNAL", "FAILED_PRECONDITION"})
"""Codes of google.rpc that say nothing of the request: only a text that states a limit of one of its places does."""
CHOSE_NONE: Final = frozenset({"UNKNOWN", "INTERNAL"})
"""Codes of a service that chose none."""
_LOGIN: Final = frozenset(
    {"login", "logon", "signin", "authenticate", "authentication", "token", "session", "sessions"}
)
_TOO_FAST: Final = ".too-fast"
"""The row that says so of the caller: too many of something in one request do not end with time."""
_OF_THE_REQUEST: Final = (
    *(Kind.MISSING, Kind.UNKNOWN, Kind.VALUE, Kind.MALFORMED, Kind.ABSENT, Kind.EXISTS, Kind.TOGETHER, Kind.APART),
    Kind.IN_USE,
)
_OF_THE_SERVER: Final = word_set(
    "exception exceptions traceback null nil none undefined internal panic panicked timeout timed deadline connect"
    " connection connected refused unreachable remote socket tls certificate handshake device process database sql"
    " syscall stack memory space disk pipe unhandled crash crashed deadlock lock locked errno"
)
"""Words of faults that no request is to blame for, or is not known to be."""
_UNFORESEEN: Final = "unexpected error"
_ANY_TEXT: Final = ": invalid argument"
"""How systems and libraries end any of their texts: it says nothing of what was sent."""
_READ: Final = 1000
"""Letters of a message that are looked at."""
_CONDITIONS: Final = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"})
_OF_A_VERSION: Final = word_set(
    "precondition preconditions condition conditions version versions revision revisions generation etag etags stale"
    " outdated concurrent concurrently conflict"
)
"""What the text of a condition that failed is about: some servers take the condition from the body or the query."""


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


def told_fault(exchange: Exchange, errors: Sequence[Violation]) -> Exchange | None:
    """Return the exchange with the status that its text is about; None where that is the one it has, or unclear."""
    if exchange.request.protocol is not Protocol.HTTP or not errors:
        return None
    if exchange.status in _MAY_BE_ABOUT_PACE:
        return replace(exchange, status=_TOO_MANY_REQUESTS) if _is_too_fast(errors) else None
    if exchange.status == _PRECONDITION_FAILED:
        return None if _is_conditional(exchange, errors) else replace(exchange, status=BAD_REQUEST)
    if exchange.status != SERVER_FAULT or any(is_fault(one.message) for one in errors):
        return None
    # What is looked for under no name was not sent.
    texts = [one.message[:_READ].strip() for one in errors if not tells_of_nothing(one.message, exchange.request)]
    is_told = all(_is_of_the_request(one.removesuffix(_ANY_TEXT), exchange.request) for one in texts)
    return replace(exchange, status=BAD_REQUEST) if is_told else None


def _is_too_fast(errors: Sequence[Violation]) -> bool:
    """Whether all that is told of the request is that it came too soon; an error with a place is about a value."""
    return all(
        not one.pointer and any(said.row.endswith(_TOO_FAST) for said in read(one.message).of(Kind.PACE))
        for one in errors
    )


def _is_conditional(exchange: Exchange, errors: Sequence[Violation]) -> bool:
    """Whether a 412 may be about a condition: one was sent, or a text is about a version, or there is no text."""
    if not _CONDITIONS.isdisjoint(name.lower() for name in exchange.request.headers):
        return True
    texts = [one.message[:_READ] for one in errors]
    return not any(texts) or any(read(one).of(Kind.STALE) or not _OF_A_VERSION.isdisjoint(words(one)) for one in texts)


def _is_of_the_request(text: str, request: Request) -> bool:
    """Whether a text is about what was sent, and has no word for what is the server's.

    What is not there may be the server's own where a text repeats nothing that was sent.
    """
    reading = read(text)
    told = {one.kind for one in reading.of(*_OF_THE_REQUEST)}
    # Names of types and members, and what was sent, may have any word of a server.
    plain = " ".join(one for one in text.split() if one[0] not in "'\"" and "." not in one.strip(".,:;"))
    is_unforeseen = _UNFORESEEN in text.casefold() or "://" in text
    if not told or is_unforeseen or not _OF_THE_SERVER.isdisjoint(words(plain)):
        return False
    sent = (one.value for one in sent_places(request) if isinstance(one.value, str) and one.value)
    return told != {Kind.ABSENT} or any(one in text for one in sent)
