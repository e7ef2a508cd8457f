"""Whether a message says no more than the status of its answer, or that the path leads nowhere.

| status         | says nothing                                            | says that the path leads nowhere         |
|----------------|---------------------------------------------------------|------------------------------------------|
| 404, 410       | `Not found`, `Page not found`, `not_found`, `404`       | `Endpoint not found`, `Cannot GET /x`    |
| any other      | `Bad Request`, `Validation failed`, `HTTP error 422`    | `No matching route for "PUT /x"`         |

Knows: statuses, what texts say. Does not know: requests, what follows.
"""

from __future__ import annotations

from typing import Final

from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import letters
from corrigible.rules.wordings import Kind, read

_READ: Final = 1000
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
