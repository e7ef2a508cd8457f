"""Whether a refusal may be about the form of the request's body: then nothing that stands in the body was read.

Knows: errors, statuses, what an answer says that it takes. Does not know: media types of operations, suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.adapters.base import Described
from corrigible.adapters.bodies.request_form import body_form_violation, is_json_as_form
from corrigible.adapters.formats.pointers import member_said
from corrigible.adapters.reader.evidence import tells_of_nothing
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.schema_repair.body import BOUNDARY, CODING, MALFORMED, MALFORMED_XML, TEXT, is_json
from corrigible.rules.schema_repair.json_schema import member, read
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind
from corrigible.schema.exchange import Json, Protocol

from .answer_form import is_produced
from .api_profile import RefusalCase
from .nothing_said import says_nothing
from .request_at_fault import OF_UNKNOWN

_STATUSES: Final = frozenset({400, 415, 422})
_UNSUPPORTED: Final = 415
_NOT_ACCEPTABLE: Final = 406
"""Some servers say so of the body that was sent, though it is about the answer (RFC 9110 section 15.5.7)."""
_ABOUT_THE_FORM: Final = re.compile(
    r"(?i)\b(?:content[- ]?type|media[- ]?type|mime|charset|content[- ]?encoding|json|payload|malformed|syntax"
    r"|(?:request|message|http) body|body (?:is|was|must|cannot|could|required)|form[- ]?data|multipart"
    r"|(?:empty|missing|invalid|no|unreadable) body|pars(?:e|ing)|decod(?:e|ing)|deserializ\w+"
    r"|unexpected (?:token|end|character)|looking for (?:the )?beginning of)\b"
)
_MISSES: Final = re.compile(
    r"(?i)\b(?:missing|required|not (?:been )?(?:specified|provided|given|supplied)|no values?)\b"
)
_READ: Final = 2000
_LISTED: Final = re.compile(r"[a-z]+/(?:\*|[a-z0-9.+-]{1,80})")


def violation_of_form(case: RefusalCase, error: Violation, description: Described | None) -> SchemaViolation | None:
    """Return what is wrong with the form of the body, unless the answer is about something else."""
    request, status = case.request, case.exchange.status
    is_of_body = status in _STATUSES or (status == _NOT_ACCEPTABLE and is_produced(case, description))
    if not is_of_body or request.protocol is not Protocol.HTTP or request.body is None:
        return None
    if error.likely and not error.likely[0].is_told:
        error = error._replace(pointer="")  # of a body that was not read no member is meant
    if error.pointer.startswith(("/query", "/path", "/method")):
        return None
    operation = case.match.operation
    documented = description.body_schemas(operation) if description is not None and operation else {}
    accepted = _accepted(case.exchange.headers, request.method) if status == _UNSUPPORTED and documented else ()
    is_refused = status in (_UNSUPPORTED, _NOT_ACCEPTABLE)
    violation = body_form_violation(request, documented, accepted, is_refused=is_refused)
    if violation is None:
        return None
    if (
        violation.keyword in (MALFORMED, MALFORMED_XML, TEXT, CODING, BOUNDARY)
        or is_refused
        or (is_json_as_form(request) and (not error.pointer or "{" in error.message[:_READ]))
        or _is_unread(case, error, violation)
    ):
        return violation
    return None


def _is_text_only(violation: SchemaViolation, pointer: str, sent: Json) -> bool:
    """Whether a value that a form has as text is of another type in the JSON that the operation takes."""
    name, schemas = segments(pointer)[1], violation.schema.get("properties") or {}
    schema = next((schema for media, schema in schemas.items() if is_json(media)), None)
    if schema is None or pointer.count("/") != 2:
        return False
    return not isinstance(read(sent, member([schema], name, schema), schema), str)


def _is_unread(case: RefusalCase, error: Violation, violation: SchemaViolation) -> bool:
    """Whether an error says that the body was not read: it misses a member that is there, or is about all of it."""
    if tells_of_nothing(error.message, case.request) or _is_of_letters(case, error):
        return True  # it looks for what was sent under no name
    media = case.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if is_json(media) and not isinstance(case.request.body, str):
        # Most servers read any JSON, whatever it is called: one that does not says so, or misses what is there.
        if error.constraint == "required" and error.pointer.startswith("/body/"):
            return value_at(case.request, error.pointer) not in (MISSING, None, "", [], {})
        return _ABOUT_THE_FORM.search(error.message[:_READ]) is not None and not error.pointer
    if error.pointer.startswith(("/body/", "/headers/")) and error.pointer != "/headers/content-type":
        sent = value_at(case.request, error.pointer)
        if sent is not MISSING and case.request.form and _is_text_only(violation, error.pointer, sent):
            return True
        body, name = case.request.body, segments(error.pointer)[-1]
        is_in_text = isinstance(body, str) and f'"{name}"' in body[:_READ]
        return error.constraint == "required" and (sent is not MISSING or is_in_text)
    if error.pointer:
        return True
    message = error.message[:_READ]
    if _ABOUT_THE_FORM.search(message) is not None:
        return True
    # What is said to be missing, of something that was sent, was not read.
    return bool(media) and (says_nothing(message, case.exchange.status) or _MISSES.search(message) is not None)


def _is_of_letters(case: RefusalCase, error: Violation) -> bool:
    """Whether an error is about a member `0` of an object that has none: the server took a text for the object."""
    body = case.request.body
    name = member_said(error.message, Kind.UNKNOWN) if error.constraint in OF_UNKNOWN and not error.pointer else ""
    return name.isdecimal() and (isinstance(body, str) or (isinstance(body, Mapping) and name not in body))


def _accepted(headers: Mapping[str, str], method: str) -> tuple[str, ...]:
    """Return the media types that an answer lists as those that it takes (RFC 5789, RFC 9110 section 15.5.16)."""
    listed = headers.get("accept-patch" if method == "PATCH" else "accept-post") or headers.get("accept", "")
    types = [one.partition(";")[0].strip() for one in listed.lower().split(",", _MOST_LISTED)[:_MOST_LISTED]]
    return tuple(dict.fromkeys(one for one in types if _LISTED.fullmatch(one)))


_MOST_LISTED: Final = 32
