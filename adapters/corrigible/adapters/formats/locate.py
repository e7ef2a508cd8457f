"""Where an error is: the place that the answer tells, found in the request and in what its operation declares.

Servers tell places by their last name only, under the name of a model (`User.Name`), of a wrapper (`data.name`) or of
an argument (`create.user.name`), in other spellings (`FirstName` for `first_name`), or only by quoting the value. A
place counts if it is the only one that fits; otherwise the error has none, and the whole request is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from corrigible.adapters.formats.message.absence import is_blank, misses, misses_something
from corrigible.adapters.formats.message.go_duration import is_unread_duration
from corrigible.adapters.formats.message.member_names import find_subject
from corrigible.adapters.formats.message.names_told import names_in_message
from corrigible.adapters.formats.message.sent_values import (
    REFERENCES,
    SentValue,
    has_word,
    places_alike,
    places_around,
    reference_in_message,
    says_unread,
    value_mentioned,
    values_told,
)
from corrigible.adapters.formats.message.shown_form import is_of_moment
from corrigible.adapters.formats.message.value_kinds import only_number
from corrigible.adapters.vocabulary import NOTHING, Vocabulary
from corrigible.rules.budget import remaining, spend
from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.nearness import is_same
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol, Request

from .field_names import field_quoted
from .lack_in_body import undescribed_lack
from .locate_call import OF_REFERENCES, is_unset, likely, read_call, told_in_call
from .node_argument import is_of_runtime
from .place_by_blame import place_by_blame
from .place_by_frame import (
    missed_in_frame,
    place_behind_colon,
    place_in_frame,
    place_of_itself,
    repeated_element,
)
from .place_by_initials import place_by_initials
from .place_by_label import place_of_reference
from .place_by_message import (
    assigned_parameter,
    place_by_code,
    place_by_object,
    place_by_text,
    repeats_body,
)
from .place_by_path import is_declared, place_by_path
from .place_by_rule import place_by_rule
from .place_in_call import (
    field_named,
    identifier_in,
    place_of_lack,
)
from .place_in_patch import place_in_patch
from .place_of_content import is_of_base64, is_of_query, place_of_content
from .printed_in_call import identity_printed, place_of_printed_text, place_of_python_call
from .refused_value import as_value, with_value_behind_name
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
_EMPTY: Final = re.compile(r"(?i)(?:empty|missing|blank) ")
"""How a 404 begins that is about something that was not given."""
_OF_PROSE: Final = frozenset({400, 403, 404, 406, 409, 410, 422})
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
    path_parameters: Mapping[str, str] = MappingProxyType({}),
) -> list[Violation]:
    """Return errors with the places that they have in the request, without those that cannot be.

    `declared` gives what the operation declares; it is asked only where a place is in question. `path_parameters` are
    those of the path, with their values.
    """
    request = exchange.request
    vocabulary: Vocabulary | None = None
    sent: list[SentValue] = []
    in_texts: list[SentValue] = []
    out: list[Violation] = []
    left = _MOST_COMPARED
    is_rpc = request.protocol is Protocol.GRPC
    for error in errors:
        if (inner := _inside_the_body(error, exchange, declared, path_parameters)) is not None:
            out.append(inner)
            continue
        if not is_rpc and exchange.status not in (0, _NOT_ABOUT_THE_REQUEST) and exchange.status < _SERVER_ERROR:
            error = place_in_patch(error, request) or error
        printed = error.message
        error, code = read_call(error, exchange, declared) if is_rpc else (error, "")
        error = with_value_behind_name(error, request)
        if is_of_runtime(error, declared):
            out.append(error.at("", "", {})._replace(param=""))
            continue
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
        is_lacking = exchange.status in _OF_CONTENT or (
            exchange.status == 404 and _EMPTY.match(error.message) is not None
        )
        if not error.pointer and not is_rpc and is_lacking:
            *others, place = missed_in_frame(error.message, request, vocabulary, sent, path_parameters) or ("",)
            out += [_missed_at(error, one, request, vocabulary) for one in others]
            error = error._replace(constraint="required") if place else error
        place = _referring(error, place, request, vocabulary, sent)
        if error.constraint == "required" and _is_of_path(error, place, vocabulary, path_parameters):
            out.append(error.at("", "", {})._replace(param=""))
            continue
        about_request = exchange.status not in (0, _NOT_ABOUT_THE_REQUEST) and exchange.status < _SERVER_ERROR
        about_request = about_request or bool(code)
        if not place and exchange.status == _SERVER_ERROR:
            place = assigned_parameter(error.message, sent)
        if not place and is_rpc:
            place = place_of_printed_text(printed, sent)
        if not place and is_rpc and error.type in _OF_NAMES:
            of_name = identity_printed if error.type == "NOT_FOUND" else field_quoted
            place = of_name(printed, sent)
        if not error.pointer and not place and is_lacking and not is_rpc and not error.stated:
            error = place_by_rule(error, sent)
            place = error.pointer
        if not place and about_request:
            every = [*sent, *(SentValue((), (), value) for value in path_parameters.values())]
            any_text = exchange.status in _ABOUT_WHAT_IS_THERE or bool(code) or says_unread(error.message)
            if is_rpc:
                error, place = told_in_call(error, code, request, vocabulary, sent, any_text=any_text)
            else:
                *others, place = _told_by_text(
                    error, request, vocabulary, every, sent, path_parameters, any_text=any_text
                )
                out += [_at_its_place(error._replace(pointer=one), request, vocabulary) for one in others]
                if not place and exchange.status in _OF_CONTENT and isinstance(request.body, Mapping):
                    error, place = _not_given(error, request, vocabulary)
            if not place and not is_rpc and exchange.status in _OF_PROSE:
                place = place_of_itself(error.message, sent, path_parameters)
                place = place or place_in_frame(error.message, request, sent, path_parameters)
            if exchange.status in _OF_PROSE and (twice := repeated_element(error.message, sent)):
                place, error = twice, error.at(twice, "uniqueItems", {"uniqueItems": True})
            if not place and not is_rpc and exchange.status in _OF_CONTENT:
                place = place_by_blame(error.message, sent)
            place = place or place_by_code(error.code, sent)
            error = _of_value(error, place, request)
            if (
                place
                and not error.constraint
                and misses(error.message, find_subject(error.message).member, place, request)
            ):
                error = error._replace(constraint="required")
            is_read = not is_rpc and exchange.status in _OF_CONTENT and not error.stated
            if (
                not place
                and is_read
                and (is_of_base64(error.message) or is_of_query(error.message, request, vocabulary))
            ):
                place = place_of_content(error.message, request, vocabulary, sent)
            if not place and repeats_body(error.message, request):
                place = "/body"
            number = only_number(error.message, sent) if not place and not error.stated else ""
            # What is declared may have another fault; of a map that takes any name, the texts are what it takes.
            if number and not is_declared(segments(number), vocabulary):
                place, error = number, error.at(number, "type", {"type": "string"})
            if not place and in_texts and (place := _in_a_text(error, request, in_texts)):
                error = error._replace(constraint="", stated={})  # they are about what the text holds
        if is_rpc and place and (code or error.type) in OF_REFERENCES:
            place = identifier_in(place, request) or place
        if is_rpc and place and (code or error.type) == "NOT_FOUND":
            if around := places_around(printed, sent, place):
                error = error._replace(native={**error.native, "around": around})
            elif alike := places_alike(printed, sent, place):
                error = error._replace(native={**error.native, "alike": alike})
        if is_rpc and not place and len(errors) == 1:
            error = likely(error, code, request, vocabulary, sent)
        error = _with_code(error._replace(message=printed).at(place, error.constraint, error.stated), code)
        out.append(_at_its_place(error, request, vocabulary))
    return out


def _inside_the_body(
    error: Violation, exchange: Exchange, declared: Callable[[], Vocabulary], path_parameters: Mapping[str, str]
) -> Violation | None:
    """Return an error about the whole body with the one place in it that its sentence is about; None where it has none.

    Validators give what they check of several members together, or by hand, to the whole: marshmallow's `_schema`.
    """
    is_whole = error.pointer == "/body" and isinstance(exchange.request.body, Mapping)
    if not is_whole or error.constraint or error.stated or exchange.request.protocol is not Protocol.HTTP:
        return None
    if _OF_SEVERAL.search(error.message[:_READ]) is not None:
        return None
    found = locate_errors([error._replace(pointer="")], exchange, declared, path_parameters)
    return found[0] if len(found) == 1 and found[0].pointer.startswith("/body/") else None


def _is_of_path(error: Violation, place: str, vocabulary: Vocabulary, named: Mapping[str, str]) -> bool:
    """Whether what is missing is no member, but the thing that the path names: `Job is missing` of `/jobs/{job_id}`."""
    told = segments(error.pointer)
    if len(told) != 2 or not error.message.rstrip(".! ").lower().endswith(" is missing"):
        return False
    if place and is_declared(segments(place), vocabulary):
        return False
    kinds = {name[: -len(words(name)[-1])].rstrip("_-") for name in named if len(words(name)) > 1}
    return any(is_same(told[1], one) for one in (*named, *kinds))


def _missed_at(error: Violation, place: str, request: Request, vocabulary: Vocabulary) -> Violation:
    return _at_its_place(error.at(place, "required", {}), request, vocabulary)


def _told_by_text(
    error: Violation,
    request: Request,
    vocabulary: Vocabulary,
    every: Sequence[SentValue],
    sent: Sequence[SentValue],
    path_parameters: Mapping[str, str],
    *,
    any_text: bool,
) -> list[str]:
    """Return the places that the text of an HTTP API tells, the last one alone where it does not tell several."""
    if place := place_behind_colon(error.message, sent):
        return [place]
    if place := place_by_text(error, request, vocabulary, every):
        return [place]
    if told := values_told(error.message, every, any_text=any_text):
        return told
    worded = names_in_message(error.message, sent)
    if len(worded) == 1:
        return worded
    reference = reference_in_message(error.message, every)
    if not reference and not _may_be_in_path(error.message, path_parameters):
        reference = reference_in_message(error.message, sent)
    return [reference or place_by_initials(error.message, sent)]


def _may_be_in_path(message: str, path_parameters: Mapping[str, str]) -> bool:
    """Whether what a message says is absent may be what the path names: the `house_name` of a path is no `Room`."""
    told = set(words(message[:_READ]))
    for name, value in path_parameters.items():
        kinds = [word for word in words(name) if word not in REFERENCES]
        if not kinds or not told.isdisjoint(kinds) or has_word(message[:_READ], value):
            return True
    return False


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
    if is_unread_duration(error.message) or _OF_LACK.search(error.message[:_READ]) is None:
        return error, ""
    if _OF_SEVERAL.search(error.message[:_READ]) is not None:
        return error, ""
    place = place_of_lack(error.message, request, lambda: vocabulary)
    place = place or field_named(error.message, request, vocabulary)
    place = place or undescribed_lack(error.message, request, vocabulary)
    if not place or not is_unset(place, request):
        return error, ""
    return error._replace(constraint="required"), place


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
    inside = [one for one in request.query if one.startswith(f"{names}[")] if part == "query" else []
    if inside:  # an object whose members are parameters of their own: `filters[title]` of `filters`
        return error._replace(pointer=f"/query/{escape(inside[0])}" if len(inside) == 1 else "")
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
    return as_value(error)


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
        told = [] if place else values_told(error.message, in_texts, any_text=False)
        return told[0] if len(told) == 1 else place
    return value_mentioned(error.message, in_texts, any_text=True) or place_of_python_call(error.message, in_texts)


def fit_keywords(stated: Mapping[str, Json], value: Json) -> Mapping[str, Json]:
    """Name limits as those of the value: `max` of a list limits its elements, whatever the validator calls it.

    The form of a date is not that of a word.
    """
    if isinstance(value, str) and is_of_moment(stated) and not any(map(str.isdigit, value)):
        return {}
    if isinstance(value, str) and not _NUMERIC.fullmatch(value):
        return {_OF_TEXT.get(keyword, keyword): limit for keyword, limit in stated.items()}
    if isinstance(value, list):
        return {_OF_LIST.get(keyword, keyword): limit for keyword, limit in stated.items()}
    return stated
