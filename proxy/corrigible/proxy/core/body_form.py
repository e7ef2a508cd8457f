"""What a refusal says of the form of the body, or of the answer that was asked for: then no member is at fault.

| the refusal is about                | what follows                                               |
|-------------------------------------|------------------------------------------------------------|
| the media type of the answer (406)  | one that the operation is described to produce             |
| a body that was not read            | the form that the operation takes, or the body as it reads |

Knows: errors, statuses, what an answer says that it takes, what an operation produces. Does not know: suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.bodies.request_form import (
    body_form_violation,
    is_json_as_form,
    is_xml,
)
from corrigible.adapters.reader.evidence import tells_of_nothing
from corrigible.rules.lookup_headers import accepts
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.safety.decisive import READS
from corrigible.rules.safety.spelling import typed
from corrigible.rules.schema_repair.body import ACCEPT, BOUNDARY, CODING, JSON, MALFORMED, MALFORMED_XML, TEXT, is_json
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind
from corrigible.rules.wordings import read as wordings
from corrigible.schema.exchange import Protocol, Request

from .api_profile import RefusalCase
from .request_at_fault import says_nothing

_STATUSES: Final = frozenset({400, 415, 422})
_UNREAD: Final = (Kind.MALFORMED, Kind.MEDIA_TYPE)
"""What is said of a body that was not read."""
_READ: Final = 2000
_LISTED: Final = re.compile(r"[a-z]+/(?:\*|[a-z0-9.+-]{1,80})")


def violation_of_form(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return what is wrong with the form of the body, unless the answer is about something else."""
    request, status = case.request, case.exchange.status
    # Some servers say 406 of the body that was sent, though it is about the answer (RFC 9110 section 15.5.7).
    is_of_body = status in _STATUSES or (status == 406 and _is_produced(case))
    if not is_of_body or request.protocol is not Protocol.HTTP:
        return None
    if error.likely and not error.likely[0].is_told:
        error = error._replace(pointer="")  # of a body that was not read no member is meant
    if error.pointer.startswith(("/query", "/path", "/method")):
        return None
    operation = case.match.operation
    documented = case.description.body_schemas(operation) if operation else {}
    listed = _accepted(case.exchange.headers, request.method) if status == 415 else ()
    if not documented and not listed and status == 415 and _is_json_text(request):
        documented = {JSON: {}}
    accepted = listed if documented else ()
    is_refused = status in (415, 406)
    violation = body_form_violation(request, documented, accepted, is_refused=is_refused)
    if violation is None:
        return None
    if (
        violation.keyword in (MALFORMED, MALFORMED_XML, TEXT, CODING, BOUNDARY)
        or is_refused
        or (is_json_as_form(request) and (not error.pointer or "{" in error.message[:_READ]))
        or _is_unread(case, error)
    ):
        return violation
    return None


def _is_json_text(request: Request) -> bool:
    """Whether the body is an object or a list as JSON, under a media type that is none of JSON."""
    is_read = isinstance(request.body, dict | list) and not request.form and not request.files
    return is_read and _media(request) != "" and not is_json(_media(request))


def _is_unread(case: RefusalCase, error: Violation) -> bool:
    """Whether an error says that the body was not read: it misses a member that is there, or is about all of it."""
    if tells_of_nothing(error.message, case.request):
        return True  # it looks for what was sent under no name
    media = _media(case.request)
    if is_json(media) and not isinstance(case.request.body, str):
        # Most servers read any JSON, whatever it is called: one that does not says so, or misses what is there.
        if error.constraint == "required" and error.pointer.startswith("/body/"):
            return value_at(case.request, error.pointer) not in (MISSING, None, "", [], {})
        return bool(wordings(error.message).of(*_UNREAD)) and not error.pointer
    if error.pointer.startswith(("/body/", "/headers/")) and error.pointer != "/headers/content-type":
        sent, kind = value_at(case.request, error.pointer), error.stated.get("type")
        if case.request.form and isinstance(sent, str) and isinstance(kind, str) and typed(sent, kind) != sent:
            return True  # the value has the type that is missed, as far as a form has types
        body, name = case.request.body, segments(error.pointer)[-1]
        is_in_text = isinstance(body, str) and f'"{name}"' in body[:_READ]
        return error.constraint == "required" and (sent is not MISSING or is_in_text)
    if error.pointer:
        return True
    reading = wordings(error.message)
    if reading.of(*_UNREAD):
        return True
    # What is said to be missing, of something that was sent, was not read.
    is_of_nothing = says_nothing(error.message, case.exchange.status) or bool(reading.of(Kind.MISSING))
    return bool(media) and not is_xml(media) and is_of_nothing


def _accepted(headers: Mapping[str, str], method: str) -> tuple[str, ...]:
    """Return the media types that an answer lists as those that it takes (RFC 5789, RFC 9110 section 15.5.16)."""
    listed = headers.get("accept-patch" if method == "PATCH" else "accept-post") or headers.get("accept", "")
    types = [one.partition(";")[0].strip() for one in listed.lower().split(",", _MOST_LISTED)[:_MOST_LISTED]]
    return tuple(dict.fromkeys(one for one in types if _LISTED.fullmatch(one)))


_MOST_LISTED: Final = 32


def violation_of_accept(case: RefusalCase) -> SchemaViolation | None:
    """Return what is wrong with the `Accept` of a request; None where the description does not tell."""
    request = case.request
    accept = request.headers.get("accept", "")
    # Where no body was sent, the only media type that can be refused is that of the answer.
    is_of_answer = case.exchange.status == 406 or (
        case.exchange.status == 415 and request.body is None and request.method in READS
    )
    if not is_of_answer or request.protocol is not Protocol.HTTP or not accept:
        return None
    produced = [media for media in _produced(case) if _LISTED.fullmatch(media)]
    if not produced or any(accepts(accept, media) for media in produced):
        return None  # the server contradicts its description, which is of no help then
    return SchemaViolation(ACCEPT, "enum", {"enum": produced}, accept)


def _is_produced(case: RefusalCase) -> bool:
    """Whether a request accepts what its operation is described to produce."""
    accept = case.request.headers.get("accept", "*/*")
    return any(accepts(accept, media) for media in _produced(case))


def _produced(case: RefusalCase) -> Sequence[str]:
    operation = case.match.operation
    return case.description.produced(operation) if operation else ()


def _media(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
