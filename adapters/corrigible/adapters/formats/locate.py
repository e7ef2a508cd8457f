"""Where an error is: the place that the answer tells, found in the request and in what its operation declares.

Servers tell places by their last name only, under the name of a model (`User.Name`), of a wrapper (`data.name`) or of
an argument (`create.user.name`), in other spellings (`FirstName` for `first_name`), or only by quoting the value. A
place counts if it is the only one that fits; otherwise the error has none, and the whole request is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.absence import is_blank, misses, misses_something
from corrigible.adapters.formats.message.limits import choices_in
from corrigible.adapters.formats.message.member_names import find_subject
from corrigible.adapters.formats.message.names_told import names_in_message
from corrigible.adapters.formats.message.own_action import reason_of_call
from corrigible.adapters.formats.message.sent_values import (
    SentValue,
    is_label,
    is_only_around,
    places_alike,
    places_around,
    reference_in_message,
    says_absent,
    says_unread,
    value_mentioned,
    values_told,
)
from corrigible.adapters.formats.message.told_code import is_fault, told_code, without_codes
from corrigible.adapters.formats.message.value_kinds import only_number
from corrigible.adapters.vocabulary import NOTHING, Vocabulary
from corrigible.rules.budget import remaining, spend
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol, Request

from .field_names import blank_told, field_quoted, map_key, nested_name, required_of_list
from .lack_in_call import left_empty_named, metadata_missing, read_of_nothing, what_is_required
from .likely_fields import fields_of_failure, fields_told, likely_fields, likely_names, value_at_end
from .place_by_label import place_of_reference
from .place_by_message import (
    assigned_parameter,
    listed_values,
    place_by_code,
    place_by_object,
    place_by_text,
    repeats_body,
    suspected_place,
)
from .place_by_path import is_declared, left_empty, place_by_path
from .place_in_call import (
    field_named,
    identifier_in,
    place_of_lack,
    reference_named,
)
from .place_in_list import element_told, list_told
from .place_of_content import is_of_bytes, is_of_query, place_of_content
from .printed_in_call import identity_printed, place_of_printed_text, place_of_python_call, without_printed
from .sent_places import COMPARED_A_STEP, PARTS, PLACES_A_STEP, find_sent, places_in_texts, sent_places

_MOST_COMPARED: Final = 60_000
"""Places that the names and values of errors are compared with; of further errors no place is looked for."""
_SCANS: Final = 10
"""How often all places are looked at for one error, besides once for each name of its place and about each mark."""
_MARKS: Final = "'\"`[_"
"""Of quoted words, and in names that are no words of English."""
_NOT_ABOUT_THE_REQUEST: Final = 401
_SERVER_ERROR: Final = 500
_OF_CONTENT: Final = frozenset({400, 422})
_NO_CODE: Final = frozenset({"UNKNOWN", "INTERNAL"})
"""Codes of google.rpc that a service sends which chose none, or wraps another one's."""
_ABOUT_WHAT_IS_THERE: Final = (404, 409)
_ENOUGH: Final = 8000
"""Steps that have to be left for reading what an operation declares."""
_OF_NAMES: Final = frozenset({"UNIMPLEMENTED", "NOT_FOUND"})
_OF_VALUES: Final = frozenset({"", "type", "enum", "minLength", "minimum", "format", "pattern"})
_NUMERIC: Final = re.compile(r"\s*[-+]?[\d.,]{1,40}\s*")
_OF_TEXT: Final[Mapping[str, str]] = {"minimum": "minLength", "maximum": "maxLength"}
_OF_LIST: Final[Mapping[str, str]] = {**_OF_TEXT, "minLength": "minItems", "maxLength": "maxItems"} | {
    "minimum": "minItems",
    "maximum": "maxItems",
}


