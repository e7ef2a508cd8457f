"""What an error is about where nothing tells its place: a name in the path, or the only value that was sent.

Knows: errors, requests, what is declared at a place. Does not know: rules, suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import orjson

from corrigible.adapters.base import Described
from corrigible.adapters.formats.message.complaint import speaks_of_state
from corrigible.adapters.formats.message.sent_values import says_absent
from corrigible.adapters.formats.place_by_label import has_label
from corrigible.adapters.formats.place_by_message import suspected_place
from corrigible.adapters.formats.place_in_patch import is_patch
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.pointer import MISSING, escape, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.nearness import letters
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.route import has_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.schema_repair.told_spelling import told_spelling
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Protocol, Request

from .about_what import REFUSES_VALUE, TAKES_NOT
from .absent_of_several import absent_of_several
from .absent_thing import absent_thing
from .api_profile import RefusalCase
from .digest_refused import digest_refused
from .hinted_value import hinted_value
from .nothing_said import says_no_path, says_nothing
from .nothing_sent import nothing_sent
from .refused_parameter import refused_parameter

_READ: Final = 2000
"""Letters of a message that are looked at."""
_ELSEWHERE: Final = ("/body", "/query", "/headers")
_ABOUT_VALUES: Final = frozenset({400, 422})
_ABOUT_OTHERS: Final = re.compile(
    r"(?i)missing(?! (?:closing|terminating|matching|ending|opening|argument to) )|required?\b"
    r"|must (?:be (?:given|set|provided)|have|provide)|without|credential|token|auth|header"
    r"|log ?in|permi|denied|forbidden|allowed to"
)
"""Words of complaints about something else than the value that was sent."""
_IS_NONE: Final = re.compile(r"(?i)['\"`] is not (?:an? )?\w")
"""Words behind a quoted value that is not of the sort that it has to be."""
_CONFLICT: Final = 409
_UNPROCESSABLE: Final = 422
_MAY_REFUSE_A_NAME: Final = frozenset({400, 405, 422})
_SERVER_FAULT: Final = 500
_SHORTEST_VALUE: Final = 3


def by_elimination(case: RefusalCase, error: Violation, description: Described) -> SchemaViolation | None:
    """Return what is left for an error to be about, None where that is nothing or too much."""
    if (parameter := refused_parameter(case, error)) is not None:
        return parameter
    return (
        _path_of_patch(case, error)
        or _absent_by_conflict(case, error)
        or digest_refused(case, error)
        or _missing_name(case, error)
        or _refused_name(case, error)
        or absent_of_several(case, error)
        or _absent(case, error)
        or _only_parameter(case, error, description)
        or _faulty_value(case, error)
        or _text_body(case, error)
        or nothing_sent(case, error, description)
        or _only_member(case, error, description)
        or _undescribed_body(case, error, description)
        or hinted_value(case, error)
    )


def _path_of_patch(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the path in a JSON patch under which there is nothing, where the patch is in conflict with what there is.

    RFC 5789 (section 2.2) has 409 for a patch that cannot be applied to the resource as it is.
    """
    place, value = error.pointer, value_at(case.request, error.pointer)
    if case.exchange.status != _CONFLICT or not place.endswith(("/path", "/from")) or not is_patch(case.request):
        return None
    if error.constraint or error.stated or not isinstance(value, str):
        return None
    return SchemaViolation(place, "value", {"type": "string", "not": {"const": value}}, value)


