"""Whether the request may be what is wrong, what a text leaves unsaid about that, and where to ask when nothing tells.

Many servers answer mistakes of callers with 500 or 412. Such an answer is read as if its status were 400, and one
that only says that the caller is too fast as 429. What a server says of itself (a crash, a time-out, another machine)
is none of the request's. 412 is about a condition in the headers of the request (RFC 9110, section 13): where none was
sent, nor the text is about a version, it says that an argument is wrong.

| status         | says nothing                                            | says that the path leads nowhere         |
|----------------|---------------------------------------------------------|------------------------------------------|
| 404, 410       | `Not found`, `Page not found`, `not_found`, `404`       | `Endpoint not found`, `Cannot GET /x`    |
| any other      | `Bad Request`, `Validation failed`, `HTTP error 422`    | `No matching route for "PUT /x"`         |

Knows: statuses, codes, what texts say, ranked places. Does not know: rules, how a place is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.formats.statement import is_fault
from corrigible.adapters.reader.evidence import tells_of_nothing
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import letters
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import LikelyPlace, Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Exchange, Protocol, Request

from .api_profile import RefusalCase

ABOUT_THE_REQUEST: Final = frozenset({400, 404, 405, 410, 415, 422, 501})
"""Statuses (RFC 9110, RFC 4918) that may mean that the request is not what the description says."""
STATED_ALONE: Final = frozenset({409, 500})
"""Statuses under which the text has to state what a value at its place has to be."""
_LIMITS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum"})
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
    if status == 401:
        return is_login(request)
    is_told = error.type == "INVALID_ARGUMENT" and status == 500  # the text says so, not the code
    if request.protocol is Protocol.GRPC and (error.type in CHOSE_NONE or is_told) and error.message:
        return True
    if status == 409:  # what is left, which no person decided and is no version of what is there
        is_limit = _LIMITS.issuperset(error.stated) and not read(error.message).of(Kind.RIGHT, Kind.STALE)
        return bool(error.pointer and error.stated and is_limit)
    if error.type in BY_THE_TEXT_ONLY or status == 500:
        is_stated = bool(error.pointer and (error.stated or error.constraint in ("required", *OF_UNKNOWN)))
        return is_stated or (request.protocol is Protocol.HTTP and is_unexplained(error, status))
    return status in ABOUT_THE_REQUEST or status == 406


def is_login(request: Request) -> bool:
    """Whether a request asks for credentials with those of its body: it can be refused for a member that it lacks."""
    called = words(request.path.rstrip("/").rpartition("/")[2])
    return request.method == "POST" and isinstance(request.body, Mapping) and not _LOGIN.isdisjoint(called)


def told_fault(exchange: Exchange, errors: Sequence[Violation]) -> Exchange | None:
    """Return the exchange with the status that its text is about; None where that is the one it has, or unclear."""
    if exchange.request.protocol is not Protocol.HTTP or not errors:
        return None
    if exchange.status in _MAY_BE_ABOUT_PACE:
        return replace(exchange, status=429) if _is_too_fast(errors) else None
    if exchange.status == 412:
        return None if _is_conditional(exchange, errors) else replace(exchange, status=400)
    if exchange.status != 500 or any(is_fault(one.message) for one in errors):
        return None
    # What is looked for under no name was not sent.
    texts = [one.message[:_READ].strip() for one in errors if not tells_of_nothing(one.message, exchange.request)]
    is_told = all(_is_of_the_request(one.removesuffix(_ANY_TEXT), exchange.request) for one in texts)
    return replace(exchange, status=400) if is_told else None


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


# What a text leaves unsaid

_ABSENT: Final = frozenset({404, 410})
_OF_ANY_STATUS: Final = word_set(
    "http error errors status code the this that a an is was be it i we you your or of request requested resource"
)
"""Words that texts of statuses are made of."""
_OF_ABSENCE: Final = _OF_ANY_STATUS | word_set("could not found notfound gone nothing here page url on server")
_OF_REFUSAL: Final = _OF_ANY_STATUS | word_set(
    "bad invalid wrong unprocessable entity content input data file format payload query params headers path body"
    " validation failed supplied provided given do don t couldn could can cannot not understand understood browser"
    " proxy sent server badrequest"
)
_OF_A_FAULT: Final = _OF_ANY_STATUS | word_set(
    "internal server unexpected unknown unhandled exception failure failed occurred something went wrong there has"
    " sorry oops please try again later while processing handling"
)
_OF_ANYTHING: Final = frozenset({"bad", "invalid", "wrong", "failed"})
"""Words that alone are said of a value as well."""
_OF_CONFLICT: Final = _OF_ANY_STATUS | {"conflict"}
_STATUS_DIGITS: Final = 3
_ABOUT_A_MEMBER: Final = (Kind.MISSING, Kind.UNKNOWN, Kind.VALUE, Kind.MALFORMED, Kind.MEDIA_TYPE, Kind.APART)
_NOT_TAKEN: Final = ("not allowed", "not permitted", "not expected")
_OF_LACK: Final = word_set("missing required require empty blank specified provided given supplied")
_FEW_WORDS: Final = 3
_MOST_OF_LITTLE: Final = 5


def says_nothing(message: str, status: int) -> bool:
    """Whether a message says no more than that a request was refused with this status."""
    return _is_made_of(message, _OF_ABSENCE if status in _ABSENT else _OF_REFUSAL)


def is_unexplained(error: Violation, status: int) -> bool:
    """Whether a fault has no reason: a request that breaks its description may be the reason."""
    return status == 500 and not error.pointer and not error.stated and _is_made_of(error.message, _OF_A_FAULT)


def says_no_conflict(message: str) -> bool:
    """Whether the message of a 409 does not say what is in conflict: `Conflict`, `HTTP error 409`."""
    return _is_made_of(message, _OF_CONFLICT)


def _is_made_of(message: str, known: frozenset[str]) -> bool:
    """Whether the first sentence of a message has no word but some, and the number of a status."""
    told = words(message[:_READ].partition(". ")[0])
    if told and _OF_ANYTHING.issuperset(told):
        return False
    return all(one in known or (one.isdecimal() and len(one) == _STATUS_DIGITS) for one in told)


def says_no_route(message: str) -> bool:
    """Whether a message says by itself, under whatever status, that the server has no route for the request."""
    return bool(read(message[:_READ]).of(Kind.ROUTE))


def says_no_path(message: str) -> bool:
    """Whether all that the message of a 404 says is that nothing is there: what is not there may be the path."""
    return says_no_route(message) or says_nothing(message, 404)


def says_little(message: str) -> bool:
    """Whether a message is a few words without names and values."""
    return len(message.split()) <= _MOST_OF_LITTLE and not any(mark in message for mark in "'\"`0123456789:")


def may_be_about_names(message: str) -> bool:
    """Whether a message that names no place may mean that a name is unknown: it says next to nothing, or so."""
    is_short = len(message.split()) < _FEW_WORDS or says_nothing(message, 400)
    return is_short or bool(read(message).of(*_ABOUT_A_MEMBER))


def misses_something(message: str) -> bool:
    """Whether a message has a word for what was not sent: it may have been sent under another name."""
    return not _OF_LACK.isdisjoint(words(message[:_READ]))


def refuses_a_member(message: str) -> bool:
    """Whether a message complains of a member, whatever its value is."""
    return message.rstrip(" .!").endswith(_NOT_TAKEN) or bool(read(message).of(Kind.UNKNOWN, Kind.APART))


def plain_words(message: str) -> str:
    """Return a message with its words apart, names in any spelling alike."""
    marks = str.maketrans(dict.fromkeys("'\"`()[]{}<>,;:!?=|/\\.", " "))
    return " " + " ".join(letters(word) for word in message.translate(marks).split()) + " "


# Where to ask

SURE: Final = 0.5
"""The least probability of what is asked, of all places together."""
BESIDE: Final = 0.2
"""The least probability of a second place that is asked as well."""
_SAYS_NOTHING: Final = frozenset({401, 402, 407, 408, 423, 425, 429, 431, 451, 503, 507, 508, 511})
"""Statuses for which no value of the request is to blame."""
_NOT_FOUND: Final = (404, 410)
_OF_THE_PATH: Final = frozenset({400, 404, 405, 409, 410, 422})
"""Statuses that can be about a path of which the text says nothing."""
_OF_VALUES: Final = frozenset({400, 412, 422})
"""Statuses that are about what was sent, whatever the server has."""
_OF_THE_BODY: Final = frozenset({400, 406, 415, 422})
"""Statuses that can be about a whole body of which the text says nothing."""


def may_be_asked(case: RefusalCase, error: Violation) -> bool:
    """Whether a refusal may be about a value of the request. Of a fault of the server its text has to say so."""
    status = case.exchange.status
    if status in _SAYS_NOTHING or not error.likely:
        return False
    first = error.likely[0]
    if first.pointer == "/path" and any(one.slots.get("field") for one in read(error.message).of(Kind.MISSING)):
        return False  # a member is missing
    if read(error.message).of(Kind.RIGHT) and not read(error.message).of(Kind.UNKNOWN, Kind.MALFORMED):
        return False
    if first.is_told:
        return True
    if status == 409 and all(one.row.endswith(".conflict") for one in read(error.message).said):
        return False
    if first.pointer == "/path" and (status not in _OF_THE_PATH or _is_opaque(error, status)):
        return False
    if first.pointer == "/body" and status not in _OF_THE_BODY:
        return False
    return status < 500


def is_told_alone(error: Violation, status: int) -> bool:
    """Whether a text tells of a value that was sent, and of nothing that is missing, unknown or of a state."""
    first = error.likely[0] if error.likely else None
    is_of_names = error.constraint in ("required", *OF_UNKNOWN) or bool(
        read(error.message).of(Kind.MISSING, Kind.UNKNOWN, Kind.TOGETHER, Kind.APART)
    )
    return first is not None and first.is_told and not first.is_absent and not is_of_names and status in _OF_VALUES


def _is_opaque(error: Violation, status: int) -> bool:
    """Whether a refusal says no more than its status, which may be about whatever was sent."""
    return status in (400, 422) and says_nothing(error.message, status)


def likely_value(error: Violation) -> str:
    """Return the place of the value that an error is most likely about; empty where none is likely enough."""
    best = error.likely[0] if error.likely else None
    is_sure = best is not None and best.probability >= SURE and not best.is_absent
    return best.pointer if best is not None and is_sure and best.pointer.startswith(("/body/", "/query/")) else ""


def asked_places(error: Violation) -> Sequence[LikelyPlace]:
    """Return the places to ask at: the likeliest one, with the next one where the first is not sure."""
    first, *rest = error.likely
    if first.probability >= SURE:
        return [first]
    second = [one for one in rest[:1] if one.probability >= BESIDE and one.pointer != first.pointer]
    is_enough = first.probability + sum(one.probability for one in second) >= SURE
    return (
        [first, *second] if is_enough and {first.pointer, *(one.pointer for one in second)}.isdisjoint(_WHOLE) else []
    )


_WHOLE: Final = frozenset({"/method", "/path"})


def violation_at(case: RefusalCase, place: LikelyPlace) -> SchemaViolation:
    """Return what to ask for at a place."""
    request = case.request
    if place.pointer == "/method":
        found = case.description.nearest_operation(request)
        if found is not None:
            return found
    if place.pointer == "/path":
        keyword = "reference" if case.exchange.status in _NOT_FOUND else "value"
        return SchemaViolation("/path", keyword, {"type": "string", "not": {"const": place.value}}, place.value)
    schema, siblings, parent, *_ = case.declared_place(place.pointer)
    if place.is_absent:
        return SchemaViolation(place.pointer, "required", schema, siblings=siblings, parent_schema=parent)
    if not isinstance(place.value, Mapping | list):
        schema = {**schema, "not": {"const": place.value}}
    return SchemaViolation(place.pointer, "value", schema, place.value)