def locate_errors(
    errors: Sequence[Violation],
    exchange: Exchange,
    declared: Callable[[], Vocabulary] = lambda: NOTHING,
    path_values: Collection[str] = (),
) -> list[Violation]:
    """Return errors with the places that they have in the request, without those that cannot be.

    `declared` gives what the operation declares; it is asked only where a place is in question. `path_values` are
    the values of the path's parameters.
    """
    request = exchange.request
    vocabulary: Vocabulary | None = None
    sent: list[SentValue] = []
    in_texts: list[SentValue] = []
    out: list[Violation] = []
    left = _MOST_COMPARED
    is_rpc = request.protocol is Protocol.GRPC
    for error in errors:
        printed = error.message
        error, code = _read_call(error, exchange, declared) if is_rpc else (error, "")
        if _is_there(error, request):
            out.append(_at_its_place(_with_code(error._replace(message=printed), code), request, NOTHING))
            continue
        if vocabulary is None:
            vocabulary = declared() if remaining() > _ENOUGH else NOTHING
            sent, in_texts = list(sent_places(request)), list(places_in_texts(request))
            spend((len(sent) + len(in_texts)) // PLACES_A_STEP)
        compared = (len(sent) + len(in_texts)) * (
            _SCANS + error.pointer.count("/") + sum(map(error.message.count, _MARKS)) // 2
        )
        left -= compared
        if left < 0:
            out.append(error._replace(pointer="", message=printed))
            continue
        spend(compared // COMPARED_A_STEP)
        place = place_by_path(error, request, vocabulary, sent) if error.pointer else ""
        place = _referring(error, place, request, vocabulary, sent)
        about_request = exchange.status not in (0, _NOT_ABOUT_THE_REQUEST) and exchange.status < _SERVER_ERROR
        about_request = about_request or bool(code)
        if not place and exchange.status == _SERVER_ERROR:
            place = assigned_parameter(error.message, sent)
        if not place and is_rpc:
            place = place_of_printed_text(printed, sent)
        if not place and is_rpc and error.type in _OF_NAMES:
            of_name = identity_printed if error.type == "NOT_FOUND" else field_quoted
            place = of_name(printed, sent)
        if not place and about_request:
            every = [*sent, *(SentValue((), (), value) for value in path_values)]
            any_text = exchange.status in _ABOUT_WHAT_IS_THERE or bool(code) or says_unread(error.message)
            if is_rpc:
                error, place = _told_in_call(error, code, request, vocabulary, sent, any_text=any_text)
            else:
                *others, place = _told_by_text(error, request, vocabulary, every, sent, any_text=any_text)
                out += [_at_its_place(error._replace(pointer=one), request, vocabulary) for one in others]
                if not place and exchange.status in _OF_CONTENT and isinstance(request.body, Mapping):
                    error, place = _not_given(error, request, vocabulary)
            place = place or place_by_code(error.code, sent)
            error = _of_value(error, place, request)
            if (
                place
                and not error.constraint
                and misses(error.message, find_subject(error.message).member, place, request)
            ):
                error = error._replace(constraint="required")
            if not place and repeats_body(error.message, request):
                place = "/body"
            number = only_number(error.message, sent) if not place and not error.stated else ""
            # What is declared may have another fault; of a map that takes any name, the texts are what it takes.
            if number and not is_declared(segments(number), vocabulary):
                place, error = number, error.at(number, "type", {"type": "string"})
            if not place and in_texts and (place := _in_a_text(error, request, in_texts)):
                error = error._replace(constraint="", stated={})  # they are about what the text holds
        if is_rpc and place and (code or error.type) in _OF_REFERENCES:
            place = identifier_in(place, request) or place
        if is_rpc and place and (code or error.type) == "NOT_FOUND":
            if around := places_around(printed, sent, place):
                error = error._replace(native={**error.native, "around": around})
            elif alike := places_alike(printed, sent, place):
                error = error._replace(native={**error.native, "alike": alike})
        if is_rpc and not place and len(errors) == 1:
            error = _likely(error, code, request, vocabulary, sent)
        error = _with_code(error._replace(message=printed).at(place, error.constraint, error.stated), code)
        out.append(_at_its_place(error, request, vocabulary))
    return out


def _likely(
    error: Violation, code: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]
) -> Violation:
    """Return an error of a gRPC call without a place with the few places that it may be about.

    A service that chose no code, and did not fail, mostly refuses what was sent.
    """
    meant = code or error.type
    if meant == "NOT_FOUND":
        is_state = reason_of_call(error.message, request.method) is not None
        is_own = error.type in _NO_CODE and "KeyError" in str(
            error.native.get("top", "")
        )  # a name that the service looked for by itself
        places = [] if is_state or is_own or error.stated else likely_names(error.message, request, vocabulary, sent)
    elif meant in _OF_FIELDS:
        chose_none = error.type in _NO_CODE
        if error.type == "UNKNOWN" and _WITHOUT_A_WORD.fullmatch(error.message) is not None:
            places = fields_of_failure(request, vocabulary, sent)
            return error._replace(native={**error.native, "likely": places}) if places else error
        if chose_none and (is_fault(error.message) or reason_of_call(error.message, request.method) is not None):
            return error
        is_of_service = error.type == "INTERNAL"
        places = likely_fields(error.message, request, vocabulary, sent, has_words=is_of_service)
        code = "INVALID_ARGUMENT" if chose_none and places else code
    elif meant == "UNIMPLEMENTED":
        places = fields_told(error.message, sent)
    elif error.type == "INTERNAL" and not is_fault(error.message):
        places = [told] if (told := value_at_end(error.message, sent)) else []
        code = "INVALID_ARGUMENT" if places else code
    else:
        return error
    if places:
        error = error._replace(native={**error.native, "likely": places}, type=code or error.type)._replace(
            constraint="", stated={}
        )
    return error


def _told_by_text(
    error: Violation,
    request: Request,
    vocabulary: Vocabulary,
    every: Sequence[SentValue],
    sent: Sequence[SentValue],
    *,
    any_text: bool,
) -> list[str]:
    """Return the places that the text of an HTTP API tells, the last one alone where it does not tell several."""
    if place := place_by_text(error, request, vocabulary, every):
        return [place]
    if told := values_told(error.message, every, any_text=any_text):
        return told
    worded = names_in_message(error.message, sent)
    return [worded[0] if len(worded) == 1 else reference_in_message(error.message, every)]


_WITHOUT_A_WORD: Final = re.compile(
    r"(?i)\W*(?:(?:an? )?(?:unexpected|unknown|unhandled|application)? ?(?:server )?(?:error|exception|failure)"
    r"(?: (?:in|while|during) (?:the )?(?:rpc )?(?:handling|processing|call)| processing rpc| occurred"
    r"| calling application)?"
    r"|none|null|unknown|something went wrong|no message)?\W*"
)
"""What runtimes send for an exception that nobody caught: gRPC's for Java and C++, and services that hide the cause."""
_READ: Final = 500
_OF_LACK: Final = re.compile(
    r"(?i)^\W*(?:bad|invalid|use|specify|provide)\b|\b(?:required|missing|empty|blank|null|needs|lacks"
    r"|(?:not (?:be )?|be |is |was |no [\w ]{1,60} )(?:un)?(?:set|specified|provided|given|supplied))\b"
)
"""Words of sentences about what was not given."""
_OF_SEVERAL: Final = re.compile(r"(?i)\b(?:either|(?:one|any) of)\b")
"""Words of sentences of which any of several members would do."""


def _not_given(error: Violation, request: Request, vocabulary: Vocabulary) -> tuple[Violation, str]:
    """Return an error with the declared member of the body that its sentence says was not given, and its place."""
    if _OF_LACK.search(error.message[:_READ]) is None or _OF_SEVERAL.search(error.message[:_READ]) is not None:
        return error, ""
    place = place_of_lack(error.message, request, lambda: vocabulary)
    place = place or field_named(error.message, request, vocabulary)
    if not place or not _is_unset(place, request):
        return error, ""
    return error._replace(constraint="required"), place


def _read_call(error: Violation, exchange: Exchange, declared: Callable[[], Vocabulary]) -> tuple[Violation, str]:
    """Return an error of a gRPC call with its sentence alone, and the code that the sentence stands for, if any."""
    if error.pointer.startswith(("/path", "/query")):
        error = error._replace(pointer="")  # a call has neither: `Invalid query` is about one of its fields
    if error.message:
        error = error._replace(message=without_printed(error.message, exchange.request))
    code = told_code(error.message) if error.type in _NO_CODE else ""
    if exchange.status == _SERVER_ERROR and error.type in _OF_REQUEST:
        code = error.type  # it stands in the text
    if error.type in _NO_CODE and error.message:
        request, vocabulary = exchange.request, declared()
        if is_of_query(error.message, request, vocabulary) or is_of_bytes(error.message, request, vocabulary):
            code = "INVALID_ARGUMENT"  # whatever is not there, the query names it
    if code:
        error = error._replace(message=without_codes(error.message))
    error = error._replace(message=_CLASS_LINE.sub("", error.message))
    if lacking := place_of_lack(error.message, exchange.request, declared):
        error = error._replace(pointer=lacking, constraint="required")
    return error, code


_CHOICES: Final = re.compile(
    r"(?i)(?<=\w)['\"\)]?[.;,:]? \(?(?:valid|available|known|allowed|supported|possible|existing|defined) "
    r"(?:[a-z]+ )?(?:are|include)?:? ?[\['\"{].{0,2000}$",
    re.DOTALL,
)
"""What would do, behind a sentence: names that were sent as well are not what is wrong."""
_CLASS_LINE: Final = re.compile(r"\s*\n\s*(?:[a-z]\w*\.){1,12}[A-Z][\w$]*(?:Exception|Error)\W*$")
"""The class of an exception on a line of its own, below what it says."""


def _told_in_call(
    error: Violation,
    code: str,
    request: Request,
    vocabulary: Vocabulary,
    sent: Sequence[SentValue],
    *,
    any_text: bool,
) -> tuple[Violation, str]:
    """Return an error of a gRPC call with what its sentence tells, and its place."""
    message = _CHOICES.sub("", error.message)
    if (code or error.type) == "NOT_FOUND" and reason_of_call(message, request.method) is not None:
        return error, ""  # it is there, in another state
    if place := left_empty_named(message, request, vocabulary) or left_empty(message, request, vocabulary):
        return error._replace(constraint="required"), place
    if error.type in _OF_LACKS and (
        place := read_of_nothing(message, request, vocabulary)
        or what_is_required(message, request, vocabulary, sent)
        or metadata_missing(message, request)
    ):
        return error._replace(constraint="required" if _is_unset(place, request) else ""), place
    if place := required_of_list(message, request, vocabulary):
        return error._replace(constraint="required"), place
    if place := map_key(message, sent, vocabulary) or blank_told(message, sent):
        return error, place
    if place := list_told(message, request, vocabulary) or element_told(message, sent, vocabulary):
        return error, place
    place = (
        nested_name(message, sent)
        or place_by_text(error, request, vocabulary, sent)
        or value_mentioned(message, sent, any_text=any_text)
    )
    if place and error.type in _OF_FIELDS and is_label(message, sent, place):
        place = ""
    if place and is_only_around(message, sent, place) and not says_absent(message):
        worded = [one for one in names_in_message(message, sent) if one != place]
        place = worded[0] if len(worded) == 1 else ""
        if not place:
            return error, ""  # what is wrong there is not told by its value
    if not place and (place := _meant(error, code, request, vocabulary)) and _is_unset(place, request):
        is_unnamed = error.type == "FAILED_PRECONDITION"  # there is no state of what is not named
        error = error._replace(constraint="required", type="NOT_FOUND" if is_unnamed else error.type)
    place = place or place_of_python_call(message, sent) or place_of_content(message, request, vocabulary, sent)
    if place and _is_unset(place, request) and not error.constraint:
        error = error._replace(constraint="required")
    if error.type == "FAILED_PRECONDITION" and _OF_FORM.search(message[:_READ]) is not None:
        place = place or field_named(message, request, vocabulary) or _only_text(sent)
        if place and not is_secret(place, value_at(request, place)):  # no state makes that valid
            constraint = "required" if _is_unset(place, request) else error.constraint
            error = error._replace(type="INVALID_ARGUMENT", constraint=constraint)
    # What it names is not there, whatever state that is. What is asked for would repeat a secret.
    is_absent = bool(place) and error.type == "FAILED_PRECONDITION" and says_absent(message)
    if is_absent and not is_secret(place, value_at(request, place)):
        error = error._replace(type="NOT_FOUND")
    if not place and code:
        place = suspected_place(message.partition("\n")[0], request)
    return error, place


_OF_FORM: Final = re.compile(
    r"(?i)^\W*(?:invalid|malformed|illegal)\b(?! (?:\w+ )?(?:state|status|phase|transition))|\bexpected format\b"
    r"|\bis not (?:a )?valid\b|\bmust match\b"
    r"|\bis (?:not|n't) an? (?:regular )?(?:file|directory|folder|number|date|url|uri)\b"
)
"""Words of sentences about how a value is written."""


def _only_text(sent: Sequence[SentValue]) -> str:
    texts = [one.pointer for one in sent if not isinstance(one.value, Mapping | list)]
    return texts[0] if len(texts) == 1 else ""


def _meant(error: Violation, code: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the field of a gRPC message that an error means without its value."""
    meant = code or error.type
    if meant in _OF_FIELDS and (place := field_named(error.message, request, vocabulary)):
        return place
    if meant in _OF_REFERENCES or (meant in _OF_ABSENCE and says_absent(error.message)):
        exists = meant == "ALREADY_EXISTS"
        method = request.method.rpartition("/")[2]
        if place := reference_named(error.message, method, request, vocabulary, exists=exists):
            return place
    return field_named(error.message, request, vocabulary) if code == "NOT_FOUND" else ""


_OF_REQUEST: Final = frozenset({"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "OUT_OF_RANGE"})
_OF_REFERENCES: Final = frozenset({"NOT_FOUND", "ALREADY_EXISTS"})
_OF_ABSENCE: Final = frozenset({"INVALID_ARGUMENT", "FAILED_PRECONDITION"})
"""Codes that some services send for a thing that is not there, where its name was left out."""
_OF_LACKS: Final = frozenset({"INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNKNOWN"})
_OF_FIELDS: Final = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE", "UNKNOWN"})


def _is_unset(place: str, request: Request) -> bool:
    value = value_at(request, place)
    return value is MISSING or value == ""


def _with_code(error: Violation, code: str) -> Violation:
    """Return an error at a place with the code that its text stands for: rules are about codes."""
    is_placed = error.pointer.count("/") > 1 and not error.stated
    is_unplaced = code == "NOT_FOUND" and not error.pointer and misses_something(error.message)
    return error._replace(type=code) if code and (is_placed or is_unplaced) else error


def _at_its_place(error: Violation, request: Request, vocabulary: Vocabulary) -> Violation:
    """Fit an error to the value at its place; of a declared one that was not sent, say that it is missing."""
    part, _, names = error.pointer[1:].partition("/")
    if part not in PARTS or not names:
        return error
    there = value_at(request, error.pointer)
    if there is not MISSING:
        return error.at(error.pointer, error.constraint, fit_keywords(error.stated, there)) if error.stated else error
    parent = value_at(request, error.pointer.rpartition("/")[0])
    is_absent = isinstance(parent, dict) and error.constraint in _OF_VALUES
    is_absent = is_absent and is_declared(segments(error.pointer), vocabulary)
    return error._replace(constraint="required") if is_absent else error


def _referring(
    error: Violation, place: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]
) -> str:
    """Return the place of `author_id` for `author`, as frameworks with models call it, where there is no `author`."""
    part, *names = segments(error.pointer) or [""]
    if part != "body" or len(names) != 1 or error.constraint == "additionalProperties":
        return place
    if place and (value_at(request, place) is not MISSING or is_declared(segments(place), vocabulary)):
        return place
    return place_of_reference(names[0], error.message, request, vocabulary, sent) or place


def _of_value(error: Violation, place: str, request: Request) -> Violation:
    """Return an error about an unknown name as one about a value, where the name is the value of a place."""
    told = segments(error.pointer)[-1:]
    if error.constraint != "additionalProperties" or not place or segments(place)[-1:] == told:
        return error
    if value_at(request, place) not in told:
        return error
    choices = choices_in(error.message)
    listed = listed_values(error) or (list(choices.items) if choices is not None else [])
    return error._replace(constraint="enum", stated={"enum": listed} if listed else {})


def _is_there(error: Violation, request: Request) -> bool:
    """Whether the told place is one of the request, and no other can be meant."""
    if not error.pointer:
        return False
    part, *names = segments(error.pointer)
    if part not in PARTS or not names:
        return True
    there = value_at(request, error.pointer)
    # A missing member that is told by its name alone may be one further inside, where the outermost is there.
    return there is not MISSING and (error.constraint != "required" or len(names) > 1 or is_blank(there))


def _in_a_text(error: Violation, request: Request, in_texts: Sequence[SentValue]) -> str:
    """Return the place of the only JSON text that an error can be about the inside of."""
    part, *told = segments(error.pointer) or [""]
    names = [name for one in told for name in re.split(r"[\[\]]+", one) if name]  # `sort[by]`
    place = find_sent(part, names, in_texts) if names else ""
    place = place or place_by_text(error, request, NOTHING, in_texts) or place_by_object(error.message, in_texts)
    if place or request.protocol is not Protocol.GRPC:
        return place
    return value_mentioned(error.message, in_texts, any_text=True) or place_of_python_call(error.message, in_texts)


def fit_keywords(stated: Mapping[str, Json], value: Json) -> Mapping[str, Json]:
    """Name limits as those of the value: `max` of a list limits its elements, whatever the validator calls it."""
    if isinstance(value, str) and not _NUMERIC.fullmatch(value):
        return {_OF_TEXT.get(keyword, keyword): limit for keyword, limit in stated.items()}
    if isinstance(value, list):
        return {_OF_LIST.get(keyword, keyword): limit for keyword, limit in stated.items()}
    return stated