def _absent_by_conflict(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the only value that a conflict says is not there: some servers refuse what is not found by 409.

    What the path names, and the text repeats, may be what is not there, or what lacks it.
    """
    message, request = error.message[:_READ], case.request
    is_told = case.exchange.status == _CONFLICT and len(case.errors) == 1 and says_absent(message)
    if not is_told or error.pointer or not case.match.operation or request.protocol is not Protocol.HTTP:
        return None
    if any(_has_word(message, value) for value in case.match.params.values() if value):
        return None
    place = _only_repeated(message, request, _SHORTEST_VALUE)
    value = value_at(request, place)
    if not place or is_secret(place, value):
        return None
    return SchemaViolation(place, "value", {"type": "string", "not": {"const": value}}, value)


def _undescribed_body(case: RefusalCase, error: Violation, description: Described) -> SchemaViolation | None:
    """Return the body of which neither the description nor the answer says anything, where nothing else was sent."""
    request, operation = case.request, case.match.operation
    if error.pointer or len(case.errors) > 1 or not operation or request.query or request.files:
        return None
    if case.exchange.status not in _ABOUT_VALUES or not says_nothing(error.message, case.exchange.status):
        return None
    is_described = any(place[:1] == ("body",) for place in description.vocabulary(operation).places)
    if not isinstance(request.body, Mapping) or not request.body or is_described:
        return None
    return SchemaViolation("/body", "value", {"type": "object"}, request.body)


def _absent(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return what is not there. Of a name in the path that is asked after look-ups, but for faults of the server."""
    absent = absent_thing(case, error)
    return None if absent is not None and absent.pointer == "/path" and case.exchange.status < _SERVER_FAULT else absent


def _missing_name(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the name in the path that a 404 quotes, else the last one: there is nothing under it."""
    if case.exchange.status != 404 or error.pointer.startswith(_ELSEWHERE) or not case.match.operation:
        return None
    message = error.message
    params = [value for value in case.match.params.values() if value and "/" not in value]
    quoted = [value for value in params if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", message[:_READ])]
    for value in reversed(quoted or params):
        if has_segment(case.request.path, value):
            return SchemaViolation("/path", "reference", {"type": "string", "not": {"const": value}}, value)
    return None


def _refused_name(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the value in the path that a message refuses: it repeats that alone, or the name of the variable."""
    message, status = error.message[:_READ], case.exchange.status
    if error.pointer not in ("", "/path") or status not in _MAY_REFUSE_A_NAME or not case.match.operation:
        return None
    is_told = REFUSES_VALUE.search(message) is not None or (status != 405 and _IS_NONE.search(message) is not None)
    if not is_told or (status != 405 and speaks_of_state(message)):
        return None
    path = case.request.path
    params = {name: value for name, value in case.match.params.items() if has_segment(path, value)}
    told = [value for value in params.values() if len(value) >= _SHORTEST_VALUE and _has_word(message, value)]
    told = told or [value for name, value in params.items() if _is_variable_named(name, message, case.request)]
    if not told and error.pointer == "/path":
        told = list(params.values())  # a sentence calls it by another name
    if len(told) != 1:
        return None
    return SchemaViolation("/path", "value", {"type": "string", "not": {"const": told[0]}}, told[0])


def _is_variable_named(variable: str, message: str, request: Request) -> bool:
    """Whether a message has the name of a variable, which is no member's: `rule_ids`, `Rule ID`, `tag parameter`."""
    parts = words(variable)
    if len(parts) == 1:
        return re.search(rf"(?i)(?<!\w){re.escape(variable)}['\"`]? (?:path |url )?parameter\b", message) is not None
    if not parts:
        return False
    sent = [one for one in (request.query, request.body) if isinstance(one, Mapping)]
    members = {letters(str(name)) for one in sent for name in one}
    pattern = r"[\s_-]?".join(map(re.escape, parts))
    return letters(variable) not in members and re.search(rf"(?i)(?<!\w){pattern}s?(?!\w)", message) is not None


def _only_parameter(case: RefusalCase, error: Violation, description: Described) -> SchemaViolation | None:
    """Return the value that an error without a place is about: the only thing that was sent."""
    request = case.request
    if error.pointer or not case.match.operation:
        return None
    if case.match.params and _OF_THE_QUERY.search(error.message[:_READ]) is None:
        return None
    is_unfound = case.exchange.status == 404 and says_no_path(error.message)
    if case.exchange.status not in _ABOUT_VALUES and not (is_unfound and request.body is None):
        return None
    if _ABOUT_OTHERS.search(error.message[:_READ]) is not None:
        return None
    if request.body is not None:
        pointer, value = _only_value("/body", request.body)
        is_alone = len(case.errors) == 1 and not request.query and pointer != "/body"
        if not is_alone or not isinstance(value, str) or not _is_repeated(value, case):
            return None
        return SchemaViolation(pointer, "value", {"type": "string", "not": {"const": value}}, value)
    if len(query := _query_read(case, description) or request.query) != 1:
        return None
    ((name, value),) = query.items()
    if not value:
        return None
    place, stated = f"/query/{escape(name)}", error.stated
    if is_unfound and not description.declared_place(request, case.match.operation, place).schema:
        return None  # a parameter that the description does not have is seldom read
    is_named = re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", error.message[:_READ]) is not None
    broken = first_violation(value, stated, text=True) if is_named else None
    if broken is not None and not isinstance(value, list):
        return SchemaViolation(place, broken, dict(stated), value)
    declared = description.declared_place(request, case.match.operation, place).schema
    otherwise = told_spelling(error._replace(pointer=place), request, declared)
    return otherwise or SchemaViolation(place, "value", {"type": "string", "not": {"const": value}}, value)


_OF_THE_QUERY: Final = re.compile(r"(?i)\b(?:query|filter|search)(?: (?:string|condition|expression|parameter))?\b")


def _query_read(case: RefusalCase, description: Described) -> Mapping[str, Json]:
    """Return the parameters of the query that the description has, or whose name a message has a word of.

    Others are seldom about what is refused: a signature, a key of the caller.
    """
    request, operation = case.request, case.match.operation
    told = {word.lower() for one in case.errors for word in _LONG_WORD.findall(one.message[:_READ])}
    return {
        name: value
        for name, value in request.query.items()
        if not told.isdisjoint(words(name))
        or description.declared_place(request, operation, f"/query/{escape(name)}").schema
    }


def _text_body(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the body that is text and not JSON, of which an error about values quotes a part."""
    body = case.request.body
    if error.pointer != "/body" or not isinstance(body, str) or case.exchange.status not in _ABOUT_VALUES:
        return None
    is_other = not case.match.operation or _ABOUT_OTHERS.search(error.message[:_READ]) is not None
    return None if is_other else SchemaViolation("/body", "value", {"type": "string"}, body)


def _faulty_value(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the value that the text of a fault of the server refuses: it is named, and nothing else is to blame."""
    message, request = error.message[:_READ], case.request
    if case.exchange.status != _SERVER_FAULT or len(case.errors) > 1 or not case.match.operation:
        return None
    if _NOT_TAKEN_BY_FAULT.search(message) is None or _OF_THE_SERVER.search(message) is not None:
        return None
    place = error.pointer or _only_repeated(message, request, _DISTINCT) or suspected_place(message, request)
    if not place.startswith(("/body/", "/query/")):
        return None
    value = value_at(request, place)
    if value is MISSING or not isinstance(value, str | int | float) or is_secret(place, value):
        return None
    return SchemaViolation(place, "value", {"not": {"const": value}}, value)


def _only_repeated(message: str, request: Request, shortest: int) -> str:
    """Return the only place whose value, of so many signs at least, a message has as a word."""
    values = {one.pointer: one.value for one in sent_places(request) if isinstance(one.value, str)}
    told = [place for place, value in values.items() if len(value) >= shortest and _has_word(message, value)]
    return told[0] if len(told) == 1 else ""


_DISTINCT: Final = 6
"""Letters of a value that no message has by chance."""
_NOT_TAKEN_BY_FAULT: Final = re.compile(
    r"(?i)\b(?:unsupported|invalid|unknown|unrecogni[sz]ed|illegal|malformed|bad"
    r"|not (?:supported|valid|allowed|recogni[sz]ed|an? [a-z]+))\b"
)
_OF_THE_SERVER: Final = re.compile(
    r"(?i)exception|traceback|\b(?:null|nil|none|undefined|internal|time[d -]?out|connect\w*|refused|remote"
    r"|database|sql|stack|panic|memory|disk|state|pointer|operation|argument|syscall)\b"
)
"""Words of faults that no value of a request is to blame for, or is not known to be."""


def _is_repeated(value: str, case: RefusalCase) -> bool:
    """Whether an answer has a value as a text or a name of its own, beside its message."""
    return len(value) >= _SHORTEST_VALUE and orjson.dumps(value) in case.exchange.body


def _only_value(pointer: str, value: Json) -> tuple[str, Json]:
    """Return the value inside objects of one member and lists of one element, with its place."""
    while isinstance(value, Mapping | list) and len(value) == 1:
        name, value = next(iter(value.items() if isinstance(value, Mapping) else enumerate(value)))
        pointer = f"{pointer}/{escape(str(name))}"
    return pointer, value


def _only_member(case: RefusalCase, error: Violation, description: Described) -> SchemaViolation | None:
    """Return the only value of the body, where a refusal of the content begins with a label that no member has.

    Also where the message has a word of its name.
    """
    request, operation, message = case.request, case.match.operation, error.message[:_READ]
    if (
        error.pointer
        or case.exchange.status not in _ABOUT_VALUES
        or not operation
        or _query_read(case, description)
        or len(case.errors) > 1
        or _ABOUT_OTHERS.search(message) is not None
    ):
        return None
    pointer, value, name = "/body", request.body, ""
    while isinstance(value, Mapping) and len(value) == 1:
        ((name, value),) = value.items()
        pointer = f"{pointer}/{escape(name)}"
    if pointer == "/body" or not isinstance(value, str | int | float) or value == "":
        return None
    if not (case.exchange.status == _UNPROCESSABLE and has_label(message)) and not _has_word_of(message, name):
        return None
    declared = description.declared_place(request, operation, pointer).schema
    return SchemaViolation(pointer, "value", declared, value) if declared else None


def _has_word_of(message: str, name: str) -> bool:
    """Whether a complaint about a value, and about no state, has a word of a name."""
    if REFUSES_VALUE.search(message) is None and TAKES_NOT.search(message) is None:
        return False
    told = {word.lower() for word in _LONG_WORD.findall(message)}
    return not speaks_of_state(message) and not told.isdisjoint(words(name))


_LONG_WORD: Final = re.compile(r"[A-Za-z]{4,40}")


def _has_word(message: str, value: str) -> bool:
    return re.search(rf"(?<![\w./@-]){re.escape(value)}(?![\w/@-]|\.\w)", message) is not None
